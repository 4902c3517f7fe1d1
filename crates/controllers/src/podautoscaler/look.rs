//! One look at an autoscaler: from its target's scale to its status.

use super::conditions::{self, ABLE, ACTIVE, SCALED_TO_ZERO, Said};
use super::{Shared, scaling};
use crate::common::{Selector, Served, group_version, labels, served, unread, well_known};
use crate::{Cx, Event, Key, Outcome, Plan, Write};
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus,
    MetricStatus,
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use std::sync::Arc;

/// One look at an autoscaler, and what has come of it so far.
pub(super) struct Look {
    pub(super) shared: Arc<Shared>,
    pub(super) key: Key,
    /// With the status as it is to be.
    pub(super) autoscaler: HorizontalPodAutoscaler,
    pub(super) spec: HorizontalPodAutoscalerSpec,
    pub(super) status: HorizontalPodAutoscalerStatus,
    pub(super) events: Vec<Event>,
    /// Where the target's scale is.
    pub(super) scale_path: String,
    /// The target's scale as the server showed it.
    pub(super) scale: Value,
    pub(super) metrics: Option<Vec<MetricStatus>>,
}

impl Look {
    pub(super) fn new(shared: Arc<Shared>, key: Key, seen: &HorizontalPodAutoscaler) -> Self {
        Self {
            shared,
            key,
            spec: seen.spec.clone(),
            status: seen.status.clone().unwrap_or_default(),
            autoscaler: seen.clone(),
            events: Vec::new(),
            scale_path: String::new(),
            scale: Value::Null,
            metrics: None,
        }
    }

    pub(super) fn warn(&mut self, reason: &'static str, message: impl Into<String>) {
        let event = Event::warning(&self.autoscaler, reason, message);
        self.events.push(event);
    }

    pub(super) fn set(&mut self, cx: &Cx<'_>, type_: &str, said: Said) {
        conditions::set(&mut self.status, type_, said, cx.now);
    }

    /// Asks for the scale of the target.
    pub(super) fn begin(self, cx: &Cx<'_>) -> Plan {
        self.shared.begin(&self.key);
        let target = self.spec.scale_target_ref.clone();
        let version = target.api_version.unwrap_or_default();
        let group = match group_version(&version) {
            Ok((group, _)) => group.to_owned(),
            Err(error) => return self.without_scale(cx, &error),
        };
        match well_known(&group, &target.kind) {
            Some(found) => self.ask_for_scale(&found),
            None => served(&group, None, &target.kind, |cx, found| match found {
                Ok(found) => self.ask_for_scale(&found),
                Err(error) => self.without_scale(cx, &error),
            }),
        }
    }

    fn ask_for_scale(mut self, resource: &Served) -> Plan {
        let name = &self.spec.scale_target_ref.name;
        self.scale_path = resource.scale_path(&self.key.namespace, name);
        let what = format!("{} {name}", resource.group_resource());
        Plan::read(
            vec![self.scale_path.clone()],
            move |cx, answers| match answers.first() {
                Some(Ok(scale)) => {
                    self.scale = scale.clone();
                    self.with_scale(cx)
                }
                Some(Err(failure)) => self.without_scale(cx, &unread(failure, &what)),
                None => Plan::nothing(),
            },
        )
    }

    fn without_scale(mut self, cx: &Cx<'_>, error: &str) -> Plan {
        self.warn("FailedGetScale", error);
        let message =
            format!("the HPA controller was unable to get the target's current scale: {error}");
        self.set(cx, ABLE, Said::no("FailedGetScale", message));
        self.end()
    }

    pub(super) fn current(&self) -> i32 {
        number(&self.scale["spec"]["replicas"])
    }

    pub(super) fn min_replicas(&self) -> i32 {
        self.spec.min_replicas.unwrap_or(1)
    }

    /// Decides whether metrics have to be asked.
    fn with_scale(mut self, cx: &Cx<'_>) -> Plan {
        let message = "the HPA controller was able to get the target's current scale";
        self.set(cx, ABLE, Said::yes("SucceededGetScale", message));
        let current = self.current();
        {
            let mut known = self.shared.known();
            let memory = known.memories.entry(self.key.clone()).or_default();
            memory.begin(current, cx.now);
        }
        let (min, max) = (self.min_replicas(), self.spec.max_replicas);
        if current == 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            self.set(cx, ACTIVE, Said::no("ScalingDisabled", message));
            conditions::remove(&mut self.status, SCALED_TO_ZERO);
            return self.finish(cx, current, false);
        }
        if current > max {
            let reason = "Current number of replicas above Spec.MaxReplicas";
            return scaling::rescale(self, max, reason.to_owned());
        }
        if current < min {
            let reason = "Current number of replicas below Spec.MinReplicas";
            return scaling::rescale(self, min, reason.to_owned());
        }
        match self.selector(cx) {
            Ok(selector) => self.ask_for_metrics(selector),
            Err(error) => self.without_metrics(cx, &error),
        }
    }

    /// Which pods are meant; they must be those of no other autoscaler. Upstream's
    /// `validateAndParseSelector`.
    fn selector(&mut self, cx: &Cx<'_>) -> Result<Selector, String> {
        let text = self.scale["status"]["selector"]
            .as_str()
            .unwrap_or_default();
        let text = text.to_owned();
        if text.is_empty() {
            let error = "selector is required";
            self.warn("SelectorRequired", error);
            let message = "the HPA target's scale is missing a selector";
            self.set(cx, ACTIVE, Said::no("InvalidSelector", message));
            return Err(error.to_owned());
        }
        let selector = Selector::parse(&text).map_err(|error| {
            let error = format!(
                "couldn't convert selector into a corresponding internal selector object: {error}"
            );
            self.warn("InvalidSelector", error.clone());
            self.set(cx, ACTIVE, Said::no("InvalidSelector", error.clone()));
            error
        })?;
        let others = self.selecting(cx, &selector);
        if others.len() > 1 {
            let error = format!(
                "pods by selector {text} are controlled by multiple HPAs: [{}]",
                others.join(" ")
            );
            self.warn("AmbiguousSelector", error.clone());
            self.set(cx, ACTIVE, Said::no("AmbiguousSelector", error.clone()));
            return Err(error);
        }
        Ok(selector)
    }

    /// The autoscalers that scale one of these pods.
    fn selecting(&self, cx: &Cx<'_>, selector: &Selector) -> Vec<String> {
        let mut known = self.shared.known();
        known.selectors.insert(self.key.clone(), selector.clone());
        let pods = pods(cx, &self.key.namespace, selector);
        let all = known.selectors.iter().filter(|(key, selector)| {
            key.namespace == self.key.namespace
                && pods.iter().any(|pod| selector.matches(labels(&**pod)))
        });
        all.map(|(key, _)| format!("{}/{}", key.namespace, key.name))
            .collect()
    }

    /// Ends without having scaled, because metrics do not say how many replicas there should be.
    pub(super) fn without_metrics(mut self, cx: &Cx<'_>, error: &str) -> Plan {
        self.warn("FailedComputeMetricsReplicas", error);
        let (current, desired) = (self.current(), self.status.desired_replicas);
        self.set_status(cx, current, desired, false);
        self.end()
    }

    /// Ends with what there is and what is wanted.
    pub(super) fn finish(mut self, cx: &Cx<'_>, desired: i32, rescaled: bool) -> Plan {
        let current = self.current();
        self.set_status(cx, current, desired, rescaled);
        self.end()
    }

    /// Upstream's `setStatus`.
    pub(super) fn set_status(&mut self, cx: &Cx<'_>, current: i32, desired: i32, rescaled: bool) {
        let before = std::mem::take(&mut self.status);
        self.status = HorizontalPodAutoscalerStatus {
            current_replicas: Some(current),
            desired_replicas: desired,
            last_scale_time: match rescaled {
                true => Some(crate::common::time(cx.now)),
                false => before.last_scale_time,
            },
            current_metrics: self.metrics.take(),
            conditions: before.conditions,
            observed_generation: None,
        };
    }

    /// Tells what there is to tell, and writes the status if it has changed.
    pub(super) fn end(mut self) -> Plan {
        let plan = Plan::nothing().events(std::mem::take(&mut self.events));
        let before = self.autoscaler.status.clone().unwrap_or_default();
        if normalized(before) == normalized(self.status.clone()) {
            return plan;
        }
        let mut changed = self.autoscaler.clone();
        changed.status = Some(self.status);
        let seen = self.autoscaler;
        let write = Write::update_status(&changed).tolerating_everything();
        let write = write.telling(move |outcome: &Outcome| {
            let failure = outcome.refusal()?;
            let message = failure.message.clone();
            Some(Event::warning(&seen, "FailedUpdateStatus", message))
        });
        Plan {
            writes: vec![write],
            ..plan
        }
    }
}

/// No list and an empty one are the same, and so are no number and nought.
fn normalized(mut status: HorizontalPodAutoscalerStatus) -> HorizontalPodAutoscalerStatus {
    status.current_metrics = status.current_metrics.filter(|all| !all.is_empty());
    status.conditions = status.conditions.filter(|all| !all.is_empty());
    status.current_replicas = status.current_replicas.filter(|count| *count != 0);
    status
}

pub(super) fn number(value: &Value) -> i32 {
    let number = value.as_i64().unwrap_or_default();
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The pods of a namespace that are selected, by name.
pub(super) fn pods(cx: &Cx<'_>, namespace: &str, selector: &Selector) -> Vec<Arc<Pod>> {
    let mut pods = cx.cluster.namespace::<Pod>(namespace);
    pods.retain(|pod| selector.matches(labels(&**pod)));
    pods
}
