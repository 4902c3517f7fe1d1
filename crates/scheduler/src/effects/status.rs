//! Pods' status. Upstream's `util.PatchPodStatus`.

use super::requests::{Failed, PAUSES, pod_path};
use super::{PodRef, Status, Tools};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

impl Status {
    pub(super) async fn carry_out(self, tools: &Tools) {
        if let Some(note) = &self.note {
            tools.recorder.record(&self.scheduler, &self.pod, note);
        }
        if self.status.is_empty() {
            return;
        }
        let body = json!({"status": self.status});
        if let Err(error) = patch(tools, &self.pod, &body).await {
            tracing::warn!(pod = %self.pod.name, %error, "a status could not be written");
        }
    }
}

/// Patches the status of exactly this pod; tries again what may go better next time.
pub(super) async fn patch(tools: &Tools, pod: &PodRef, body: &Value) -> Result<(), Failed> {
    let path = pod_path(&pod.namespace, &pod.name, "/status");
    let mut body = body.clone();
    // Another pod of this name is none of our business.
    body["metadata"] = json!({"uid": &*pod.uid});
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
