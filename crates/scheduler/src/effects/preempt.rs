//! Pods make room for another. Upstream's `framework/preemption/executor.go`.

use super::events::Note;
use super::requests::{Failed, pod_path};
use super::{PodRef, Preempt, Tools, unbroken};
use crate::message::Message;
use futures::{StreamExt, stream};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::k8s::jiff::Timestamp;

/// How many victims are evicted at a time: upstream's `parallelism`.
const EVICTIONS_MAX: usize = 16;

impl Preempt {
    pub(super) async fn carry_out(self, tools: &Tools) {
        let start = tools.env().monotonic();
        // Who broke halfway did not make room.
        let failed = unbroken(self.make_room(tools)).await != Ok(true);
        tools.tell(Message::PreemptionEnded {
            preemptor: self.pod.uid.clone(),
            namespace: (&*self.pod.namespace).into(),
            name: (&*self.pod.name).into(),
            failed,
            took: tools.env().monotonic().since(start),
        });
    }

    /// Whether everybody is out of the way, or will be.
    async fn make_room(&self, tools: &Tools) -> bool {
        let mut done = true;
        for pod in &self.denominate {
            let patch = json!({"status": {"nominatedNodeName": null}});
            if let Err(error) = super::status::patch(tools, pod, &patch).await {
                tracing::warn!(pod = %pod.name, %error, "a nomination could not be taken back");
                done = false;
            }
        }
        self.evict_all(tools).await && done
    }

    /// Evicts all victims, the last of them after all others; returns whether all are gone or on
    /// their way. Once one of them stays, no others are sent away in vain.
    async fn evict_all(&self, tools: &Tools) -> bool {
        let Some((last, others)) = self.victims.split_last() else {
            return true;
        };
        let failed = AtomicBool::new(false);
        let evictions = others.iter();
        let evictions: Vec<_> = evictions
            .map(|victim| self.evict_unless(tools, victim, &failed))
            .collect();
        let evictions = stream::iter(evictions).buffer_unordered(EVICTIONS_MAX);
        evictions.for_each(|()| std::future::ready(())).await;
        if failed.load(Ordering::Relaxed) {
            return false;
        }
        tools.tell(Message::LastVictim {
            preemptor: self.pod.uid.clone(),
            namespace: (&*last.namespace).into(),
            name: (&*last.name).into(),
        });
        self.evict(tools, last).await
    }

    /// Evicts a victim unless another could not be, and tells if it cannot be.
    async fn evict_unless(&self, tools: &Tools, victim: &PodRef, failed: &AtomicBool) {
        if !failed.load(Ordering::Relaxed) && !self.evict(tools, victim).await {
            failed.store(true, Ordering::Relaxed);
        }
    }

    async fn evict(&self, tools: &Tools, victim: &PodRef) -> bool {
        match self.try_evict(tools, victim).await {
            Ok(true) => {
                let uid = &self.pod.uid;
                let note = Note::Preempted(format!("Preempted by pod {uid} on node {}", self.node));
                tools.recorder.record(&self.scheduler, victim, &note);
                true
            }
            Ok(false) => true,
            Err(error) => {
                tracing::error!(pod = %victim.name, %error, "a pod could not be preempted");
                false
            }
        }
    }

    /// Whether the victim was there to be deleted.
    async fn try_evict(&self, tools: &Tools, victim: &PodRef) -> Result<bool, Failed> {
        let path = pod_path(&victim.namespace, &victim.name, "");
        let pod: Pod = match tools.requests.get(&path).await {
            Ok(pod) => pod,
            Err(failed) if failed.code() == Some(404) => return Ok(false),
            Err(failed) => return Err(failed),
        };
        if pod.metadata.uid.as_deref() != Some(&*victim.uid) {
            return Ok(false);
        }
        if let Some(condition) = self.disruption_target(&pod) {
            let patch = json!({"status": {"conditions": [condition]}});
            match super::status::patch(tools, victim, &patch).await {
                Err(failed) if failed.code() == Some(404) => return Ok(false),
                patched => patched?,
            }
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": &*victim.uid},
        });
        let deleted: Result<IgnoredAny, _> = tools
            .requests
            .change("DELETE", &path, "application/json", &options)
            .await;
        match deleted {
            // A conflict is about the uid: it is another pod by now.
            Err(failed) if matches!(failed.code(), Some(404 | 409)) => Ok(false),
            deleted => deleted.map(|_| true),
        }
    }

    /// The condition that tells why the victim goes, unless it is told already.
    fn disruption_target(&self, victim: &Pod) -> Option<Value> {
        let message = format!(
            "{}: preempting to accommodate a higher priority pod",
            self.scheduler
        );
        let conditions = victim.status.as_ref()?.conditions.iter().flatten();
        let before = conditions
            .into_iter()
            .find(|condition| condition.type_ == "DisruptionTarget" && condition.status == "True");
        let same = before.is_some_and(|before| {
            before.reason.as_deref() == Some("PreemptionByScheduler")
                && before.message.as_deref() == Some(&*message)
        });
        if same {
            return None;
        }
        let since = before.and_then(|before| before.last_transition_time.clone());
        let since = since.map_or_else(Timestamp::now, |since| since.0);
        Some(json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": message,
            "lastProbeTime": null,
            "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "observedGeneration": victim.metadata.generation,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Recorder, Requests};
    use super::*;
    use http::{Request, Response};
    use kube::client::Body;
    use std::sync::{Arc, Mutex};
    use stowplan_client::{EventRecorder, Unguarded};
    use stowplan_env::System;
    use tower::{BoxError, service_fn};

    fn pod(name: &str) -> PodRef {
        PodRef {
            namespace: "n".into(),
            name: name.into(),
            uid: name.into(),
            resource_version: "1".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn once_a_victim_stays_no_others_are_sent_away() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = asked.clone();
        // One victim cannot be read, and nothing is said of the others.
        let service = service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            told.lock().unwrap().push(path.clone());
            async move {
                if !path.ends_with("/pods/victim-0") {
                    std::future::pending::<()>().await;
                }
                let response = Response::builder().status(500);
                Ok::<_, BoxError>(response.body(Body::empty()).expect("a response"))
            }
        });
        let client = kube::Client::new(service, "default");
        let env = Arc::new(System::new());
        let (recorder, _writes) = EventRecorder::new(env.clone(), "host");
        let (engine, mut messages) = tokio::sync::mpsc::unbounded_channel();
        let tools = Tools {
            requests: Requests::new(client, env, Arc::new(Unguarded)),
            recorder: Recorder(recorder),
            engine,
            extenders: Arc::new([]),
        };
        let preempt = Preempt {
            pod: pod("high"),
            scheduler: "s".into(),
            node: "a".into(),
            victims: (0..40).map(|i| pod(&format!("victim-{i}"))).collect(),
            denominate: Vec::new(),
        };
        preempt.carry_out(&tools).await;
        assert_eq!(asked.lock().unwrap().len(), EVICTIONS_MAX);
        let message = messages.try_recv().expect("it is over");
        assert!(matches!(
            message,
            Message::PreemptionEnded { failed: true, .. }
        ));
    }
}
