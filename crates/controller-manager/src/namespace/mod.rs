//! The namespace controller: deletes all content of a namespace that is being deleted, then lets it go.
//! Upstream: `pkg/controller/namespace`.

mod content;
mod deletion;

use crate::pool::{Verdict, work};
use deletion::{Deleter, Left};
use k8s_openapi::api::core::v1::Namespace;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::{Delta, Informers, Requests, Store, WorkQueue};

/// Upstream's name.
pub const NAME: &str = "namespace-controller";

/// How long content is left alone after the namespace was deleted: servers and stores of which there are
/// several may hear of it late.
pub const GRACE: Duration = Duration::from_secs(5);

/// How many namespaces are looked at side by side (`--concurrent-namespace-syncs`).
const WORKERS: usize = 10;
/// The longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Deletes the content of namespaces for as long as it is let, each `grace` ([`GRACE`]) after it was deleted.
pub async fn run(
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
    informers: Arc<Informers>,
    grace: Duration,
) {
    let queue = Arc::new(WorkQueue::new(env.clone()).with_pause_max(PAUSE_MAX));
    let namespaces = informers.of::<Namespace>();
    let deleted = queue.clone();
    namespaces.add_handler(move |delta| {
        let (Delta::Added(namespace) | Delta::Updated(_, namespace)) = delta else {
            return;
        };
        let meta = &namespace.metadata;
        if meta.deletion_timestamp.is_some() {
            deleted.add_after(meta.name.clone().unwrap_or_default(), grace);
        }
    });
    namespaces.synced().await;
    let controller = Controller {
        deleter: Deleter::new(requests, env),
        namespaces: namespaces.store(),
        queue,
    };
    work(Arc::new(controller), WORKERS, |all| &all.queue, look).await;
}

struct Controller {
    deleter: Deleter,
    namespaces: Arc<Store<Namespace>>,
    queue: Arc<WorkQueue<String>>,
}

async fn look(controller: Arc<Controller>, name: String) -> Verdict {
    let left = match controller.namespaces.get("", &name) {
        Some(_) => controller.deleter.delete(&name).await,
        None => Ok(Left::Nothing),
    };
    match left {
        Ok(Left::Nothing) => Verdict::Done,
        Ok(Left::Content { estimate_s }) => Verdict::After(Duration::from_secs(estimate_s / 2 + 1)),
        Err(error) => {
            tracing::warn!(namespace = name, error, "a namespace is not deleted yet");
            Verdict::Retry(error)
        }
    }
}
