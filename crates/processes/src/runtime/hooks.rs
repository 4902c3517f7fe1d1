//! Hooks: after a container started, and before it is told to stop. Upstream: `pkg/kubelet/lifecycle/handlers.go`.

use super::probe::{Asked, code_of};
use super::start::container_of;
use super::{Inner, uid_of};
use k8s_openapi::api::core::v1::{LifecycleHandler, Pod};
use std::sync::Arc;
use std::time::Duration;
use stowplan_env::timeout;
use stowplan_nodes::{Hook, Report, RunId};

/// Runs a hook, for so long at most.
pub(super) async fn run(inner: Arc<Inner>, pod: Arc<Pod>, run: RunId, hook: Hook, longest_s: u32) {
    let container = container_of(&pod, &run.container);
    let lifecycle = container.as_ref().and_then(|one| one.lifecycle.as_ref());
    let handler = lifecycle.and_then(|one| match hook {
        Hook::PostStart => one.post_start.as_ref(),
        Hook::PreStop => one.pre_stop.as_ref(),
    });
    let longest = Duration::from_secs(longest_s.into());
    let result = match handler {
        Some(handler) => inner.handle(&pod, &run, handler, longest).await,
        None => Ok(()),
    };
    if let Err(why) = &result {
        // Not for the API: there may be secrets in it.
        let pod = pod.metadata.name.as_deref().unwrap_or_default();
        tracing::warn!(
            pod,
            container = &*run.container,
            ?hook,
            why,
            "a hook failed"
        );
    }
    let told = Report::HookEnded(run, hook, result.is_ok());
    inner.tell(uid_of(&pod), told);
}

impl Inner {
    /// Runs it. One that takes too long is not waited for, which is no failure.
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
                Ok(Some((status, said))) if !status.success() => {
                    let code = status.code().unwrap_or(-1);
                    let command = argv.join(" ");
                    Err(format!("command '{command}' exited with {code}: {said}"))
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
        }
        let Some(get) = &handler.http_get else {
            return Ok(());
        };
        let container = container_of(pod, &run.container).unwrap_or_default();
        let asked = Asked::of(get, &container, &self.place(pod).pod_ip)?;
        // Whatever it answers: it was asked.
        match timeout(&*self.settings.env, longest, code_of(&asked)).await {
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }
}
