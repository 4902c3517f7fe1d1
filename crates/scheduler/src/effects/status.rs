//! Pods' status. Upstream's `util.PatchPodStatus`.

use super::requests::{Failed, PAUSES, pod_path};
use super::{NotDone, ObjectRef, Tools};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::k8s::jiff::Timestamp;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Time;

/// A change of a pod's status.
pub(crate) struct Status {
    pub(crate) pod: ObjectRef,
    /// What changes in the status.
    pub(crate) status: Map<String, Value>,
    /// A condition that has to be compared with what the pod says already.
    pub(crate) condition: Option<Condition>,
}

/// A condition of a pod.
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Status {
    /// What was not written yet is written together with what comes after.
    pub(super) fn give_way(&mut self, after: Self) {
        self.pod = after.pod;
        self.status.extend(after.status);
        self.condition = after.condition.or(self.condition.take());
    }

    pub(super) async fn carry_out(&self, tools: &Tools) -> Result<Option<ApiObject>, NotDone> {
        let mut status = self.status.clone();
        if let Some(condition) = &self.condition {
            let pod = self.read(tools).await?;
            if let Some(condition) = condition.changed(&pod, tools.env().now()) {
                status.insert("conditions".to_owned(), json!([condition]));
            }
        }
        if status.is_empty() {
            return Ok(None);
        }
        match self.patch(tools, &json!({"status": status})).await {
            Ok(()) => Ok(None),
            Err(failed) => {
                let error = failed.message();
                tracing::warn!(pod = %self.pod.name, error, "a status could not be written");
                Err(failed.into())
            }
        }
    }

    async fn read(&self, tools: &Tools) -> Result<Pod, NotDone> {
        match tools.requests.get::<Pod>(&self.pod.path()).await {
            Ok(pod) if pod.metadata.uid.as_deref() == Some(&*self.pod.uid) => Ok(pod),
            Ok(_) => Err(self.pod.not_found()),
            Err(failed) => Err(failed.into()),
        }
    }

    /// Patches the status of exactly this pod; tries again what may go better next time.
    async fn patch(&self, tools: &Tools, body: &Value) -> Result<(), Failed> {
        let path = pod_path(&self.pod.namespace, &self.pod.name, "/status");
        let mut body = body.clone();
        // Another pod of this name is none of our business.
        body["metadata"] = json!({"uid": &*self.pod.uid});
        let content_type = "application/strategic-merge-patch+json";
        let mut pauses = PAUSES.into_iter();
        loop {
            let answer: Result<IgnoredAny, _> = tools
                .requests
                .change("PATCH", &path, content_type, &body)
                .await;
            let failed = match answer {
                Ok(_) => return Ok(()),
                Err(failed) => failed,
            };
            match (is_retriable(&failed), pauses.next()) {
                (true, Some(pause)) => tools.env().sleep(pause).await,
                _ => return Err(failed),
            }
        }
    }
}

impl Condition {
    /// The condition as the pod should have it, unless it does. Upstream's `UpdatePodCondition`.
    fn changed(&self, pod: &Pod, now: Time) -> Option<Value> {
        let conditions = pod
            .status
            .iter()
            .flat_map(|s| s.conditions.iter().flatten());
        let before = conditions
            .into_iter()
            .find(|before| before.type_ == self.kind && before.status == self.status);
        let same = before.is_some_and(|before| {
            before.reason.as_deref() == Some(self.reason)
                && before.message.as_deref() == Some(&*self.message)
        });
        if same {
            return None;
        }
        let since = before.and_then(|before| before.last_transition_time.clone());
        let now = Timestamp::from_nanosecond(now.as_nanos().into()).unwrap_or_default();
        let since = since.map_or(now, |since| since.0);
        Some(json!({
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastProbeTime": null,
            "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "observedGeneration": pod.metadata.generation,
        }))
    }
}

/// Upstream's `util.Retriable`: a server that is in trouble or not there, and a conflict that is not
/// about the uid.
fn is_retriable(failed: &Failed) -> bool {
    match failed {
        Failed::Fenced => false,
        Failed::Late => true,
        Failed::Unsure(last) => is_retriable(last),
        Failed::Api(_) => matches!(failed.code(), None | Some(409 | 500 | 503)),
    }
}
