//! NodeUnschedulable. Upstream's `pkg/scheduler/framework/plugins/nodeunschedulable`.

use super::change::{node_change, pod_change};
use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, NodePart, Plugin, PluginBuilder, Reads, Registration, Scope, Status,
};
use crate::model::{Effect, Object, Pod, Taint};
use stowplan_base::{Sym, sym};

/// The plugin: cordoned nodes take only pods that tolerate the taint that stands for it.
#[derive(Clone, Debug, Default)]
pub struct NodeUnschedulable;

/// The taint that a cordoned node bears, whether it was set already or not.
const UNSCHEDULABLE: Taint = Taint {
    key: sym::TAINT_UNSCHEDULABLE,
    value: Sym::EMPTY,
    effect: Effect::NoSchedule,
};

fn tolerates_cordon(pod: &Pod) -> bool {
    pod.tolerations.iter().any(|t| t.tolerates(&UNSCHEDULABLE))
}

impl NodeUnschedulable {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeUnschedulable {
    type FilterState = ();
    type ScoreState = ();
}

impl Filter for NodeUnschedulable {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        if node.node.unschedulable && !tolerates_cordon(pod) {
            return Err(Status::unresolvable("node(s) were unschedulable"));
        }
        Ok(())
    }
}

impl FilterState<NodeUnschedulable> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, _plugin: &NodeUnschedulable, _pod: &Pod) -> Option<Reads> {
        Some(Reads::of([NodePart::Unschedulable]))
    }
}

impl EnqueueExtensions for NodeUnschedulable {
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::hinted(
                EventResource::Node,
                Action::ADD.or(Action::UPDATE_NODE_TAINT),
            ),
            Registration::hinted(EventResource::Pod, Action::UPDATE_POD_TOLERATION),
        ]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let helps = if event.resource == EventResource::Node {
            // A node that was schedulable before cannot be what kept the pod away.
            node_change(old, new)
                .map(|(old, new)| !new.unschedulable && old.is_none_or(|old| old.unschedulable))
        } else {
            pod_change(old, new).map(|(_, new)| new.uid == pod.uid && tolerates_cordon(new))
        };
        helps.map_or_else(|unexpected| unexpected, Hint::queue_if)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Node, Toleration, TolerationOp};
    use crate::testing::World;
    use std::sync::Arc;

    fn toleration(key: Sym, value: Sym) -> Toleration {
        Toleration {
            key,
            op: TolerationOp::Equal,
            value,
            effect: None,
        }
    }

    /// Semantic 15 of the oracle, its first half: the order of plugins does the rest.
    #[test]
    fn a_cordoned_node_takes_only_who_tolerates_it() {
        let mut world = World::default();
        let mut node = world.node("a", &[]);
        node.unschedulable = true;
        world.add_node(node);
        let mut pod = world.pod("ns/p", &[]);
        let fits = |pod: &Pod, world: &World| {
            NodeUnschedulable
                .filter(world.cx(), &(), pod, &world.snapshot.nodes()[0])
                .is_ok()
        };
        assert!(!fits(&pod, &world));
        pod.tolerations = [toleration(sym::TAINT_UNSCHEDULABLE, sym::CPU)].into();
        assert!(!fits(&pod, &world), "the taint has no value");
        pod.tolerations = [toleration(sym::TAINT_UNSCHEDULABLE, Sym::EMPTY)].into();
        assert!(fits(&pod, &world));
    }

    #[test]
    fn uncordoning_helps_and_so_does_a_toleration() {
        let mut world = World::default();
        let mut pod = world.pod("ns/p", &[]);
        let [open, closed] = [false, true].map(|unschedulable| {
            let node = Node {
                unschedulable,
                ..world.node("a", &[])
            };
            Object::Node(Arc::new(node))
        });
        let events = NodeUnschedulable.events();
        let hint = |world: &World, at: usize, pod: &Pod, old, new| {
            NodeUnschedulable.hint(world.cx(), &events[at].event, pod, old, new)
        };
        for (old, new, expected) in [
            (None, &open, Hint::Queue),
            (None, &closed, Hint::Skip),
            (Some(&closed), &open, Hint::Queue),
            (Some(&open), &open, Hint::Skip),
            (Some(&open), &closed, Hint::Skip),
        ] {
            assert_eq!(hint(&world, 0, &pod, old, Some(new)), expected);
        }
        let other = Object::Pod(Arc::new(world.pod("ns/q", &[])));
        assert_eq!(
            hint(&world, 1, &pod, Some(&other), Some(&other)),
            Hint::Skip
        );
        let before = Object::Pod(Arc::new(pod.clone()));
        assert_eq!(
            hint(&world, 1, &pod, Some(&before), Some(&before)),
            Hint::Skip
        );
        pod.tolerations = [toleration(sym::TAINT_UNSCHEDULABLE, Sym::EMPTY)].into();
        let after = Object::Pod(Arc::new(pod.clone()));
        assert_eq!(
            hint(&world, 1, &pod, Some(&before), Some(&after)),
            Hint::Queue
        );
    }
}
