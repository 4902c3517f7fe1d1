//! One thread, and a clock that jumps.

use stowplan_base::Virtual;
use tokio::runtime::{Builder, Runtime};

/// A runtime of one thread that moves the clock of `env` on whenever there is nothing to do. Tasks run in
/// the order in which they were woken, so one seed gives one history, as long as no task asks another
/// thread, a socket, or a clock that is not `env`.
pub fn virtual_runtime(env: &Virtual) -> std::io::Result<Runtime> {
    let env = env.clone();
    Builder::new_current_thread()
        .on_thread_park(move || {
            env.advance();
        })
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use stowplan_base::{Env, Time};

    #[test]
    fn a_day_of_many_tasks_passes_at_once_and_in_order() {
        let env = Virtual::new(Time::default(), 1);
        let runtime = virtual_runtime(&env).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        runtime.block_on(async {
            let tasks: Vec<_> = (1..=24_u64)
                .rev()
                .map(|hour| {
                    let (env, seen) = (env.clone(), seen.clone());
                    tokio::spawn(async move {
                        env.sleep(Duration::from_secs(hour * 3_600)).await;
                        seen.lock().unwrap().push(hour);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(*seen.lock().unwrap(), (1..=24).collect::<Vec<_>>());
        assert_eq!(env.now(), Time::from_secs(86_400));
    }
}
