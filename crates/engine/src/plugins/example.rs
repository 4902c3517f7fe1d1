//! NamespaceLimit: no more than so many pods of one namespace on a node.

use crate::NodeInfo;
use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{AnyPlugin, Cx, Filter, Fit, Plugin, PluginBuilder, Status};
use crate::model::Pod;

/// `NamespaceLimitArgs`.
#[derive(Clone, Debug)]
pub struct NamespaceLimitArgs {
    /// `maxPods`.
    pub max_pods: i32,
}

impl Default for NamespaceLimitArgs {
    fn default() -> Self {
        Self { max_pods: 10 }
    }
}

impl Args for NamespaceLimitArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let max_pods = fields.get("maxPods", Self::default().max_pods)?;
        fields.check(max_pods > 0, "maxPods", max_pods, "must be greater than 0");
        Ok(Self { max_pods })
    }
}

/// The plugin.
pub struct NamespaceLimit {
    args: NamespaceLimitArgs,
}

impl NamespaceLimit {
    /// The plugin at its extension points.
    pub fn build(args: NamespaceLimitArgs) -> AnyPlugin {
        PluginBuilder::new(Self { args }).filter().build()
    }
}

impl Plugin for NamespaceLimit {
    type FilterState = ();
    type ScoreState = ();
}

impl Filter for NamespaceLimit {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        let alike = node.pods.iter().filter(|p| p.namespace == pod.namespace);
        let max = usize::try_from(self.args.max_pods).unwrap_or(0);
        match alike.count() < max {
            true => Ok(()),
            false => Err(Status::unschedulable(
                "node(s) had too many pods of the namespace",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn a_namespace_has_its_limit_on_every_node() {
        let mut world = World::default();
        let node = world.node("n", &[]);
        world.add_node(node);
        let running = world.pod("shop/running", &[]);
        world.add_pod(running, "n");
        let args = NamespaceLimitArgs { max_pods: 1 };
        let plugin = NamespaceLimit { args };
        for (name, fits) in [("shop/new", false), ("other/new", true)] {
            let pod = world.pod(name, &[]);
            let fit = plugin.filter(world.cx(), &(), &pod, &world.snapshot.nodes()[0]);
            assert_eq!(fit.is_ok(), fits, "{name}");
        }
    }
}
