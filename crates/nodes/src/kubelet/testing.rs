//! One pod on a node of its own, for tests.

use super::{Cx, PodSim, Stage, specs};
use crate::admission::requests_of;
use crate::behaviour::Rules;
use crate::events::PodEvent;
use crate::status;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use stowplan_base::{Duration, Time};

/// When the tests begin: 2027-01-15T08:00:00Z.
pub(crate) const START: Time = Time::from_secs(1_800_000_000);

/// A pod whose life is looked at.
pub(crate) struct Life {
    pub(crate) pod: Pod,
    pub(crate) sim: PodSim,
    pub(crate) rules: Rules,
    pub(crate) slowness: f64,
    pub(crate) events: Vec<PodEvent>,
}

pub(crate) fn pod(metadata: Value, spec: Value) -> Pod {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1}});
    if let Value::Object(more) = metadata {
        for (field, value) in more {
            pod["metadata"][field] = value;
        }
    }
    pod["spec"] = spec;
    serde_json::from_value(pod).expect("a pod")
}

impl Life {
    /// A pod that its node has just taken on.
    pub(crate) fn new(metadata: Value, spec: Value) -> Self {
        Self::of(pod(metadata, spec), 1.0, 0)
    }

    /// A pod that is first seen so many seconds after the start.
    pub(crate) fn of(pod: Pod, slowness: f64, seconds: i64) -> Self {
        let now = START + Duration::from_secs(seconds);
        let rules = Rules::default();
        let mut events = Vec::new();
        let sim = {
            let specs = specs(&pod);
            let cx = Cx {
                pod: &pod,
                specs: &specs,
                rules: &rules,
                slowness,
                start_after: Duration::from_secs(1),
                is_real: false,
                events: &mut events,
            };
            let requests = requests_of(&pod);
            let restored = PodSim::restore(&cx, requests.clone(), now);
            restored.unwrap_or_else(|| PodSim::new(&cx, requests, now))
        };
        let mut life = Self {
            pod,
            sim,
            rules,
            slowness,
            events,
        };
        life.sim.ip = life.sim.ip.or(Some(Ipv4Addr::new(10, 0, 0, 2)));
        life.at(seconds);
        life
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut PodSim, &mut Cx<'_>) -> T) -> T {
        let specs = specs(&self.pod);
        let mut cx = Cx {
            pod: &self.pod,
            specs: &specs,
            rules: &self.rules,
            slowness: self.slowness,
            start_after: Duration::from_secs(1),
            is_real: false,
            events: &mut self.events,
        };
        act(&mut self.sim, &mut cx)
    }

    /// Lets it live until so many milliseconds after the start; says whether anything can be seen of it.
    pub(crate) fn at_ms(&mut self, millis: i64) -> bool {
        self.with(|sim, cx| sim.advance(cx, START + Duration::from_millis(millis)))
    }

    /// The same in seconds.
    pub(crate) fn at(&mut self, seconds: i64) -> bool {
        self.at_ms(seconds * 1_000)
    }

    /// Somebody deletes it so many seconds after the start.
    pub(crate) fn delete_at(&mut self, seconds: i64, grace_s: i64) {
        self.at(seconds);
        self.pod.metadata.deletion_grace_period_seconds = Some(grace_s);
        let now = START + Duration::from_secs(seconds);
        self.with(|sim, cx| {
            sim.delete(cx, now);
            sim.advance(cx, now)
        });
    }

    /// What is reported of it.
    pub(crate) fn status(&self) -> Value {
        let specs = specs(&self.pod);
        let host = Ipv4Addr::new(172, 18, 0, 2);
        let mut patch = status::patch(&self.sim, &self.pod, &specs, host);
        patch["status"].take()
    }

    /// `Running c:running(1) …`: its phase and what its containers do, with how often they were restarted.
    pub(crate) fn brief(&self) -> String {
        let status = self.status();
        let lists = [
            "initContainerStatuses",
            "containerStatuses",
            "ephemeralContainerStatuses",
        ];
        let all = lists
            .iter()
            .flat_map(|list| status[list].as_array().cloned().unwrap_or_default());
        let mut brief = status["phase"].as_str().unwrap_or_default().to_owned();
        for one in all {
            let state = one["state"]
                .as_object()
                .and_then(|state| state.iter().next());
            let (kind, what) = state
                .map(|(kind, what)| (kind.as_str(), what.clone()))
                .unwrap_or_default();
            let said = match kind {
                "terminated" => what["exitCode"].to_string(),
                "waiting" => what["reason"].as_str().unwrap_or_default().to_owned(),
                _ if one["ready"] == true => "ready".to_owned(),
                _ if one["started"] == true => "started".to_owned(),
                _ => "running".to_owned(),
            };
            let name = one["name"].as_str().unwrap_or_default();
            brief += &format!(" {name}:{said}");
            if one["restartCount"] != 0 {
                brief += &format!("({})", one["restartCount"]);
            }
        }
        brief
    }

    /// The conditions, as `Ready=False(Reason: message)`.
    pub(crate) fn condition(&self, name: &str) -> String {
        let status = self.status();
        let all = status["conditions"].as_array().cloned().unwrap_or_default();
        let Some(one) = all.iter().find(|one| one["type"] == name) else {
            return "none".to_owned();
        };
        let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        match (text("reason"), text("message")) {
            (reason, _) if reason.is_empty() => text("status"),
            (reason, message) if message.is_empty() => format!("{} {reason}", text("status")),
            (reason, message) => format!("{} {reason}: {message}", text("status")),
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.sim.stage == Stage::Finished
    }
}
