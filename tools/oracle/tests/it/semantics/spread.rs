//! Topology spread: 19 to 22.

use super::world::{World, all, node, on, pod, verdict, winners};
use serde_json::{Value, json};

fn zoned(name: &str, zone: &str) -> Value {
    node(name, json!({"metadata": {"labels": {"zone": zone}}}))
}

fn constraint(key: &str, when: &str, extra: Value) -> Value {
    let base = json!({
        "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    all([base, extra])
}

/// A pod labelled `app: web` with these constraints.
fn web(constraints: &[Value]) -> Value {
    pod(
        "p",
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"topologySpreadConstraints": constraints}}),
    )
}

fn running(node: &str, name: &str, extra: Value) -> Value {
    on(
        node,
        name,
        all([json!({"metadata": {"labels": {"app": "web"}}}), extra]),
    )
}

const SKEWED: &str =
    "PodTopologySpread Unschedulable: node(s) didn't match pod topology spread constraints";

#[test]
fn semantic_19_an_empty_selector_counts_nobody() {
    let world = World::new(
        [zoned("a", "z1"), zoned("b", "z2")],
        [running("a", "x", json!({})), running("a", "y", json!({}))],
    );
    let hard = |selector: Value| {
        let mut hard = constraint("zone", "DoNotSchedule", json!({}));
        hard["labelSelector"] = selector;
        hard
    };
    let matching = world.decide(web(&[hard(json!({"matchLabels": {"app": "web"}}))]));
    assert_eq!(verdict(&matching, "a"), SKEWED);
    for selector in [json!({}), Value::Null] {
        let decision = world.decide(web(&[hard(selector)]));
        assert_eq!(verdict(&decision, "a"), "fits");
        assert_eq!(verdict(&decision, "b"), "fits");
    }
}

#[test]
fn semantic_20_filter_counts_label_values_and_score_counts_nodes() {
    let host = |name: &str, host: &str| {
        node(
            name,
            json!({"metadata": {"labels": {"kubernetes.io/hostname": host}}}),
        )
    };
    let nodes = [host("a", "twin"), host("b", "twin"), host("c", "alone")];
    let world = World::new(nodes, [running("a", "x", json!({}))]);
    let hard = world.decide(web(&[constraint(
        "kubernetes.io/hostname",
        "DoNotSchedule",
        json!({}),
    )]));
    assert_eq!(
        verdict(&hard, "b"),
        SKEWED,
        "the twin's pod counts for the shared label value"
    );
    let soft = world.decide(web(&[constraint(
        "kubernetes.io/hostname",
        "ScheduleAnyway",
        json!({}),
    )]));
    let scores = &soft["scores"]["PodTopologySpread"];
    assert_eq!(
        scores["b"], scores["c"],
        "the twin's pod does not count for this node"
    );
    assert_ne!(scores["a"], scores["b"]);
}

#[test]
fn semantic_21_who_is_not_counted_and_what_is_no_domain() {
    let hard = || constraint("zone", "DoNotSchedule", json!({}));
    let nodes = || [zoned("a", "z1"), zoned("b", "z2")];
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-03-01T08:00:00Z"}});
    let elsewhere = json!({"metadata": {"namespace": "other"}});
    for uncounted in [leaving, elsewhere] {
        let world = World::new(nodes(), [running("a", "x", uncounted)]);
        assert_eq!(verdict(&world.decide(web(&[hard()])), "a"), "fits");
    }
    // z2 holds only a node that the pod does not select: no domain, so its 0 is no minimum.
    let world = World::new(
        [
            node(
                "a",
                json!({"metadata": {"labels": {"zone": "z1", "disk": "ssd"}}}),
            ),
            zoned("b", "z2"),
        ],
        [running("a", "x", json!({}))],
    );
    let choosy = all([
        web(&[hard()]),
        json!({"spec": {"nodeSelector": {"disk": "ssd"}}}),
    ]);
    assert_eq!(winners(&world.decide(choosy)), ["a"]);
    let ignoring = all([
        web(&[constraint(
            "zone",
            "DoNotSchedule",
            json!({"nodeAffinityPolicy": "Ignore"}),
        )]),
        json!({"spec": {"nodeSelector": {"disk": "ssd"}}}),
    ]);
    assert_eq!(verdict(&world.decide(ignoring), "a"), SKEWED);
    // A node without one of the hard keys counts for none of them.
    let world = World::new(
        [zoned("a", "z1"), zoned("b", "z2")],
        [running("a", "x", json!({}))],
    );
    let two_keys = web(&[hard(), constraint("rack", "DoNotSchedule", json!({}))]);
    assert_eq!(
        verdict(&world.decide(two_keys), "b"),
        "PodTopologySpread UnschedulableAndUnresolvable: \
         node(s) didn't match pod topology spread constraints (missing required label)"
    );
}

#[test]
fn semantic_22_scores_weigh_by_domains_and_nodes_without_the_key_get_nothing() {
    let soft = || constraint("zone", "ScheduleAnyway", json!({}));
    let world = World::new(
        [
            zoned("a", "z1"),
            zoned("b", "z2"),
            node("keyless", json!({})),
        ],
        [
            running("a", "x", json!({})),
            running("a", "y", json!({})),
            running("b", "z", json!({})),
        ],
    );
    // ln(2 + 2) per pod: a 2 * 1.386 -> 3, b 1.386 -> 1; normalised 100 * (3 + 1 - s) / 3.
    let decision = world.decide(web(&[soft()]));
    assert_eq!(
        decision["scores"]["PodTopologySpread"],
        json!({"a": 33, "b": 100, "keyless": 0})
    );
}

#[test]
fn semantic_22_system_defaults_need_an_owner_selector() {
    let nodes = || [zoned("a", "z1"), zoned("b", "z2")];
    let ownerless = World::new(nodes(), [running("a", "x", json!({}))]).decide(web(&[]));
    assert!(
        ownerless["skipped_score"]
            .as_array()
            .unwrap()
            .contains(&json!("PodTopologySpread"))
    );
    let service = json!([{"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}]);
    let owned = World::new(nodes(), [running("a", "x", json!({}))])
        .with("services", service)
        .decide(web(&[]));
    let scores = &owned["scores"]["PodTopologySpread"];
    assert!(
        scores["b"].as_i64() > scores["a"].as_i64(),
        "nodes without a zone label are scored, too: {scores}"
    );
}
