//! Upstream: `gc_controller_test.go`.

use super::*;
use crate::Failure;
use crate::testing::World;

fn pod(name: &str, phase: &str, node: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "n"},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]}, "status": {"phase": phase}})
}

fn names(world: &World) -> String {
    let pods = world.cluster.all::<Pod>();
    let names: Vec<&str> = pods.iter().map(|pod| name(&**pod)).collect();
    names.join(" ")
}

/// Lets it look at everything for so many seconds.
fn settle(world: &mut World, gc: &PodGc, seconds: u64) {
    world.settle(&[gc], Duration::from_secs(seconds));
}

/// `TestGCTerminated`: name, phase and reason of pods, each made a minute after the one before it.
#[test]
fn finished_pods_are_deleted_beyond_the_limit_evicted_and_old_ones_first() {
    for (pods, finished_max, left) in [
        ("a Failed,b Succeeded,c Failed", 1, "c"),
        ("a Failed,b Succeeded", 0, "a b"),
        ("a Running,b Succeeded,c Failed", 1, "a c"),
        ("a Failed,b Succeeded", 1, "b"),
        ("a Failed,b Succeeded", 5, "a b"),
        ("a Failed,b Succeeded,c Failed Evicted", 1, "b"),
        ("a Pending,b Unknown,c Running", 1, "a b c"),
    ] {
        let mut world = World::default();
        world.add_json::<Node>(json!({"metadata": {"name": "node"}}));
        for text in pods.split(',') {
            let parts: Vec<&str> = text.split(' ').collect();
            let mut pod = pod(parts[0], parts[1], "node");
            pod["status"]["reason"] = json!(parts.get(2));
            world.add_json::<Pod>(pod);
            world.pass(Duration::from_secs(60));
        }
        let gc = PodGc::new(finished_max);
        world.join(0, &gc);
        settle(&mut world, &gc, 1);
        assert_eq!(names(&world), left, "{pods}");
        assert!(
            !world
                .take_writes()
                .iter()
                .any(|write| write.starts_with("PATCH"))
        );
    }
}

/// `TestGCUnscheduledTerminating` and `TestGCTerminating`.
#[test]
fn pods_on_their_way_out_that_no_kubelet_sees_are_deleted() {
    for (node, ready, taint, deleting, gone) in [
        ("", "True", "", true, true),
        ("", "True", "", false, false),
        (
            "node",
            "False",
            "node.kubernetes.io/out-of-service",
            true,
            true,
        ),
        (
            "node",
            "Unknown",
            "node.kubernetes.io/out-of-service",
            true,
            true,
        ),
        (
            "node",
            "True",
            "node.kubernetes.io/out-of-service",
            true,
            false,
        ),
        ("node", "False", "node.kubernetes.io/other", true, false),
        (
            "node",
            "False",
            "node.kubernetes.io/out-of-service",
            false,
            false,
        ),
    ] {
        let mut world = World::default();
        world.add_json::<Node>(json!({"metadata": {"name": "node"},
            "spec": {"taints": [{"key": taint, "effect": "NoExecute"}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}}));
        let mut pod = pod("p", "Running", node);
        if deleting {
            pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        }
        world.add_json::<Pod>(pod);
        let gc = PodGc::new(12_500);
        world.join(0, &gc);
        settle(&mut world, &gc, 30);
        assert_eq!(
            names(&world).is_empty(),
            gone,
            "{node} {ready} {taint} {deleting}"
        );
        let patches = world
            .writes
            .iter()
            .filter(|(_, path, _)| path.ends_with("/status"));
        for (_, _, body) in patches {
            assert_eq!(body["status"]["phase"], "Failed");
            assert!(body["status"]["conditions"].is_null());
        }
    }
}

/// `TestGCOrphaned`.
#[test]
fn pods_of_a_missing_node_fail_and_go_after_the_quarantine() {
    let mut world = World::default();
    let gc = PodGc::new(12_500);
    world.join(0, &gc);
    world.add_json::<Node>(json!({"metadata": {"name": "a"}}));
    world.add_json::<Pod>(pod("p", "Running", "a"));
    world.add_json::<Pod>(pod("q", "Succeeded", "a"));
    world.add_json::<Pod>(pod("never", "Pending", "b"));
    settle(&mut world, &gc, 39);
    assert_eq!(names(&world), "never p q");
    settle(&mut world, &gc, 21);
    assert_eq!(names(&world), "p q");
    world.take_writes();
    world.writes.clear();
    world.remove::<Node>("", "a");
    settle(&mut world, &gc, 39);
    assert_eq!(names(&world), "p q");
    settle(&mut world, &gc, 2);
    assert_eq!(names(&world), "");
    let (_, path, body) = &world.writes[1];
    assert_eq!(path, "/api/v1/namespaces/n/pods/p/status");
    assert_eq!(body["status"]["phase"], "Failed");
    let condition = &body["status"]["conditions"][0];
    assert_eq!(condition["reason"], "DeletionByPodGC");
    assert_eq!(condition["message"], "PodGC: node no longer exists");
    assert_eq!(
        world.writes.len(),
        4,
        "a look, a patch, two deletions: {:?}",
        world.writes
    );
}

#[test]
fn a_node_that_comes_back_or_that_the_server_knows_keeps_its_pods() {
    let mut world = World::default();
    let gc = PodGc::new(12_500);
    world.join(0, &gc);
    world.add_json::<Pod>(pod("p", "Running", "a"));
    world.add_json::<Pod>(pod("q", "Running", "b"));
    settle(&mut world, &gc, 10);
    world.add_json::<Node>(json!({"metadata": {"name": "a"}}));
    // The server knows b, whatever was heard.
    let cluster = world.cluster.clone();
    world.add_json::<Node>(json!({"metadata": {"name": "b"}}));
    let node = (*world.get::<Node>("", "b")).clone();
    cluster.of::<Node>().forget(&Key::new("", "b"), uid(&node));
    settle(&mut world, &gc, 100);
    assert_eq!(names(&world), "p q");
    assert!(
        world
            .take_writes()
            .iter()
            .all(|write| write == "PATCH /api/v1/nodes/b")
    );
}

#[test]
fn what_fails_is_tried_again_until_it_is_done() {
    for broken in 0..4 {
        let mut world = World::default();
        let gc = PodGc::new(12_500);
        world.join(0, &gc);
        world.add_json::<Pod>(pod("p", "Running", "a"));
        let mut count = 0;
        world.refuse(move |_| {
            count += 1;
            (count == broken + 1).then(|| Failure {
                code: 500,
                ..Failure::default()
            })
        });
        settle(&mut world, &gc, 60);
        assert_eq!(names(&world), "", "{broken}");
    }
}
