//! What happens in a history, and the cluster that it happens to.

use super::maker::POD_NAME;
use std::sync::Arc;
use stowplan_base::{Names, Sym};
use stowplan_engine::Snapshot;
use stowplan_engine::framework::Cx;
use stowplan_engine::framework::Underway;
use stowplan_engine::model::{Kind, Labels, Node, Object, Pod};

/// One thing that happens. Every event stands for itself: a history with some of them left out is a
/// history too.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// An object is added or replaced.
    Put(Object),
    /// An object is removed, if it is there.
    Remove(Kind, Sym, Sym),
    /// The pod of this uid leaves its node, if it is on one.
    RemovePod(Arc<str>),
    /// A pending pod counts on a node from now on, though the API does not say so yet.
    Assume(Arc<Pod>, Sym),
    /// A pending pod is promised a node.
    Nominate(Arc<Pod>, Sym),
    /// The pod of this uid is promised nothing any more.
    Denominate(Arc<str>),
    /// A pod comes and goes, so many times.
    Churn(Arc<Pod>, usize),
    /// So many pods come and go one after the other, alike but for their names and one label.
    Parade(Arc<Pod>, usize),
    /// Both paths decide about the pod, in the profile of this number.
    Decide(Arc<Pod>, usize),
}

/// The cluster.
#[derive(Default)]
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    pub(super) underway: Underway,
}

impl World {
    /// An empty cluster that already knows these names.
    pub(super) fn knowing(names: Names) -> Self {
        let mut world = Self::default();
        world.snapshot.names = names;
        world
    }

    pub(super) fn cx(&self) -> Cx<'_> {
        Cx {
            cluster: &self.snapshot,
            underway: &self.underway,
        }
    }

    /// Changes the cluster; a decision changes nothing.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Put(Object::Pod(pod)) => {
                let pod = self.with_columns(pod);
                self.snapshot.upsert(Object::Pod(pod));
            }
            Event::Put(Object::Node(node)) => {
                let node = self.node_with_columns(node);
                self.snapshot.upsert(Object::Node(node));
            }
            Event::Put(object) => {
                self.snapshot.upsert(object.clone());
            }
            Event::Remove(kind, namespace, name) => {
                self.snapshot.remove(*kind, *namespace, *name);
            }
            Event::RemovePod(uid) => {
                self.snapshot.remove_pod(uid);
            }
            Event::Assume(pod, node) => {
                let pod = self.with_columns(pod);
                self.snapshot.assume_pod(pod, *node);
            }
            Event::Nominate(pod, node) => {
                let pod = self.with_columns(pod);
                self.underway.nominator.add(pod, *node);
            }
            Event::Denominate(uid) => self.underway.nominator.remove(uid),
            Event::Churn(pod, times) => {
                let pod = self.with_columns(pod);
                for _ in 0..*times {
                    self.snapshot.upsert(Object::Pod(pod.clone()));
                    self.snapshot.remove_pod(&pod.uid);
                }
            }
            Event::Parade(pod, times) => {
                let pod = self.with_columns(pod);
                for n in 0..*times {
                    let pod = self.marcher(&pod, n);
                    let uid = pod.uid.clone();
                    self.snapshot.upsert(Object::Pod(Arc::new(pod)));
                    self.snapshot.remove_pod(&uid);
                }
            }
            Event::Decide(..) => {}
        }
    }

    fn marcher(&mut self, pod: &Pod, n: usize) -> Pod {
        let text = format!("parade-{n}");
        let names = &mut self.snapshot.names;
        let own = (names.intern(POD_NAME), names.intern(&text));
        Pod {
            name: own.1,
            uid: text.into(),
            labels: Labels::new(pod.labels.iter().chain([own])),
            ..pod.clone()
        }
    }

    /// The pod with its requests as columns. Which resource has which column depends on the order in
    /// which the cluster met them, so this is left until it meets the pod.
    pub(super) fn with_columns(&mut self, pod: &Pod) -> Arc<Pod> {
        let Snapshot {
            names,
            resource_names,
            ..
        } = &mut self.snapshot;
        let mut pod = pod.clone();
        let requests = &mut pod.requests;
        requests.total_columns = resource_names.resources(&requests.total, names);
        requests.spec_columns = resource_names.resources(&requests.spec, names);
        Arc::new(pod)
    }

    fn node_with_columns(&mut self, node: &Node) -> Arc<Node> {
        let Snapshot {
            names,
            resource_names,
            ..
        } = &mut self.snapshot;
        let allocatable = resource_names.resources(&node.allocatable_list, names);
        Arc::new(Node {
            allocatable,
            ..node.clone()
        })
    }
}
