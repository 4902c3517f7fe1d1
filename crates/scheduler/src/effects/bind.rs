//! A pod goes to a node.

use super::requests::{Failed, pod_path};
use super::{NotDone, ObjectRef, Tools};
use crate::extenders::No;
use serde::de::IgnoredAny;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::load::Object as ApiObject;

/// How long to wait before asking again what became of a request that was not answered.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// A pod goes to a node.
pub(crate) struct Bind {
    pub(crate) pod: ObjectRef,
    pub(crate) node: Arc<str>,
    /// The extenders that bind the pod, the first that can.
    pub(crate) binders: Vec<usize>,
}

type Bound = Result<Option<ApiObject>, NotDone>;

impl Bind {
    pub(super) async fn carry_out(&self, tools: &Tools, code: &mut Option<u16>) -> Bound {
        if let Some(bound) = self.bind_by_extenders(tools).await {
            return match bound {
                Ok(()) => Ok(None),
                Err(no) if no.is_open => match self.find_out(tools, &no.message, true).await {
                    Err(NotDone::Failed(message)) => Err(NotDone::ByExtender(message)),
                    found => found,
                },
                Err(no) => Err(NotDone::ByExtender(no.message)),
            };
        }
        let bound = self.bind(tools).await;
        *code = match &bound {
            Ok(()) => Some(201),
            Err(Failed::Fenced) => None,
            Err(failed) => Some(failed.code().unwrap_or(0)),
        };
        let Err(failed) = bound else {
            return Ok(None);
        };
        match failed.is_open() || failed.code() == Some(409) {
            true => {
                let message = failed.message();
                self.find_out(tools, &message, failed.is_open()).await
            }
            false => Err(failed.into()),
        }
    }

    /// Whether an extender bound the pod; `None` if none took it. Upstream's `extendersBinding`.
    async fn bind_by_extenders(&self, tools: &Tools) -> Option<Result<(), No>> {
        let pod = &self.pod;
        for extender in self
            .binders
            .iter()
            .filter_map(|&at| tools.extenders.get(at))
        {
            if !tools.requests.may_act() {
                return Some(Err(No {
                    message: Failed::Fenced.message(),
                    is_open: false,
                }));
            }
            let bound = extender
                .bind(&pod.namespace, &pod.name, &pod.uid, &self.node)
                .await;
            match bound {
                Err(no) if extender.is_ignorable() => {
                    tracing::info!(
                        error = no.message,
                        "an extender that could not bind a pod is ignored"
                    );
                }
                bound => return Some(bound),
            }
        }
        None
    }

    async fn bind(&self, tools: &Tools) -> Result<(), Failed> {
        let pod = &self.pod;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": &*pod.namespace, "name": &*pod.name, "uid": &*pod.uid},
            "target": {"kind": "Node", "name": &*self.node},
        });
        let path = pod_path(&pod.namespace, &pod.name, "/binding?fieldValidation=Ignore");
        let answer: Result<IgnoredAny, _> = tools
            .requests
            .change("POST", &path, "application/json", &binding)
            .await;
        answer.map(drop)
    }

    /// No answer is not a no: until it is known whether the pod is bound, it stays where it was
    /// assumed to be. If it `may_be` bound it is asked for however long that takes.
    pub(super) async fn find_out(&self, tools: &Tools, failed: &str, may_be: bool) -> Bound {
        let refused = || Err(NotDone::Failed(failed.to_owned()));
        loop {
            match tools.requests.get::<Pod>(&self.pod.path()).await {
                Ok(pod) => {
                    let same = pod.metadata.uid.as_deref() == Some(&*self.pod.uid);
                    let node = pod.spec.and_then(|spec| spec.node_name);
                    return match same && node.is_some() {
                        true if node.as_deref() == Some(&*self.node) => Ok(None),
                        // Somebody else bound it: a watch will tell, or told already.
                        true => Err(NotDone::Unknown(failed.to_owned())),
                        false => refused(),
                    };
                }
                Err(error) if error.code() == Some(404) => return refused(),
                // The server said no to the binding, and will not say where the pod is.
                Err(error) if !may_be && matches!(error.code(), Some(401 | 403)) => {
                    return refused();
                }
                Err(_) => tools.env().sleep(ASK_AGAIN).await,
            }
        }
    }
}
