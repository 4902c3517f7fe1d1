//! What has to be written, and what became of it.

use super::World;
use crate::kubelet::{Stage, specs};
use crate::node::{Facts, is_reached_at, reached_at, status_patch};
use crate::status;
use jiff::Timestamp;
use serde_json::{Value, json};
use stowplan_base::{Duration, Time};
use stowplan_client::pod_path;

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/// `leaseDurationSeconds`, as kubelets have it.
const LEASE_S: u32 = 40;

/// When something about a node is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// One thing to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// A node that we were given, by name.
    Register(Box<str>),
    /// That a node is simulated, and which addresses its pods have.
    Adopt(Box<str>),
    NodeStatus(u32),
    /// Takes away the taint that new nodes have.
    Untaint(u32),
    Lease(u32),
    PodStatus(u32),
    PodDelete(u32),
}

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Value,
    /// The uid of the pod, or the name of the node: whom the answer is about.
    pub(crate) subject: Box<str>,
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It was done; the object has this version now.
    Done(u64),
    /// The server said no with this code.
    Refused(u16),
    /// Nothing was heard.
    Lost,
}

impl World {
    /// How many jobs there are that nobody has been told of.
    pub(crate) fn take_fresh(&mut self) -> usize {
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn push_node_job(&mut self, job: Job) {
        self.node_jobs.push_back(job);
        self.fresh += 1;
    }

    /// The next thing to be written.
    pub(crate) fn next_job(&mut self) -> Option<Job> {
        self.node_jobs
            .pop_front()
            .or_else(|| self.pod_jobs.pop_front())
    }

    /// The request for a job, if it still has to be done.
    pub(crate) fn prepare(&mut self, job: &Job, now: Time) -> Option<Prepared> {
        match job {
            Job::Register(name) => self.prepare_node(name, now),
            Job::Adopt(name) => self.prepare_adoption(name),
            Job::NodeStatus(id) => self.prepare_node_status(*id, now),
            Job::Untaint(id) => self.prepare_untaint(*id),
            Job::Lease(id) => self.prepare_lease(*id, now),
            Job::PodStatus(id) => self.prepare_status(*id),
            Job::PodDelete(id) => self.prepare_deletion(*id),
        }
    }

    fn prepare_node_status(&mut self, id: u32, now: Time) -> Option<Prepared> {
        let node = self.nodes.get_mut(id)?;
        node.is_status_queued = false;
        if node.is_silent() {
            return None;
        }
        let more = match node.is_real {
            true => &self.config.conditions[..],
            false => &[],
        };
        let facts = Facts {
            host: node.host,
            more,
        };
        let mut body = status_patch(&node.object, &facts, now);
        let kubelet = self.config.kubelet;
        if let Some(kubelet) = kubelet.filter(|kubelet| !is_reached_at(&node.object, *kubelet)) {
            for (field, value) in reached_at(kubelet, &[json!({"$patch": "replace"})]) {
                body["status"][field] = value;
            }
        }
        // A manifest says how large the node is, whatever it was before.
        let manifest = self.manifests.get(&node.name);
        if let Some(wanted) = manifest.and_then(|manifest| manifest.status.as_ref()) {
            for (field, room) in [
                ("capacity", wanted.capacity.as_ref()),
                ("allocatable", wanted.allocatable.as_ref()),
            ] {
                if let Some(room) = room {
                    body["status"][field] = serde_json::to_value(room).ok()?;
                }
            }
        }
        Some(Prepared {
            method: "PATCH",
            path: format!("/api/v1/nodes/{}/status", node.name),
            content_type: STRATEGIC,
            body,
            subject: node.name.clone(),
        })
    }

    fn prepare_lease(&mut self, id: u32, now: Time) -> Option<Prepared> {
        let node = self.nodes.get_mut(id)?;
        node.is_lease_queued = false;
        if node.is_silent() {
            return None;
        }
        let name = &node.name;
        let at = Timestamp::from_nanosecond(now.as_nanos().into()).unwrap_or_default();
        let spec = json!({
            "holderIdentity": &**name,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": format!("{at:.6}"),
        });
        let subject = name.clone();
        if node.has_lease {
            return Some(Prepared {
                method: "PATCH",
                path: format!("{LEASES}/{name}"),
                content_type: MERGE,
                body: json!({"spec": spec}),
                subject,
            });
        }
        let uid = node.object.metadata.uid.as_deref();
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": &**name, "uid": uid});
        let metadata = json!({
            "name": &**name,
            "namespace": "kube-node-lease",
            "ownerReferences": [owner],
        });
        let kind = "coordination.k8s.io/v1";
        Some(Prepared {
            method: "POST",
            path: LEASES.to_owned(),
            content_type: JSON,
            body: json!({"apiVersion": kind, "kind": "Lease", "metadata": metadata, "spec": spec}),
            subject,
        })
    }

    fn prepare_status(&mut self, id: u32) -> Option<Prepared> {
        let entry = self.pods.get_mut(id).filter(|entry| entry.is_queued)?;
        entry.is_queued = false;
        let home = self.nodes.get(entry.node)?;
        if home.is_silent() {
            return None;
        }
        let host = home.host;
        let pod = self.pods.get(id).and_then(|entry| self.object(entry))?;
        let entry = self.pods.get_mut(id)?;
        let specs = specs(&pod);
        entry.is_in_flight = true;
        entry.is_dirty = false;
        Some(Prepared {
            method: "PATCH",
            path: pod_path(&entry.key.namespace, &entry.key.name, "/status"),
            content_type: STRATEGIC,
            body: status::patch(&entry.sim, &pod, &specs, host),
            subject: entry.sim.uid.clone(),
        })
    }

    fn prepare_deletion(&mut self, id: u32) -> Option<Prepared> {
        let entry = self.pods.get_mut(id).filter(|entry| entry.is_queued)?;
        entry.is_queued = false;
        if self.nodes.get(entry.node)?.is_silent() {
            return None;
        }
        entry.is_in_flight = true;
        let uid = &*entry.sim.uid;
        Some(Prepared {
            method: "DELETE",
            path: pod_path(&entry.key.namespace, &entry.key.name, ""),
            content_type: JSON,
            body: json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": uid},
            }),
            subject: uid.into(),
        })
    }

    /// A request has been answered, or has not.
    pub(crate) fn done(&mut self, job: &Job, subject: &str, outcome: Outcome, now: Time) {
        match job {
            Job::PodStatus(id) | Job::PodDelete(id) => {
                let is_it = |entry: &&mut super::Entry| *entry.sim.uid == *subject;
                if self.pods.get_mut(*id).filter(is_it).is_some() {
                    let is_deletion = matches!(job, Job::PodDelete(_));
                    self.pod_written(*id, is_deletion, outcome, now);
                }
            }
            Job::Lease(id) => {
                let node = self
                    .nodes
                    .get_mut(*id)
                    .filter(|node| *node.name == *subject);
                if let Some(node) = node {
                    match outcome {
                        Outcome::Done(_) | Outcome::Refused(409) => node.has_lease = true,
                        Outcome::Refused(404) if node.has_lease => {
                            node.has_lease = false;
                            self.queue_lease(*id);
                        }
                        // The next heartbeat comes soon enough.
                        Outcome::Refused(_) | Outcome::Lost => {}
                    }
                }
            }
            Job::Register(_) | Job::Adopt(_) | Job::NodeStatus(_) => {
                let is_open = matches!(outcome, Outcome::Lost | Outcome::Refused(429 | 500..));
                if is_open {
                    self.later.push_back((now + RETRY, job.clone()));
                }
            }
            // If the node is another one now, that is told.
            Job::Untaint(_) => {}
        }
    }

    fn pod_written(&mut self, id: u32, is_deletion: bool, outcome: Outcome, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        entry.is_in_flight = false;
        match outcome {
            Outcome::Done(version) => {
                entry.failures = 0;
                entry.again = None;
                entry.is_gone |= is_deletion;
                if !is_deletion {
                    entry.written = entry.written.max(version);
                }
                self.enqueue(id);
            }
            // It is gone, or another one has its name: the watch will tell.
            Outcome::Refused(404) => entry.is_gone = true,
            Outcome::Refused(409) if is_deletion => entry.is_gone = true,
            // It will not be taken another time either.
            Outcome::Refused(400 | 422) => {}
            Outcome::Refused(_) | Outcome::Lost => {
                entry.is_dirty |= !is_deletion;
                self.retry(id, now);
            }
        }
    }

    /// Queues what has to be written of a pod: its status, or its end.
    pub(super) fn enqueue(&mut self, id: u32) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        if entry.is_queued || entry.is_in_flight || (entry.failures > 0 && entry.again.is_some()) {
            return;
        }
        let job = match (entry.is_dirty, entry.sim.stage) {
            (true, _) => Job::PodStatus(id),
            (false, Stage::Finished) if entry.is_deleted && !entry.is_gone => Job::PodDelete(id),
            _ => return,
        };
        entry.is_queued = true;
        self.pod_jobs.push_back(job);
        self.fresh += 1;
    }

    /// A write failed and has to be tried again after a while.
    pub(super) fn retry(&mut self, id: u32, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        entry.failures = (entry.failures + 1).min(6);
        let pause = Duration::from_millis(500 << entry.failures);
        entry.again = Some(now + pause);
        let at = [entry.timer, entry.again].into_iter().flatten().min();
        self.timers.set(id, &mut entry.timer, at);
    }
}
