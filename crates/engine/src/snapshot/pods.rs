//! Pods: those that the API lists, and those that count on a node.

use super::Snapshot;
use super::label_groups::LabelGroupId;
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::Sym;

/// A pod that counts on a node. An assumed one does not know its node itself.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pod: Arc<Pod>,
    node: Sym,
    /// Its label group, and its position in there.
    label_group: LabelGroupId,
    place: u32,
    /// Whether the API does not say so yet.
    assumed: bool,
}

impl Snapshot {
    /// The assigned or assumed pod of this uid. An assumed one has no `node_name` of its own.
    pub fn pod(&self, uid: &str) -> Option<&Arc<Pod>> {
        self.pods.get(uid).map(|placed| &placed.pod)
    }

    /// The node that the assigned or assumed pod of this uid counts on, existing or not.
    pub fn node_of_pod(&self, uid: &str) -> Option<Sym> {
        self.pods.get(uid).map(|placed| placed.node)
    }

    /// Whether the pod of this uid counts on a node though the API does not say so yet.
    pub fn is_assumed(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|placed| placed.assumed)
    }

    /// Whether the API says too that the pod of this uid is on a node.
    pub fn is_confirmed(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|placed| !placed.assumed)
    }

    /// The pod of this name as the API has it, pending or assigned.
    pub fn listed_pod(&self, namespace: Sym, name: Sym) -> Option<&Arc<Pod>> {
        self.listed_pods.get(&(namespace, name))
    }

    /// Keeps what the API says of a pod, without putting it on a node; returns what it replaced.
    pub fn list_pod(&mut self, pod: Arc<Pod>) -> Option<Arc<Pod>> {
        self.listed_pods.insert((pod.namespace, pod.name), pod)
    }

    /// The API has no pod of this name any more; returns what it was.
    pub fn unlist_pod(&mut self, namespace: Sym, name: Sym) -> Option<Arc<Pod>> {
        self.listed_pods.remove(&(namespace, name))
    }

    /// Lets a pod count on the node that it names, or nowhere; returns what it replaced.
    pub(super) fn upsert_pod(&mut self, pod: Arc<Pod>) -> Option<Arc<Pod>> {
        match pod.node_name {
            Some(node) if !pod.finished => self.place_pod(pod, node, false),
            _ => self.remove_pod(&pod.uid),
        }
    }

    /// Lets a pod count on a node before the API says so; returns what it replaced.
    pub fn assume_pod(&mut self, pod: Arc<Pod>, node: Sym) -> Option<Arc<Pod>> {
        self.place_pod(pod, node, true)
    }

    /// As [`assume_pod`](Self::assume_pod) on the node of this name, which stands at this position if
    /// it exists; unless the pod counts somewhere already. Returns whether it did not.
    pub(crate) fn assume_new_pod(
        &mut self,
        pod: &Arc<Pod>,
        node: Sym,
        position: Option<usize>,
    ) -> bool {
        self.place_new_pod(pod, (node, position), true)
    }

    /// The API says on which node a pod is: lets it count there, unless it was said before.
    pub(crate) fn confirm_pod(&mut self, pod: &Arc<Pod>, node: Sym) {
        match self.pods.get_mut(&pod.uid) {
            Some(placed) if !placed.assumed => {}
            Some(placed) if placed.node == node && looks_alike(&placed.pod, pod) => {
                placed.assumed = false;
                let old = std::mem::replace(&mut placed.pod, pod.clone());
                self.swap_pod(&old, pod, node);
            }
            _ => {
                self.place_pod(pod.clone(), node, false);
            }
        }
    }

    fn place_pod(&mut self, pod: Arc<Pod>, node: Sym, assumed: bool) -> Option<Arc<Pod>> {
        let old = match self.pods.get_mut(&pod.uid) {
            None => None,
            Some(placed) if placed.node == node && looks_alike(&placed.pod, &pod) => {
                placed.assumed = assumed;
                let old = std::mem::replace(&mut placed.pod, pod.clone());
                self.swap_pod(&old, &pod, node);
                return Some(old);
            }
            Some(_) => self.remove_pod(&pod.uid),
        };
        let position = self.node_position(node);
        self.place_new_pod(&pod, (node, position), assumed);
        old
    }

    /// Lets a pod count on a node, given by its name and its position, unless it counts somewhere
    /// already; returns whether it did not.
    fn place_new_pod(
        &mut self,
        pod: &Arc<Pod>,
        (node, position): (Sym, Option<usize>),
        assumed: bool,
    ) -> bool {
        debug_assert_eq!(position, self.node_position(node));
        let (table, mut new_label_group) = (&mut self.label_group, None);
        self.pods.or_insert_with(pod.uid.clone(), || {
            let (label_group, place) = table.add(pod, node);
            new_label_group = Some(label_group);
            Placed {
                pod: pod.clone(),
                node,
                label_group,
                place,
                assumed,
            }
        });
        let Some(label_group) = new_label_group else {
            return false;
        };
        self.priorities.add(pod.priority);
        self.read_keys.add_terms(pod);
        match position {
            Some(at) => {
                self.note_pod(at, pod, label_group, true);
                self.nodes[at].add_pod(pod.clone());
                self.read_summary(at);
                self.note_pod_volumes(at, pod, true);
            }
            None => self.orphans.entry(node).or_default().push(pod.clone()),
        }
        true
    }

    /// Replaces a pod on a node by a newer version of it that looks the same to everybody.
    fn swap_pod(&mut self, old: &Arc<Pod>, new: &Arc<Pod>, node: Sym) {
        match self.node_position(node) {
            Some(at) => self.nodes[at].swap_pod(old, new),
            None => {
                let pods = self.orphans.get_mut(&node).into_iter().flatten();
                swap(pods, old, new);
            }
        }
    }

    /// Takes an assigned or assumed pod out; returns it.
    pub fn remove_pod(&mut self, uid: &str) -> Option<Arc<Pod>> {
        let Placed {
            pod,
            node,
            label_group,
            place,
            ..
        } = self.pods.remove(uid)?;
        self.leave_label_group(label_group, place);
        self.priorities.remove(pod.priority);
        match self.node_position(node) {
            Some(at) => {
                self.note_pod(at, &pod, label_group, false);
                self.nodes[at].remove_this_pod(&pod);
                self.read_summary(at);
                self.note_pod_volumes(at, &pod, false);
            }
            None => {
                if let Some(pods) = self.orphans.get_mut(&node) {
                    pods.retain(|p| !Arc::ptr_eq(p, &pod));
                    if pods.is_empty() {
                        self.orphans.remove(&node);
                    }
                }
            }
        }
        self.tidy_label_group();
        Some(pod)
    }
}

impl Snapshot {
    /// Takes the pod at this place out of its label group.
    fn leave_label_group(&mut self, label_group: LabelGroupId, place: u32) {
        let moved = self.label_group.remove(label_group, place);
        if let Some(placed) = moved.and_then(|uid| self.pods.get_mut(&uid)) {
            placed.place = place;
        }
    }

    /// Tidies the table of label groups up, now and then.
    pub(super) fn tidy_label_group(&mut self) {
        if self.label_group.is_sparse() {
            self.compact_label_group();
        }
    }

    /// Forgets label groups without pods.
    pub(super) fn compact_label_group(&mut self) {
        for (uid, label_group, place) in self.label_group.compact() {
            if let Some(placed) = self.pods.get_mut(&uid) {
                (placed.label_group, placed.place) = (label_group, place);
            }
        }
        // What is logged speaks of label groups by their old numbers.
        self.log.forget();
    }
}

/// Puts `new` in the place of `old`, if it is there. Most often it came lately: the last are looked
/// at first.
pub(super) fn swap<'a>(
    pods: impl IntoIterator<Item = &'a mut Arc<Pod>, IntoIter: DoubleEndedIterator>,
    old: &Arc<Pod>,
    new: &Arc<Pod>,
) {
    if let Some(pod) = pods.into_iter().rfind(|pod| Arc::ptr_eq(pod, old)) {
        *pod = new.clone();
    }
}

/// Whether two versions of a pod are the same to rules that look at it on its node: only the
/// object's version, and what the pod says of its place, may differ.
fn looks_alike(old: &Pod, new: &Pod) -> bool {
    // Taken apart so that a new field cannot be forgotten.
    let Pod {
        key: _,
        namespace,
        name,
        uid,
        resource_version: _,
        labels,
        controller,
        terminating,
        node_name: _,
        nominated_node_name: _,
        scheduler_name,
        priority,
        never_preempts,
        start_time,
        preempted_by_scheduler,
        finished,
        scheduling_gates,
        tolerations,
        node_selector,
        node_affinity,
        pod_affinity,
        pod_anti_affinity,
        affinity_error,
        spread_constraints,
        host_ports,
        requests,
        images,
        container_count,
        volumes,
        resource_claims,
        extended_resource_claim,
        claim_statuses,
        required_features,
    } = old;
    let status = (
        terminating,
        start_time,
        preempted_by_scheduler,
        finished,
        extended_resource_claim,
        claim_statuses,
    );
    let new_status = (
        &new.terminating,
        &new.start_time,
        &new.preempted_by_scheduler,
        &new.finished,
        &new.extended_resource_claim,
        &new.claim_statuses,
    );
    (namespace, name, uid) == (&new.namespace, &new.name, &new.uid)
        && status == new_status
        && labels == &new.labels
        && controller == &new.controller
        && scheduler_name == &new.scheduler_name
        && priority == &new.priority
        && never_preempts == &new.never_preempts
        && requests == &new.requests
        && host_ports == &new.host_ports
        && volumes == &new.volumes
        && resource_claims == &new.resource_claims
        && pod_affinity == &new.pod_affinity
        && pod_anti_affinity == &new.pod_anti_affinity
        && affinity_error == &new.affinity_error
        && spread_constraints == &new.spread_constraints
        && tolerations == &new.tolerations
        && node_selector == &new.node_selector
        && node_affinity == &new.node_affinity
        && scheduling_gates == &new.scheduling_gates
        && images == &new.images
        && container_count == &new.container_count
        && required_features == &new.required_features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Object, PodAffinity, ResourceId};
    use crate::testing::World;

    /// Nodes `a` and `b`, and a pod of one cpu with an empty anti-affinity stanza, assumed on `a`.
    fn assumed() -> (World, Arc<Pod>) {
        let mut world = World::default();
        for name in ["a", "b"] {
            let node = world.node(name, &[]);
            world.add_node(node);
        }
        let mut pod = world.pod("ns/p", &[("app", "web")]);
        pod.pod_anti_affinity = Some(PodAffinity::default());
        world.set_requests(&mut pod, &[("cpu", "1")]);
        let pod = Arc::new(pod);
        let node = world.sym("a");
        world.snapshot.assume_pod(pod.clone(), node);
        (world, pod)
    }

    /// What the API says of the pod: another object, on node `node`.
    fn echo(world: &mut World, pod: &Pod, node: &str) -> Pod {
        Pod {
            node_name: Some(world.sym(node)),
            resource_version: "2".into(),
            ..pod.clone()
        }
    }

    /// The cpu in use on both nodes.
    fn used(world: &World) -> [i64; 2] {
        let cpu = |at: usize| world.snapshot.nodes()[at].requested.get(ResourceId::CPU);
        [cpu(0), cpu(1)]
    }

    #[test]
    fn what_the_api_says_of_an_assumed_pod_takes_its_place() {
        let (mut world, pod) = assumed();
        assert_eq!(used(&world), [1000, 0]);
        assert!(world.snapshot.is_assumed(&pod.uid));
        let other = Arc::new(world.pod("ns/other", &[]));
        let node = world.sym("a");
        world.snapshot.assume_pod(other, node);
        let confirmed = Arc::new(echo(&mut world, &pod, "a"));
        let old = world.snapshot.upsert(Object::Pod(confirmed.clone()));
        assert!(old.is_some_and(|old| old.is_same(&Object::Pod(pod.clone()))));
        assert_eq!(used(&world), [1000, 0]);
        let info = &world.snapshot.nodes()[0];
        assert!(Arc::ptr_eq(&info.pods[0], &confirmed), "where it was");
        assert!(Arc::ptr_eq(&info.pods_with_affinity[0], &confirmed));
        assert_eq!(world.snapshot.node_of_pod(&pod.uid), Some(node));
        assert!(!world.snapshot.is_assumed(&pod.uid));
        world.snapshot.remove_pod(&pod.uid);
        assert_eq!(used(&world), [0, 0]);
        assert!(world.snapshot.nodes()[0].pods_with_affinity.is_empty());
    }

    #[test]
    fn a_change_that_counts_is_counted() {
        let (mut world, pod) = assumed();
        let mut bigger = echo(&mut world, &pod, "a");
        world.set_requests(&mut bigger, &[("cpu", "2")]);
        world.snapshot.upsert(Object::Pod(Arc::new(bigger)));
        assert_eq!(used(&world), [2000, 0]);
        let elsewhere = echo(&mut world, &pod, "b");
        world.snapshot.upsert(Object::Pod(Arc::new(elsewhere)));
        assert_eq!(used(&world), [0, 1000]);
        let finished = Pod {
            finished: true,
            ..echo(&mut world, &pod, "b")
        };
        world.snapshot.upsert(Object::Pod(Arc::new(finished)));
        assert_eq!(used(&world), [0, 0]);
        assert!(world.snapshot.pod(&pod.uid).is_none());
    }

    #[test]
    fn an_assumed_pod_waits_for_its_node_and_survives_it() {
        let (mut world, pod) = assumed();
        let (a, b) = (world.sym("a"), world.sym("b"));
        world
            .snapshot
            .remove(crate::model::Kind::Node, Sym::EMPTY, a);
        let confirmed = Arc::new(echo(&mut world, &pod, "a"));
        world.snapshot.upsert(Object::Pod(confirmed.clone()));
        let node = world.node("a", &[]);
        world.add_node(node);
        assert_eq!(world.snapshot.node_position(b), Some(0));
        assert_eq!(used(&world), [0, 1000]);
        assert!(Arc::ptr_eq(&world.snapshot.nodes()[1].pods[0], &confirmed));
        world.snapshot.remove_pod(&pod.uid);
        assert_eq!(used(&world), [0, 0]);
    }
    #[test]
    fn a_pod_is_assumed_once() {
        let (mut world, pod) = assumed();
        let b = world.sym("b");
        let at = world.snapshot.node_position(b);
        assert!(!world.snapshot.assume_new_pod(&pod, b, at));
        assert_eq!(used(&world), [1000, 0], "it stays where it is");
        world.snapshot.remove_pod(&pod.uid);
        assert!(world.snapshot.assume_new_pod(&pod, b, at));
        assert_eq!(used(&world), [0, 1000]);
    }

    #[test]
    fn the_api_says_once_where_a_pod_is() {
        let (mut world, pod) = assumed();
        let (a, b) = (world.sym("a"), world.sym("b"));
        let confirmed = Arc::new(echo(&mut world, &pod, "a"));
        world.snapshot.confirm_pod(&confirmed, a);
        assert!(world.snapshot.is_confirmed(&pod.uid));
        let elsewhere = Arc::new(echo(&mut world, &pod, "b"));
        world.snapshot.confirm_pod(&elsewhere, b);
        assert_eq!(used(&world), [1000, 0], "that is for updates to tell");
        world.snapshot.remove_pod(&pod.uid);
        world.snapshot.confirm_pod(&elsewhere, b);
        assert_eq!(used(&world), [0, 1000], "nobody assumed it");
    }
}
