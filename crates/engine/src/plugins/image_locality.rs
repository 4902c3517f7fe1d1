//! ImageLocality. Upstream's `pkg/scheduler/framework/plugins/imagelocality`.

use crate::framework::{
    AnyPlugin, Cx, MAX_NODE_SCORE, NodePart, Plugin, PluginBuilder, Reads, Scope, Score, ScoreState,
};
use crate::model::Pod;
use crate::{ImageState, NodeInfo};
use stowplan_base::Sym;

const MIB: i64 = 1024 * 1024;
/// Images that are smaller together than this are worth nothing.
const MIN_THRESHOLD: i64 = 23 * MIB;
/// Images that are larger together than this for every container are worth no more.
const MAX_CONTAINER_THRESHOLD: i64 = 1000 * MIB;

/// The plugin: prefers nodes that hold the pod's images already, the more so the larger they are.
#[derive(Clone, Debug, Default)]
pub struct ImageLocality;

/// The size of an image, less the fewer nodes hold it: otherwise pods would heap up on the one
/// node that has it.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn scaled_size(image: &ImageState, nodes: usize) -> i64 {
    let spread = image.nodes as f64 / nodes as f64;
    (image.size_bytes as f64 * spread) as i64
}

fn priority(sum: i64, containers: u32) -> i64 {
    let max_threshold = MAX_CONTAINER_THRESHOLD * i64::from(containers);
    let sum = if sum < MIN_THRESHOLD {
        MIN_THRESHOLD
    } else {
        sum.min(max_threshold)
    };
    MAX_NODE_SCORE * (sum - MIN_THRESHOLD) / (max_threshold - MIN_THRESHOLD)
}

impl ImageLocality {
    /// The score of a node that holds those of the pod's images.
    fn score_of(cx: Cx<'_>, pod: &Pod, holds: impl Fn(usize, Sym) -> bool) -> i64 {
        let nodes = cx.cluster.nodes().len();
        let images = pod.images.iter().copied().enumerate();
        let sum = images
            .filter_map(|(i, image)| Some((i, image, cx.cluster.image(image)?)))
            .filter(|(i, image, _)| holds(*i, *image))
            .map(|(_, _, state)| scaled_size(state, nodes))
            .fold(0, i64::wrapping_add);
        priority(sum, pod.container_count)
    }
}

impl ImageLocality {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self).score().score_state().build()
    }
}

impl Plugin for ImageLocality {
    type FilterState = ();
    type ScoreState = ();
}

impl Score for ImageLocality {
    fn score(&self, cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Option<i64> {
        Some(Self::score_of(cx, pod, |_, image| node.holds_image(image)))
    }
}

impl ScoreState<ImageLocality> for () {
    const SCOPE: Scope = Scope::Domains;

    fn label_marks(&self) -> u64 {
        0
    }

    fn is_affected_by(
        &self,
        _plugin: &ImageLocality,
        _cx: Cx<'_>,
        _pod: &Pod,
        _other: &Pod,
    ) -> bool {
        false
    }

    /// Which of the pod's images the node holds, one bit each.
    fn group_key(&self, pod: &Pod, node: &NodeInfo, key: &mut Vec<u64>) {
        for images in pod.images.chunks(64) {
            let held = images.iter().enumerate();
            let held = held.filter(|(_, image)| node.holds_image(**image));
            key.push(held.fold(0, |bits, (i, _)| bits | 1 << i));
        }
    }

    fn reads(&self, _plugin: &ImageLocality, pod: &Pod) -> Option<Reads> {
        Some(Reads::of(pod.images.iter().copied().map(NodePart::Image)))
    }

    fn score_group(&self, cx: Cx<'_>, pod: &Pod, key: &[u64]) -> Option<i64> {
        let is_held = |i: usize, _| key[i / 64] >> (i % 64) & 1 == 1;
        Some(ImageLocality::score_of(cx, pod, is_held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Node, NodeImage};
    use crate::testing::World;

    fn add_node(world: &mut World, name: &str, images: &[(&str, i64)]) {
        let image = |(name, mib): &(&str, i64)| NodeImage {
            names: [world.sym(name)].into(),
            size_bytes: mib * MIB,
        };
        let images = images.iter().map(image).collect();
        let node = Node {
            images,
            ..world.node(name, &[])
        };
        world.add_node(node);
    }

    fn scores(world: &World, pod: &Pod) -> Vec<Option<i64>> {
        let nodes = world.snapshot.nodes().iter();
        nodes
            .map(|node| ImageLocality.score(world.cx(), &(), pod, node))
            .collect()
    }

    /// Semantic 17 of the oracle: the sum is scaled by how many of all nodes hold the image, and
    /// lies between 23 MiB and 1000 MiB per container.
    #[test]
    fn large_images_held_by_many_nodes_are_worth_most() {
        let mut world = World::default();
        add_node(&mut world, "a", &[("web:1", 1000)]);
        add_node(&mut world, "b", &[("web:1", 1000), ("tool:1", 40)]);
        let mut pod = world.pod("ns/p", &[]);
        pod.images = [world.sym("web:1")].into();
        assert_eq!(scores(&world, &pod), [Some(100), Some(100)]);
        pod.images = [world.sym("tool:1")].into();
        assert_eq!(scores(&world, &pod), [Some(0), Some(0)], "40 / 2 < 23");
        pod.images = [world.sym("web:1"), world.sym("tool:1")].into();
        pod.container_count = 2;
        let over = |mib: i64| 100 * (mib - 23) / (2000 - 23);
        assert_eq!(scores(&world, &pod), [Some(over(1000)), Some(over(1020))]);
        add_node(&mut world, "c", &[]);
        assert_eq!(scores(&world, &pod)[0], Some(over(666)));
    }

    #[test]
    fn an_image_is_as_large_as_its_first_node_says() {
        let mut world = World::default();
        add_node(&mut world, "a", &[("web:1", 500)]);
        add_node(&mut world, "b", &[("web:1", 1000)]);
        let mut pod = world.pod("ns/p", &[]);
        pod.images = [world.sym("web:1")].into();
        let over = |mib: i64| 100 * (mib - 23) / (1000 - 23);
        assert_eq!(scores(&world, &pod), [Some(over(500)); 2]);
        // An update is a removal first: while b holds the image too, its size stays.
        add_node(&mut world, "a", &[("web:1", 700)]);
        assert_eq!(scores(&world, &pod), [Some(over(500)); 2]);
        add_node(&mut world, "b", &[]);
        assert_eq!(scores(&world, &pod), [Some(over(250)), Some(0)]);
        add_node(&mut world, "a", &[("web:1", 700)]);
        assert_eq!(scores(&world, &pod), [Some(over(350)), Some(0)]);
    }
}
