//! Upstream's tables (`horizontal_test.go`, `replica_calculator_test.go`, `metrics/client_test.go`) in our
//! own words and numbers.

mod calculation;
mod faults;
mod limiting;
mod looks;
mod others;

use super::{PodAutoscalerOptions, PodAutoscalers};
use crate::testing::World;
use crate::{Failure, Write};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition,
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::time::Duration;

const METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";

/// A pod in a word: how much cpu it uses in thousandths of the core that it requests, after a letter. `u` is
/// not ready and never was, `h` started a minute ago and has just become ready, `p` is pending, `f` has
/// failed, `d` is being deleted; `-` in the place of a number: there is no sample of it.
fn pod(name: &str, word: &str, now: Timestamp) -> Value {
    let at = |seconds: i64| (now - SignedDuration::from_secs(seconds)).to_string();
    let letter = word.chars().next().filter(char::is_ascii_alphabetic);
    let (started, changed, ready) = match letter {
        Some('u') => (3_600, 3_590, "False"),
        Some('h') => (60, 5, "True"),
        _ => (3_600, 3_000, "True"),
    };
    let phase = match letter {
        Some('p') => "Pending",
        Some('f') => "Failed",
        _ => "Running",
    };
    let deleted = (letter == Some('d')).then(|| at(1));
    json!({
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": "web"},
            "deletionTimestamp": deleted, "deletionGracePeriodSeconds": deleted.as_ref().map(|_| 30)},
        "spec": {"containers": [
            {"name": "main", "resources": {"requests": {"cpu": "600m", "memory": "300Mi"}}},
            {"name": "side", "resources": {"requests": {"cpu": "400m", "memory": "100Mi"}}},
        ]},
        "status": {"phase": phase, "startTime": at(started), "conditions": [
            {"type": "Ready", "status": ready, "lastTransitionTime": at(changed)}]},
    })
}

/// What a pod uses, if there is a sample of it.
fn used(word: &str) -> Option<i64> {
    word.trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .ok()
}

/// A Deployment `web` with pods, what they use, and the controller.
struct Scene {
    world: World,
    autoscalers: PodAutoscalers,
}

impl Scene {
    fn new(replicas: i32, words: &str) -> Self {
        let mut world = World::default();
        world.add_json::<Deployment>(json!({
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {}},
            "status": {"replicas": replicas},
        }));
        let mut scene = Self {
            world,
            autoscalers: PodAutoscalers::new(PodAutoscalerOptions::default()),
        };
        scene.pods(words);
        scene
    }

    /// These are the pods from now on.
    fn pods(&mut self, words: &str) {
        for pod in self.world.cluster.all::<Pod>() {
            let name = pod.metadata.name.clone().unwrap_or_default();
            self.world.remove::<Pod>("shop", &name);
        }
        let now = self.world.now;
        let mut items = Vec::new();
        for (number, word) in words.split_whitespace().enumerate() {
            let name = format!("web-{number}");
            self.world.add_json::<Pod>(pod(&name, word, now));
            if let Some(used) = used(word) {
                let share = |part: i64| format!("{}m", used * part / 10);
                let memory = |part: i64| format!("{}Ki", used * part * 1024 / 10);
                items.push(json!({
                    "metadata": {"name": name, "namespace": "shop"},
                    "timestamp": now.to_string(), "window": "15s",
                    "containers": [
                        {"name": "main", "usage": {"cpu": share(9), "memory": memory(9)}},
                        {"name": "side", "usage": {"cpu": share(1), "memory": memory(1)}},
                    ],
                }));
            }
        }
        self.world.serve(METRICS, Ok(json!({"items": items})));
    }

    /// An autoscaler of the Deployment.
    fn autoscaler(&mut self, min: i32, max: i32, metrics: Value, behavior: Value) {
        self.world.add_json::<HorizontalPodAutoscaler>(json!({
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {
                "minReplicas": min, "maxReplicas": max, "metrics": metrics, "behavior": behavior,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            },
        }));
    }

    /// One that wants so many percent of cpu.
    fn percent(&mut self, min: i32, max: i32, percent: i32) {
        self.autoscaler(min, max, json!([cpu(percent)]), Value::Null);
    }

    fn look(&mut self) -> Option<Duration> {
        self.world.sync(&self.autoscalers, "shop", "web")
    }

    /// Looks, and tells how many replicas are wanted now.
    fn replicas(&mut self) -> i32 {
        self.look();
        let web = self.world.get::<Deployment>("shop", "web");
        web.spec.as_ref().and_then(|spec| spec.replicas).unwrap()
    }

    fn status(&self) -> Value {
        let web = self.world.get::<HorizontalPodAutoscaler>("shop", "web");
        serde_json::to_value(web.status.clone().unwrap_or_default()).unwrap()
    }

    /// A condition as `Status Reason: message`.
    fn condition(&self, type_: &str) -> String {
        let web = self.world.get::<HorizontalPodAutoscaler>("shop", "web");
        let status = web.status.clone().unwrap_or_default();
        let all = status.conditions.unwrap_or_default();
        let found = all.iter().find(|condition| condition.type_ == type_);
        let text = |found: &HorizontalPodAutoscalerCondition| {
            let (reason, message) = (found.reason.as_deref(), found.message.as_deref());
            format!("{} {}: {}", found.status, reason.unwrap(), message.unwrap())
        };
        found.map(text).unwrap_or_default()
    }

    fn pass(&mut self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds));
    }
}

fn cpu(percent: i32) -> Value {
    json!({"type": "Resource", "resource":
        {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}})
}

fn refused(code: u16, message: &str) -> Failure {
    Failure {
        code,
        reason: "Refused".to_owned(),
        message: message.to_owned(),
        causes: Vec::new(),
    }
}

fn is_scale(write: &Write) -> bool {
    write.path.ends_with("/scale")
}
