//! The scheduler within tells the API's clients what it decided.

use futures::future::{BoxFuture, ready};
use serde_json::Value;
use stowplan_scheduler::{DecisionReader, Permission, Permissions};
use stowplan_server::{DecisionAnswer, Decisions, Reader};
use stowplan_telemetry::DecisionAnswer as Answer;

/// The scheduler of this process.
pub(super) struct EmbeddedScheduler(pub(super) DecisionReader);

/// Asks the server within what a reader may.
struct ReaderPermissions(Reader);

impl Permissions for ReaderPermissions {
    fn may(&self, permission: Permission) -> BoxFuture<'_, bool> {
        Box::pin(ready(match permission {
            Permission::ListNodes => self.0.lists_nodes(),
            Permission::ListPods(namespace) => self.0.lists_pods(namespace.as_deref()),
        }))
    }
}

impl Decisions for EmbeddedScheduler {
    fn tell(
        &self,
        namespace: String,
        name: String,
        whole: bool,
        reader: Reader,
    ) -> BoxFuture<'static, DecisionAnswer> {
        let (decisions, permissions) = (self.0.clone(), ReaderPermissions(reader));
        Box::pin(async move {
            let told = match whole {
                true => decisions.tournament(&namespace, &name, &permissions).await,
                false => decisions.decision(&namespace, &name, &permissions).await,
            };
            answer(told)
        })
    }

    fn what_if(&self, pod: Value, reader: Reader) -> BoxFuture<'static, DecisionAnswer> {
        let (decisions, permissions) = (self.0.clone(), ReaderPermissions(reader));
        Box::pin(async move {
            match serde_json::from_value(pod) {
                Ok(pod) => answer(decisions.what_if(pod, &permissions).await),
                Err(_) => DecisionAnswer::Unknown,
            }
        })
    }
}

fn answer(told: Answer) -> DecisionAnswer {
    match told {
        Answer::Found(object) => DecisionAnswer::Found(object),
        Answer::Unknown => DecisionAnswer::Unknown,
        Answer::Busy => DecisionAnswer::Busy,
    }
}
