//! The game day of `examples/game-day`: three zones, six replicas, a budget of four, batch work that fills
//! the rest. A zone dies. The whole cluster runs in this process, on a virtual clock.

mod drift;
mod world;

use serde_json::Value;
use world::{World, name, run};

/// Six replicas that are ready, and no room for anything else.
async fn fill(world: &World, plan: &str) {
    world.apply("base.yaml").await;
    world.apply(plan).await;
    world.pass(60).await;
    assert_eq!(world.ready("quorum").await.iter().sum::<usize>(), 6);
    assert_eq!(world.ready("batch").await.iter().sum::<usize>(), 18);
    assert_eq!(world.budget().await, [2, 6, 4]);
}

fn message(pod: &Value) -> &str {
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let scheduled = conditions.find(|condition| condition["type"] == "PodScheduled");
    scheduled
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or_default()
}

#[test]
fn a_published_plan_keeps_its_quorum_and_leaves_two_replicas_pending() {
    run(|world| async move {
        fill(&world, "a-published.yaml").await;
        assert_eq!(world.ready("quorum").await, [2, 2, 2]);

        world.fail("b").await;
        world.pass(300).await;
        assert_eq!(world.ready("quorum").await, [2, 0, 2]);
        assert_eq!(world.budget().await, [0, 4, 4]);
        let pending = world.pending("quorum").await;
        assert_eq!(pending.len(), 2);
        let why = message(&pending[0]);
        // Batch work could be preempted: that is not what keeps the replicas out.
        let expected = "preemption: 0/6 nodes are available: 2 Preemption is not helpful for scheduling, \
                        4 node(s) didn't match pod topology spread constraints.";
        assert!(why.ends_with(expected), "{why}");

        // The dead zone is a domain like any other, and it has the minimum.
        let report = world.explain(name(&pending[0])).await;
        let [spread] = report.spread.as_slice() else {
            panic!("{:?}", report.spread)
        };
        let domains = spread.domains.iter();
        let domains: Vec<_> = domains
            .map(|d| (d.name.as_str(), d.pods, d.counts, d.skew, d.taint.is_some()))
            .collect();
        assert_eq!(
            domains,
            [
                ("a", 2, true, 3, false),
                ("b", 0, true, 1, true),
                ("c", 2, true, 3, false)
            ]
        );
        assert_eq!((spread.minimum, spread.counted_domains), (0, 3));
        assert_eq!((spread.max_skew, spread.min_domains), (1, 3));
        assert_eq!(spread.node_taints_policy, "Ignore");
        assert_eq!(spread.emptiest().map(|d| d.name.as_str()), Some("b"));

        // When the zone is back, so are they.
        world.recover("b").await;
        world.pass(120).await;
        assert_eq!(world.ready("quorum").await, [2, 2, 2]);
        assert_eq!(world.budget().await, [2, 6, 4]);
    });
}

#[test]
fn a_plan_that_honours_taints_comes_back_in_two_zones_and_has_drifted_then() {
    run(|world| async move {
        fill(&world, "b-honor.yaml").await;
        assert_eq!(world.ready("quorum").await, [2, 2, 2]);

        world.fail("b").await;
        let mut least = 6;
        let mut seconds = 0;
        while world.ready("quorum").await != [3, 0, 3] {
            assert!(seconds < 300, "they do not come back");
            world.pass(1).await;
            seconds += 1;
            // The node controller says when pods are not ready any more; the budget counts those.
            least = least.min(world.budget().await[1]);
        }
        // Never below the quorum, and not before the nodes were given up.
        assert_eq!(least, 4);
        assert!(seconds >= 50 + 30, "{seconds}");
        // Two batch pods made room, beside the six of the dead zone.
        assert_eq!(world.ready("batch").await.iter().sum::<usize>(), 10);
        assert_eq!(world.pending("batch").await.len(), 8);
        assert_eq!(world.budget().await, [2, 6, 4]);

        // The zone comes back, and batch work with it. The replicas stay where they are.
        world.recover("b").await;
        world.pass(300).await;
        assert_eq!(world.ready("quorum").await, [3, 0, 3]);
        assert_eq!(world.ready("batch").await.iter().sum::<usize>(), 18);
        let spread = drift::of(&world, "quorum").await;
        assert_eq!(spread.drift, Some(3));
        let pods: Vec<_> = spread.domains.iter().map(|d| (d.pods, d.counts)).collect();
        assert_eq!(pods, [(3, true), (0, true), (3, true)]);
    });
}

#[test]
fn a_soft_plan_that_had_drifted_loses_its_quorum() {
    run(|world| async move {
        world.apply("base.yaml").await;
        world.scale("batch", 0).await;
        world.pass(60).await;
        // Zone b is closed and zone c nearly full: the soft spread takes what it gets.
        world.cordon("b", true).await;
        world.apply("c-before.yaml").await;
        world.pass(60).await;
        world.apply("c-soft.yaml").await;
        world.pass(60).await;
        assert_eq!(world.ready("quorum").await, [5, 0, 1]);
        // Everything is well again, and nobody moves a pod.
        world.cordon("b", false).await;
        world.scale("backlog", 0).await;
        world.scale("batch", 18).await;
        world.pass(60).await;
        assert_eq!(world.ready("quorum").await, [5, 0, 1]);
        assert_eq!(world.budget().await, [2, 6, 4]);
        assert_eq!(drift::of(&world, "quorum").await.drift, Some(5));

        // One zone of three dies, and five of six replicas do. A budget is asked by those who evict;
        // a zone asks nobody.
        world.fail("a").await;
        world.until(|| async { world.budget().await[1] < 6 }).await;
        world.pass(5).await;
        assert_eq!(world.budget().await, [0, 1, 4]);
        assert_eq!(world.ready("quorum").await, [0, 0, 1]);
        // They come back when the nodes are given up, by preempting batch work.
        let lost = world.until(|| async { world.budget().await[1] >= 4 }).await;
        assert!(lost >= 30 - 5, "{lost}");
        world.pass(120).await;
        let [a, b, c] = world.ready("quorum").await;
        assert_eq!((a, b + c), (0, 6));
    });
}
