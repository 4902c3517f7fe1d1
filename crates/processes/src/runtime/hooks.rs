//! Hooks: after a container started, and before it is told to stop.

use super::probe::{Asked, http_get};
use super::start::container_of;
use super::{Inner, uid_of};
use k8s_openapi::api::core::v1::{LifecycleHandler, Pod};
use std::sync::Arc;
use std::time::Duration;
use stowplan_nodes::{Hook, Report, RunId};

/// Runs a hook, for so long at most.
pub(super) async fn run(inner: Arc<Inner>, pod: Arc<Pod>, run: RunId, hook: Hook, longest_s: u32) {
    let container = container_of(&pod, &run.container);
    let lifecycle = container.as_ref().and_then(|one| one.lifecycle.as_ref());
    let handler = lifecycle.and_then(|one| match hook {
        Hook::PostStart => one.post_start.as_ref(),
        Hook::PreStop => one.pre_stop.as_ref(),
    });
    let result = match handler {
        Some(handler) => {
            inner
                .handle(&pod, &run, handler, Duration::from_secs(longest_s.into()))
                .await
        }
        None => Ok(()),
    };
    inner.tell(uid_of(&pod), Report::HookEnded(run, hook, result));
}

impl Inner {
    async fn handle(
        &self,
        pod: &Pod,
        run: &RunId,
        handler: &LifecycleHandler,
        longest: Duration,
    ) -> Result<(), String> {
        if let Some(sleep) = &handler.sleep {
            let span = Duration::from_secs(u64::try_from(sleep.seconds).unwrap_or(0));
            self.settings.env.sleep(span.min(longest)).await;
            return Ok(());
        }
        if let Some(exec) = &handler.exec {
            let argv = exec.command.as_deref().unwrap_or_default();
            let folder = self.state.run(uid_of(pod), run);
            return match self.run_in(&folder, argv, longest).await {
                Ok(Some((status, _))) if status.success() => Ok(()),
                Ok(Some((status, said))) => {
                    let code = status.code().unwrap_or(-1);
                    let command = argv.join(" ");
                    Err(format!("command '{command}' exited with {code}: {said}"))
                }
                Ok(None) => Err("it took longer than the grace period".to_owned()),
                Err(error) => Err(error.to_string()),
            };
        }
        let Some(get) = &handler.http_get else {
            return Ok(());
        };
        let container = container_of(pod, &run.container).unwrap_or_default();
        let asked = Asked::of(get, &container, &self.place(pod).pod_ip)?;
        http_get(&*self.settings.env, &asked, longest)
            .await
            .map(drop)
    }
}
