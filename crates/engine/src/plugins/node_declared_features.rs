//! NodeDeclaredFeatures. Upstream's `pkg/scheduler/framework/plugins/nodedeclaredfeatures`.

use super::change::{node_change, pod_change};
use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, NodePart, Plugin, PluginBuilder, PreFilter, PreFilterResult, Reads, Registration,
    Scope, Status,
};
use crate::model::{Object, Pod};

/// The plugin: a pod goes only where the kubelet declares every feature that it needs.
#[derive(Clone, Debug, Default)]
pub struct NodeDeclaredFeatures;

impl NodeDeclaredFeatures {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeDeclaredFeatures {
    type FilterState = ();
    type ScoreState = ();
}

impl PreFilter for NodeDeclaredFeatures {
    fn pre_filter(&self, _cx: Cx<'_>, pod: &Pod) -> PreFilterResult<()> {
        if pod.required_features.is_empty() {
            PreFilterResult::Skip
        } else {
            PreFilterResult::Ready(())
        }
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<(), Status> {
        Err(Status::error(
            "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found",
        ))
    }
}

impl Filter for NodeDeclaredFeatures {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        let declared = |feature| node.node.declared_features.contains(feature);
        if !pod.required_features.iter().all(declared) {
            return Err(Status::unresolvable(
                "node(s) didn't match Pod's required features",
            ));
        }
        Ok(())
    }
}

impl FilterState<NodeDeclaredFeatures> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, _plugin: &NodeDeclaredFeatures, _pod: &Pod) -> Option<Reads> {
        Some(Reads::of([NodePart::Features]))
    }
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::hinted(
                EventResource::Node,
                Action::ADD.or(Action::UPDATE_NODE_DECLARED_FEATURE),
            ),
            Registration::hinted(EventResource::Pod, Action::UPDATE),
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
            node_change(old, new).map(|(old, new)| {
                old.is_none_or(|old| old.declared_features != new.declared_features)
            })
        } else {
            pod_change(old, new).map(|(old, new)| {
                let same = old.is_some_and(|old| old.required_features == new.required_features);
                new.uid == pod.uid && !same
            })
        };
        helps.map_or_else(|unexpected| unexpected, Hint::queue_if)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Node;
    use crate::testing::World;
    use std::sync::Arc;

    fn node(world: &mut World, features: &[&str]) -> Node {
        let declared_features = features.iter().map(|f| world.sym(f)).collect();
        Node {
            declared_features,
            ..world.node("n", &[])
        }
    }

    fn pod(world: &mut World, features: &[&str]) -> Pod {
        let required_features = features.iter().map(|f| world.sym(f)).collect();
        Pod {
            required_features,
            ..world.pod("ns/p", &[])
        }
    }

    /// Semantic 18 of the oracle.
    #[test]
    fn a_node_must_declare_every_needed_feature() {
        let mut world = World::default();
        let needy = pod(&mut world, &["A", "B"]);
        for (features, fits) in [
            (&["A", "B", "C"][..], true),
            (&["A"], false),
            (&["SomethingElse"], false),
        ] {
            let node = NodeInfo::new(Arc::new(node(&mut world, features)));
            let fit = NodeDeclaredFeatures.filter(world.cx(), &(), &needy, &node);
            assert_eq!(fit.is_ok(), fits, "{features:?}");
        }
        let plain = pod(&mut world, &[]);
        let skipped = NodeDeclaredFeatures.pre_filter(world.cx(), &plain);
        assert!(matches!(skipped, PreFilterResult::Skip));
    }

    #[test]
    fn a_change_of_features_helps_on_either_side() {
        let mut world = World::default();
        let needy = pod(&mut world, &["A"]);
        let [on_node, on_pod] = [0, 1].map(|at| NodeDeclaredFeatures.events()[at].event);
        let [bare, able] = [&[][..], &["A"]].map(|f| Object::Node(Arc::new(node(&mut world, f))));
        let [plain, needing] = [&[][..], &["A"]].map(|f| Object::Pod(Arc::new(pod(&mut world, f))));
        let other = Object::Pod(Arc::new(world.pod("ns/q", &[])));
        for (event, old, new, expected) in [
            (on_node, None, &bare, Hint::Queue),
            (on_node, Some(&bare), &able, Hint::Queue),
            (on_node, Some(&able), &bare, Hint::Queue),
            (on_node, Some(&able), &able, Hint::Skip),
            (on_pod, Some(&needing), &plain, Hint::Queue),
            (on_pod, Some(&needing), &needing, Hint::Skip),
            (on_pod, Some(&needing), &other, Hint::Skip),
        ] {
            let hint = NodeDeclaredFeatures.hint(world.cx(), &event, &needy, old, Some(new));
            assert_eq!(hint, expected, "{old:?} {new:?}");
        }
    }
}
