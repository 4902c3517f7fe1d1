//! Ends the run when a request is not answered: also when its thread never comes back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Far beyond what any request takes, on any machine.
const PATIENCE: Duration = Duration::from_secs(180);
const GLANCE: Duration = Duration::from_secs(2);

type Running = Arc<Mutex<BTreeMap<usize, (Instant, String)>>>;

/// Knows which requests are being answered.
pub(super) struct Watchdog(Running);

impl Watchdog {
    pub(super) fn start() -> Self {
        let running = Running::default();
        let watched = Arc::clone(&running);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(GLANCE);
                let running = watched.lock().unwrap_or_else(PoisonError::into_inner);
                let late = running
                    .values()
                    .find(|(since, _)| since.elapsed() > PATIENCE);
                if let Some((_, request)) = late {
                    println!("HANGS {request}");
                    std::process::exit(1);
                }
            }
        });
        Self(running)
    }

    /// A conversation begins to wait for an answer.
    pub(super) fn begin(&self, number: usize, request: String) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(number, (Instant::now(), request));
    }

    /// It has it.
    pub(super) fn end(&self, number: usize) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&number);
    }
}
