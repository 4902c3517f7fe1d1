//! Nodes that come, change and go, and their heartbeats.

use super::{BY_NODE, Job, NodeFact, Told, World};
use crate::events::NodeEvent;
use crate::node::{
    Cidr, Facts, Fault, NODE, NodeSim, PROCESS, is_real, is_simulated, prepared, status_patch,
};
use crate::world::jobs::Prepared;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use stowplan_base::Time;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// How long a tick is: the leases of one in a hundred nodes are renewed in each.
const TICK_MS: i64 = 100;
/// A lease is renewed every ten seconds.
const LEASE_TICKS: i64 = 100;
/// A status is reported every five minutes.
const STATUS_TICKS: i64 = 3_000;

/// Whether somebody says that the node is well.
fn is_ready(node: &Node) -> bool {
    let mut conditions = node
        .status
        .iter()
        .flat_map(|one| one.conditions.iter().flatten());
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Whether no kubelet ever spoke of the node.
fn is_untouched(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions.is_none_or(Vec::is_empty)
}

fn internal_ip(node: &Node) -> Option<Ipv4Addr> {
    let mut addresses = node
        .status
        .iter()
        .flat_map(|one| one.addresses.iter().flatten());
    let internal = addresses.find(|one| one.type_ == "InternalIP")?;
    internal.address.parse().ok()
}

/// The address of a node: that of this machine for itself, if its pods really run.
fn host_of(node: &Node) -> Option<Ipv4Addr> {
    match is_real(node) {
        true => Some(internal_ip(node).unwrap_or(Ipv4Addr::LOCALHOST)),
        false => internal_ip(node),
    }
}

impl World {
    /// What the node says of itself beside what all do.
    pub(super) fn facts(&self, node: &Node) -> &[NodeFact] {
        match is_real(node) {
            true => &self.config.conditions,
            false => &[],
        }
    }

    /// Nodes that there have to be. Those that there are already are brought up to date.
    pub(crate) fn want_nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            let name: Box<str> = node.metadata.name.as_deref().unwrap_or_default().into();
            self.manifests
                .insert(name.clone(), Arc::new(prepared(node, self.config.is_real)));
            self.push_node_job(Job::Register(name));
        }
    }

    /// Nodes that nobody wants any more: they are not registered again.
    pub(crate) fn unwant_node(&mut self, name: &str) {
        self.manifests.remove(name);
    }

    /// A node is new or changed.
    pub(crate) fn node_seen(&mut self, node: &Arc<Node>, now: Time) {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let is_ours = is_simulated(node) || (is_real(node) && self.config.is_real);
        if !is_ours {
            let is_wanted = self.manifests.contains_key(name);
            if is_wanted && (is_untouched(node) || is_real(node)) {
                self.push_node_job(Job::Adopt(name.into()));
            }
            return;
        }
        let uid = &node.metadata.uid;
        match self.node_id(name) {
            Some(id)
                if self.nodes.get(id).is_some_and(|one| {
                    one.object.metadata.uid == *uid && one.is_real == is_real(node)
                }) =>
            {
                self.node_changed(id, node, now);
            }
            Some(id) => {
                self.drop_node(id);
                self.node_came(node, now);
            }
            None => self.node_came(node, now),
        }
    }

    fn node_came(&mut self, node: &Arc<Node>, now: Time) {
        let name: Box<str> = node.metadata.name.as_deref().unwrap_or_default().into();
        let said = node.spec.as_ref().and_then(|spec| spec.pod_cidr.as_deref());
        let cidr = said.and_then(Cidr::parse);
        let mut room = crate::admission::Room::default();
        room.set_allocatable(node);
        let has_cidr = cidr.is_some();
        let cidr = match cidr {
            Some(cidr) => {
                self.blocks.mark(&cidr);
                cidr
            }
            None => self.blocks.allocate(room.pods_max),
        };
        let id = self.nodes.insert(NodeSim {
            name: name.clone(),
            object: node.clone(),
            host: host_of(node).unwrap_or_else(|| cidr.host()),
            cidr,
            room,
            is_real: is_real(node),
            annotated: None,
            fault: None,
            pods: BTreeSet::new(),
            has_lease: false,
            is_lease_queued: false,
            is_status_queued: false,
        });
        self.names.insert(name.clone(), id);
        if self.tick == 0 {
            self.tick = now.as_millis().div_euclid(TICK_MS);
        }
        if !has_cidr {
            self.push_node_job(Job::Adopt(name.clone()));
        }
        let message = format!("Node {name} status is now: NodeReady");
        self.told.push(Told::Node(
            node.clone(),
            NodeEvent {
                reason: "NodeReady",
                message,
            },
        ));
        self.node_changed(id, node, now);
        self.queue_lease(id);
        for pod in self.store.indexed(BY_NODE, &name) {
            self.pod_seen(&pod, now);
        }
    }

    fn node_changed(&mut self, id: u32, object: &Arc<Node>, now: Time) {
        let Some(node) = self.nodes.get_mut(id) else {
            return;
        };
        node.object = object.clone();
        node.room.set_allocatable(object);
        if let Some(ip) = host_of(object) {
            node.host = ip;
        }
        let annotated = Fault::of(object);
        if annotated != node.annotated {
            node.annotated = annotated;
            self.set_fault(id, annotated, now);
        }
        let Some(node) = self.nodes.get(id).filter(|node| !node.is_silent()) else {
            return;
        };
        let has_room = node.room.pods_max > 0;
        if !is_ready(&node.object) || !has_room {
            self.queue_status(id);
        } else if self.config.untaint && has_taint(&node.object) {
            self.push_node_job(Job::Untaint(id));
        }
    }

    /// A node is gone, and with it its kubelet.
    pub(crate) fn node_gone(&mut self, node: &Node) {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let Some(id) = self.node_id(name) else { return };
        self.drop_node(id);
        if self.config.reregister && self.manifests.contains_key(name) {
            self.push_node_job(Job::Register(name.into()));
        }
    }

    fn drop_node(&mut self, id: u32) {
        let Some(node) = self.nodes.remove(id) else {
            return;
        };
        self.names.remove(&node.name);
        for pod in node.pods {
            self.forget(pod, None);
        }
    }

    pub(super) fn prepare_node(&mut self, name: &str, now: Time) -> Option<Prepared> {
        let manifest = self.manifests.get(name)?.clone();
        let mut body = serde_json::to_value(&*manifest).ok()?;
        if let Some(known) = self.node_id(name).and_then(|id| self.nodes.get(id)) {
            // It is there: labels and annotations are those of the manifest, and so is its room.
            let meta = &body["metadata"];
            let patch = json!({
                "metadata": {"labels": meta["labels"], "annotations": meta["annotations"]},
            });
            let path = format!("/api/v1/nodes/{}", known.name);
            if let Some(id) = self.node_id(name) {
                self.queue_status(id);
            }
            return Some(Prepared {
                method: "PATCH",
                path,
                content_type: "application/merge-patch+json",
                body: patch,
                subject: name.into(),
            });
        }
        let mut room = crate::admission::Room::default();
        room.set_allocatable(&manifest);
        let said = manifest
            .spec
            .as_ref()
            .and_then(|spec| spec.pod_cidr.as_deref());
        let cidr = match said.and_then(Cidr::parse) {
            Some(cidr) => cidr,
            None => self.blocks.allocate(room.pods_max),
        };
        self.blocks.mark(&cidr);
        let facts = Facts {
            host: host_of(&manifest).unwrap_or_else(|| cidr.host()),
            more: self.facts(&manifest),
        };
        body["spec"]["podCIDR"] = cidr.text().into();
        body["spec"]["podCIDRs"] = json!([cidr.text()]);
        if let Value::Object(status) = status_patch(&manifest, &facts, now)["status"].take() {
            for (field, value) in status {
                body["status"][field] = value;
            }
        }
        Some(Prepared {
            method: "POST",
            path: "/api/v1/nodes".to_owned(),
            content_type: "application/json",
            body,
            subject: name.into(),
        })
    }

    pub(super) fn prepare_adoption(&mut self, name: &str) -> Option<Prepared> {
        let kind = if self.config.is_real {
            PROCESS
        } else {
            "simulated"
        };
        let mut body = json!({"metadata": {"annotations": {NODE: kind}}});
        if let Some(node) = self.node_id(name).and_then(|id| self.nodes.get(id)) {
            let cidr = node.cidr.text();
            body = json!({"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
        }
        Some(Prepared {
            method: "PATCH",
            path: format!("/api/v1/nodes/{name}"),
            content_type: "application/merge-patch+json",
            body,
            subject: name.into(),
        })
    }

    pub(super) fn prepare_untaint(&mut self, id: u32) -> Option<Prepared> {
        let node = self.nodes.get(id)?;
        let taints = node.object.spec.as_ref()?.taints.as_ref()?;
        let rest: Vec<_> = taints
            .iter()
            .filter(|taint| taint.key != NOT_READY)
            .collect();
        let version = &node.object.metadata.resource_version;
        Some(Prepared {
            method: "PATCH",
            path: format!("/api/v1/nodes/{}", node.name),
            content_type: "application/merge-patch+json",
            body: json!({"metadata": {"resourceVersion": version}, "spec": {"taints": rest}}),
            subject: node.name.clone(),
        })
    }

    pub(super) fn queue_lease(&mut self, id: u32) {
        if let Some(node) = self.nodes.get_mut(id)
            && !node.is_lease_queued
            && !node.is_silent()
        {
            node.is_lease_queued = true;
            self.push_node_job(Job::Lease(id));
        }
    }

    pub(super) fn queue_status(&mut self, id: u32) {
        if let Some(node) = self.nodes.get_mut(id)
            && !node.is_status_queued
            && !node.is_silent()
        {
            node.is_status_queued = true;
            self.push_node_job(Job::NodeStatus(id));
        }
    }

    /// Queues the heartbeats that are due: a batch per tick, spread evenly.
    pub(super) fn heartbeats(&mut self, now: Time) {
        let tick = now.as_millis().div_euclid(TICK_MS);
        // Whoever overslept does not make up for more than one round.
        let first = (self.tick + 1).max(tick - LEASE_TICKS + 1);
        self.tick = self.tick.max(tick);
        let places = self.nodes.places() as i64;
        for tick in first..=tick {
            let mut id = tick.rem_euclid(LEASE_TICKS);
            while id < places {
                self.queue_lease(id as u32);
                if (tick - id).rem_euclid(STATUS_TICKS) == 0 {
                    self.queue_status(id as u32);
                }
                id += LEASE_TICKS;
            }
        }
    }

    /// When the next heartbeat is due.
    pub(super) fn next_tick(&self) -> Option<Time> {
        let places = self.nodes.places() as i64;
        if self.nodes.len() == 0 {
            return None;
        }
        let mut tick = self.tick + 1;
        let place = tick.rem_euclid(LEASE_TICKS);
        if place >= places {
            tick += LEASE_TICKS - place;
        }
        Some(Time::from_millis(tick.saturating_mul(TICK_MS)))
    }
}

fn has_taint(node: &Node) -> bool {
    let mut taints = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    taints.any(|taint| taint.key == NOT_READY)
}
