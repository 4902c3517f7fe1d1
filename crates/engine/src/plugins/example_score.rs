//! PreferLabel: nodes that have a label are better than others.

use crate::NodeInfo;
use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{AnyPlugin, Cx, MAX_NODE_SCORE, Plugin, PluginBuilder, Score};
use crate::model::Pod;

/// `PreferLabelArgs`.
#[derive(Clone, Default, Debug)]
pub struct PreferLabelArgs {
    /// `label`.
    pub label: String,
}

impl Args for PreferLabelArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let label: String = fields.required("label")?;
        fields.check(!label.is_empty(), "label", &*label, "must not be empty");
        Ok(Self { label })
    }
}

/// The plugin.
pub struct PreferLabel {
    args: PreferLabelArgs,
}

impl PreferLabel {
    /// The plugin at its extension points.
    pub fn build(args: PreferLabelArgs) -> AnyPlugin {
        PluginBuilder::new(Self { args }).score().build()
    }
}

impl Plugin for PreferLabel {
    type FilterState = ();
    type ScoreState = ();
}

impl Score for PreferLabel {
    fn score(&self, cx: Cx<'_>, _state: &(), _pod: &Pod, node: &NodeInfo) -> Option<i64> {
        let label = cx.cluster.names.get(&self.args.label);
        match label.is_some_and(|label| node.node.labels.has(label)) {
            true => Some(MAX_NODE_SCORE),
            false => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn nodes_with_the_label_are_better() {
        let mut world = World::default();
        for (name, labels) in [("fast", &[("disk", "ssd")][..]), ("slow", &[])] {
            let node = world.node(name, labels);
            world.add_node(node);
        }
        let pod = world.pod("shop/new", &[]);
        let args = PreferLabelArgs {
            label: "disk".to_owned(),
        };
        let plugin = PreferLabel { args };
        let nodes = world.snapshot.nodes().iter();
        let scores = nodes.map(|node| plugin.score(world.cx(), &(), &pod, node));
        assert_eq!(scores.collect::<Vec<_>>(), [Some(100), Some(0)]);
    }
}
