//! NodeName. Upstream's `pkg/scheduler/framework/plugins/nodename`.

use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, Cx, EnqueueExtensions, EventResource, Filter, FilterState, Fit, Plugin,
    PluginBuilder, Reads, Registration, Scope, Status,
};
use crate::model::Pod;

/// The plugin: a pod that names its node goes nowhere else.
#[derive(Clone, Debug, Default)]
pub struct NodeName;

impl NodeName {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeName {
    type FilterState = ();
    type ScoreState = ();
}

impl Filter for NodeName {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        match pod.node_name {
            Some(name) if name != node.node.name => Err(Status::unresolvable(
                "node(s) didn't match the requested node name",
            )),
            _ => Ok(()),
        }
    }
}

impl FilterState<NodeName> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, _plugin: &NodeName, pod: &Pod) -> Option<Reads> {
        // Names tell all nodes apart.
        pod.node_name.is_none().then(Reads::default)
    }
}

impl EnqueueExtensions for NodeName {
    fn events(&self) -> Vec<Registration> {
        vec![Registration::always(EventResource::Node, Action::ADD)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn a_pod_without_a_name_goes_anywhere() {
        let mut world = World::default();
        let node = world.node("a", &[]);
        world.add_node(node);
        let mut pod = world.pod("ns/p", &[]);
        for (name, fits) in [(None, true), (Some("a"), true), (Some("b"), false)] {
            pod.node_name = name.map(|name| world.sym(name));
            let fit = NodeName.filter(world.cx(), &(), &pod, &world.snapshot.nodes()[0]);
            assert_eq!(fit.is_ok(), fits, "{name:?}");
        }
    }
}
