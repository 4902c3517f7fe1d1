//! When a node was last heard of.

use super::NodeLifecycleOptions;
use crate::Write;
use crate::common::{created_at, time};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, NodeCondition};

/// The condition `Ready` of a node.
pub(super) fn ready(node: &Node) -> Option<&NodeCondition> {
    condition(node, "Ready")
}

fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// When a node was last heard of, by our own clock: that of the node may be wrong.
#[derive(Clone, Debug)]
pub(super) struct Health {
    heard_at: Timestamp,
    /// What its status said then.
    heartbeat: Option<Option<Timestamp>>,
    /// What its lease said then.
    renewed: Option<Timestamp>,
}

impl Health {
    /// What is known after another look. Upstream's `tryUpdateNodeHealth`.
    pub(super) fn observed(
        before: Option<Self>,
        node: &Node,
        lease: Option<&Lease>,
        now: Timestamp,
    ) -> Self {
        let heartbeat = ready(node).map(|ready| ready.last_heartbeat_time.as_ref().map(|at| at.0));
        let mut health = match before {
            // A kubelet that never said anything was last heard of when the node was made.
            None => Self {
                heard_at: match heartbeat {
                    None => created_at(node).unwrap_or(now),
                    Some(_) => now,
                },
                heartbeat,
                renewed: None,
            },
            Some(before) if before.heartbeat == heartbeat => before,
            Some(before) => Self {
                heard_at: now,
                heartbeat,
                ..before
            },
        };
        let renewed = lease.and_then(|lease| lease.spec.as_ref()?.renew_time.as_ref());
        let renewed = renewed.map(|at| at.0);
        if renewed.is_some() && health.renewed < renewed {
            health.renewed = renewed;
            health.heard_at = now;
        }
        health
    }

    /// It counts as heard of now.
    pub(super) fn seen_at(&mut self, now: Timestamp) {
        self.heard_at = now;
    }

    /// Whether it has not been heard of for too long.
    pub(super) fn is_silent(
        &self,
        node: &Node,
        options: &NodeLifecycleOptions,
        now: Timestamp,
    ) -> bool {
        let grace = match ready(node) {
            Some(_) => options.monitor_grace,
            None => options.startup_grace,
        };
        let grace = SignedDuration::try_from(grace).unwrap_or(SignedDuration::MAX);
        now.duration_since(self.heard_at) > grace
    }
}

/// Says that nothing is known of a node, unless it is said already.
pub(super) fn unknown(node: &Node, now: Timestamp) -> Option<Write> {
    let mut changed = node.clone();
    let status = changed.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    let before = ready(node).cloned();
    for type_ in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        match conditions
            .iter_mut()
            .find(|condition| condition.type_ == type_)
        {
            None => conditions.push(NodeCondition {
                type_: type_.to_owned(),
                status: "Unknown".to_owned(),
                reason: Some("NodeStatusNeverUpdated".to_owned()),
                message: Some("Kubelet never posted node status.".to_owned()),
                last_heartbeat_time: node.metadata.creation_timestamp.clone(),
                last_transition_time: Some(time(now)),
            }),
            Some(condition) if condition.status != "Unknown" => {
                "Unknown".clone_into(&mut condition.status);
                condition.reason = Some("NodeStatusUnknown".to_owned());
                condition.message = Some("Kubelet stopped posting node status.".to_owned());
                condition.last_transition_time = Some(time(now));
            }
            Some(_) => {}
        }
    }
    (ready(&changed) != before.as_ref()).then(|| Write::update_status(&changed))
}
