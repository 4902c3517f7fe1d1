//! A pod goes to a node. Upstream's `bindingCycle` from PreBind on.

use super::events::Note;
use super::requests::{Failed, pod_path};
use super::{Bind, Broke, Tools, unbroken};
use crate::extenders::No;
use crate::message::Message;
use crate::observer::Steps;
use serde::de::IgnoredAny;
use serde_json::json;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::Pod;

/// How long to wait before asking again what became of a request that was not answered.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Why a pod is not bound.
struct Refused {
    error: String,
    /// Somebody else bound it.
    elsewhere: bool,
}

impl From<String> for Refused {
    fn from(error: String) -> Self {
        Self {
            error,
            elsewhere: false,
        }
    }
}

impl Bind {
    pub(super) async fn carry_out(self, tools: &Tools) {
        let uid = self.pod.uid.clone();
        let mut steps = Steps::default();
        let bound = match unbroken(self.run(tools, &mut steps)).await {
            Ok(bound) => bound,
            // It may have been bound before that.
            Err(Broke) => self.find_out(tools, "the binding broke", true).await,
        };
        match bound {
            Ok(()) => {
                tools
                    .recorder
                    .record(&self.scheduler, &self.pod, &self.scheduled());
                tools.tell(Message::Bound { uid, steps });
            }
            Err(Refused { error, elsewhere }) => {
                tracing::debug!(pod = %self.pod.name, %error, "a binding failed");
                tools.tell(Message::BindFailed {
                    uid,
                    error,
                    elsewhere,
                    steps,
                });
            }
        }
    }

    fn scheduled(&self) -> Note {
        let pod = &self.pod;
        Note::Scheduled(format!(
            "Successfully assigned {}/{} to {}",
            pod.namespace, pod.name, self.node
        ))
    }

    async fn run(&self, tools: &Tools, steps: &mut Steps) -> Result<(), Refused> {
        if self.nominate {
            self.nominate(tools).await;
        }
        let start = tools.env().monotonic();
        let bound = match self.volumes.is_empty() {
            true => Ok(()),
            false => self.bind_volumes(tools).await,
        };
        steps.pre_bind = Some(tools.env().monotonic().since(start));
        steps.pre_bind_failed = bound.is_err();
        bound.map_err(|error| format!("running PreBind plugin \"VolumeBinding\": {error}"))?;
        let start = tools.env().monotonic();
        let bound = self.bind_pod(tools, steps).await;
        steps.bind = Some(tools.env().monotonic().since(start));
        bound
    }

    async fn bind_pod(&self, tools: &Tools, steps: &mut Steps) -> Result<(), Refused> {
        if let Some(bound) = self.bind_by_extenders(tools).await {
            return match bound {
                Ok(()) => Ok(()),
                Err(no) if no.is_open => self.find_out(tools, &no.message, true).await,
                Err(no) => Err(no.message.into()),
            };
        }
        let bound = self.bind(tools).await;
        steps.code = match &bound {
            Ok(()) => Some(201),
            Err(Failed::Fenced) => None,
            Err(failed) => Some(failed.code().unwrap_or(0)),
        };
        let Err(failed) = bound else {
            return Ok(());
        };
        let told = format!(
            "running Bind plugin \"DefaultBinder\": {}",
            failed.message()
        );
        match failed.is_open() || failed.code() == Some(409) {
            true => self.find_out(tools, &told, failed.is_open()).await,
            false => Err(told.into()),
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

    /// Says where the pod will be; nothing depends on it.
    async fn nominate(&self, tools: &Tools) {
        let patch = json!({"status": {"nominatedNodeName": &*self.node}});
        if let Err(error) = super::status::patch(tools, &self.pod, &patch).await {
            tracing::warn!(pod = %self.pod.name, %error, "a nomination could not be written");
        }
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
    async fn find_out(&self, tools: &Tools, failed: &str, may_be: bool) -> Result<(), Refused> {
        loop {
            let path = pod_path(&self.pod.namespace, &self.pod.name, "");
            match tools.requests.get::<Pod>(&path).await {
                Ok(pod) => {
                    let same = pod.metadata.uid.as_deref() == Some(&*self.pod.uid);
                    let node = pod.spec.and_then(|spec| spec.node_name);
                    if same && node.as_deref() == Some(&*self.node) {
                        return Ok(());
                    }
                    return Err(Refused {
                        error: failed.to_owned(),
                        elsewhere: same && node.is_some(),
                    });
                }
                Err(error) if error.code() == Some(404) => return Err(failed.to_owned().into()),
                // The server said no to the binding, and will not say where the pod is.
                Err(error) if !may_be && matches!(error.code(), Some(401 | 403)) => {
                    return Err(failed.to_owned().into());
                }
                Err(_) => tools.env().sleep(ASK_AGAIN).await,
            }
        }
    }
}
