//! PrioritySort. Upstream's `pkg/scheduler/framework/plugins/queuesort`.

use crate::framework::{AnyPlugin, Cx, PluginBuilder, QueueSort};
use crate::model::Pod;
use std::cmp::Ordering;
use stowplan_base::Time;

/// The plugin: higher priority first, then the pod that has waited longer.
#[derive(Clone, Debug, Default)]
pub struct PrioritySort;

impl PrioritySort {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self).queue_sort().build()
    }
}

impl QueueSort for PrioritySort {
    fn order(&self, _cx: Cx<'_>, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        b.0.priority.cmp(&a.0.priority).then(a.1.cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn priority_comes_before_arrival() {
        let mut world = World::default();
        let mut low = world.pod("ns/low", &[]);
        low.priority = -1;
        let high = world.pod("ns/high", &[]);
        let [early, late] = [1, 2].map(Time::from_secs);
        let order = |a, b| PrioritySort.order(world.cx(), a, b);
        assert_eq!(order((&high, late), (&low, early)), Ordering::Less);
        assert_eq!(order((&high, late), (&high, early)), Ordering::Greater);
        assert_eq!(order((&low, early), (&low, early)), Ordering::Equal);
    }
}
