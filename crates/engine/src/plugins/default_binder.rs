//! DefaultBinder. Upstream's `pkg/scheduler/framework/plugins/defaultbinder`.

use crate::framework::{AnyPlugin, Bind, Cx, Effect, PluginBuilder};
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::Sym;

/// The plugin: binds through the API.
#[derive(Clone, Debug, Default)]
pub struct DefaultBinder;

impl DefaultBinder {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self).bind().build()
    }
}

impl Bind for DefaultBinder {
    fn bind(&self, _cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Effect> {
        Some(Effect::Bind {
            pod: pod.clone(),
            node,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn binds_every_pod() {
        let mut world = World::default();
        let pod = Arc::new(world.pod("ns/p", &[]));
        let node = world.sym("n");
        let bound = DefaultBinder.bind(world.cx(), &pod, node);
        assert!(matches!(bound, Some(Effect::Bind { node: to, .. }) if to == node));
    }
}
