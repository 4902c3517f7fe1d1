//! A QueueSort that looks at the cluster: whose team runs fewer pods comes first.

use super::Rig;
use crate::framework::expand;
use crate::framework::{Cx, EnabledPlugin, PluginArgs, PluginBuilder, Plugins, Point, QueueSort};
use crate::model::Pod;
use crate::plugins::registry::in_tree;
use std::cmp::Ordering;
use stowplan_base::{Rng, Time};

struct FewestFirst;

fn running(cx: Cx<'_>, pod: &Pod) -> usize {
    let placed = cx.cluster.nodes().iter().flat_map(|node| &node.pods);
    placed.filter(|other| other.labels == pod.labels).count()
}

impl QueueSort for FewestFirst {
    fn order(&self, cx: Cx<'_>, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        let by_share = running(cx, a.0).cmp(&running(cx, b.0));
        by_share
            .then(a.1.cmp(&b.1))
            .then(a.0.key.name.cmp(&b.0.key.name))
    }

    fn follows_cluster(&self) -> bool {
        true
    }
}

#[test]
fn the_order_follows_what_runs() {
    let mut plugins = Plugins::default_plugins();
    let sort = plugins.at_mut(Point::QueueSort);
    sort.disabled.push("PrioritySort".to_owned());
    sort.enabled.push(EnabledPlugin {
        name: "FewestFirst".to_owned(),
        weight: 0,
    });
    let registry = in_tree().with("FewestFirst", || {
        PluginBuilder::new(FewestFirst).queue_sort().build()
    });
    let framework = expand(
        "default-scheduler",
        &plugins,
        &PluginArgs::default(),
        &registry,
    )
    .expect("a valid profile");
    let mut rig = Rig::with_profiles(vec![framework]);
    rig.at(1_000).node("n", |_, _| {});
    for (name, team) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")] {
        rig.create(name, |world, pod| {
            pod.labels = world.labels(&[("team", team)])
        });
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
        for name in ["a1", "a2", "a3", "b1"] {
            if rig.place(name) == "assumed" && !order.contains(&name) {
                order.push(name);
            }
        }
    }
    assert_eq!(order, ["a1", "b1", "a2", "a3"]);
}
