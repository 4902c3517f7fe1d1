//! Affinity, taints, ports, images and features: 13 to 18; pod affinity: 23 and 24.

use super::world::{World, all, node, on, pod, verdict, winners};
use serde_json::{Value, json};

fn labelled(name: &str, key: &str, value: &str) -> Value {
    node(name, json!({"metadata": {"labels": {key: value}}}))
}

fn preferring(key: &str, operator: &str, value: &str) -> Value {
    json!({"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}},
    ]}}}})
}

fn requiring(terms: Value) -> Value {
    json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": terms,
    }}}}})
}

#[test]
fn semantic_13_a_bad_preferred_term_fails_unless_there_is_no_choice() {
    let bad = || pod("p", preferring("cores", "Gt", "many"));
    let two = World::new([node("a", json!({})), node("b", json!({}))], []);
    assert!(!two.decide(bad())["error"].is_null());
    let one = World::new(
        [
            node("a", json!({})),
            node("b", json!({"spec": {"unschedulable": true}})),
        ],
        [],
    );
    let decision = one.decide(bad());
    assert!(decision["error"].is_null());
    assert!(!decision["score_error"].is_null());
    assert_eq!(winners(&decision), ["a"]);
}

#[test]
fn semantic_13_a_bad_required_term_only_does_not_match() {
    let world = World::new(
        [labelled("a", "disk", "ssd"), labelled("b", "disk", "hdd")],
        [],
    );
    let decision = world.decide(pod(
        "p",
        requiring(json!([
            {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["many"]}]},
            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
        ])),
    ));
    assert_eq!(winners(&decision), ["a"]);
}

#[test]
fn semantic_14_empty_terms_and_conflicting_names() {
    let world = World::new([node("a", json!({})), node("b", json!({}))], []);
    let decision = world.decide(pod("p", requiring(json!([{}]))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector"
    );
    let named = |name: &str| json!({"key": "metadata.name", "operator": "In", "values": [name]});
    let decision = world.decide(pod(
        "p",
        requiring(json!([{"matchFields": [named("a"), named("b")]}])),
    ));
    assert_eq!(
        decision["prefilter"]["reasons"],
        json!(["pod affinity terms conflict"])
    );
    let decision = world.decide(pod(
        "p",
        requiring(json!([
            {"matchFields": [named("a")]},
            {"matchFields": [named("b")]},
        ])),
    ));
    assert_eq!(decision["prefilter_nodes"], json!(["a", "b"]));
    let decision = world.decide(pod(
        "p",
        requiring(json!([
            {"matchFields": [named("a")]},
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]},
        ])),
    ));
    assert!(
        decision["prefilter_nodes"].is_null(),
        "a term without a name lifts the restriction"
    );
    assert_eq!(winners(&decision), ["a", "b"]);
}

#[test]
fn semantic_15_unschedulable_comes_before_taints_and_only_soft_tolerations_score() {
    let taint = |effect: &str| json!({"key": "dedicated", "value": "x", "effect": effect});
    let cordoned = node(
        "cordoned",
        json!({"spec": {"unschedulable": true, "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, taint("NoSchedule"),
        ]}}),
    );
    let soft = node(
        "soft",
        json!({"spec": {"taints": [taint("PreferNoSchedule")]}}),
    );
    let world = World::new([cordoned, soft, node("plain", json!({}))], []);
    let tolerating = |effect: &str| {
        pod(
            "p",
            json!({"spec": {"tolerations": [{"key": "dedicated", "operator": "Exists", "effect": effect}]}}),
        )
    };
    let decision = world.decide(tolerating("NoSchedule"));
    assert_eq!(
        verdict(&decision, "cordoned"),
        "NodeUnschedulable UnschedulableAndUnresolvable: node(s) were unschedulable"
    );
    assert_eq!(
        decision["scores"]["TaintToleration"],
        json!({"soft": 0, "plain": 100})
    );
    let decision = world.decide(tolerating("PreferNoSchedule"));
    assert_eq!(
        decision["scores"]["TaintToleration"],
        json!({"soft": 100, "plain": 100})
    );
}

#[test]
fn semantic_16_wildcard_addresses_and_whose_ports_count() {
    let port =
        |ip: &str| json!([{"containerPort": 80, "hostPort": 80, "hostIP": ip, "protocol": "TCP"}]);
    let serving = |ip: &str| json!({"spec": {"containers": [{"name": "c", "image": "i", "ports": port(ip)}]}});
    let fits = |held: Value, wanted: Value| {
        let world = World::new([node("a", json!({}))], [on("a", "x", held)]);
        !winners(&world.decide(pod("p", wanted))).is_empty()
    };
    assert!(!fits(serving("0.0.0.0"), serving("10.0.0.1")));
    assert!(!fits(serving("10.0.0.1"), serving("")));
    assert!(fits(serving("10.0.0.1"), serving("10.0.0.2")));
    assert!(
        fits(serving("::"), serving("10.0.0.1")),
        ":: is no wildcard"
    );
    let init = |policy: Value| {
        let container = all([
            json!({"name": "i", "image": "i", "ports": port("")}),
            policy,
        ]);
        json!({"spec": {"initContainers": [container]}})
    };
    assert!(fits(init(json!({})), serving("")));
    assert!(!fits(init(json!({"restartPolicy": "Always"})), serving("")));
}

#[test]
fn semantic_17_image_names_get_latest_and_nothing_else() {
    const MIB: i64 = 1024 * 1024;
    let holding = |image: &str| {
        node(
            "a",
            json!({"status": {"images": [{"names": [image], "sizeBytes": 1000 * MIB}]}}),
        )
    };
    let score = |image: &str, wanted: &str| {
        let world = World::new([holding(image), node("b", json!({}))], []);
        let wanted = json!({"spec": {"containers": [{"name": "c", "image": wanted}]}});
        world.decide(pod("p", wanted))["scores"]["ImageLocality"]["a"].clone()
    };
    // On one of two nodes it counts half: 500Mi between 23Mi and 1000Mi.
    assert_eq!(
        score("example.com/app:latest", "example.com/app"),
        100 * (500 - 23) / (1000 - 23)
    );
    assert_eq!(score("docker.io/library/nginx:latest", "nginx"), 0);
}

#[test]
fn semantic_18_restart_all_containers_needs_a_declared_feature() {
    let declaring = node(
        "new",
        json!({"status": {"declaredFeatures": ["RestartAllContainersOnContainerExits"]}}),
    );
    let world = World::new([declaring, node("old", json!({}))], []);
    let decision = world.decide(pod("p", json!({"spec": {"containers": [{
        "name": "c", "image": "i", "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}],
    }]}})));
    assert_eq!(winners(&decision), ["new"]);
    assert_eq!(
        verdict(&decision, "old"),
        "NodeDeclaredFeatures UnschedulableAndUnresolvable: node(s) didn't match Pod's required features"
    );
}

fn zoned(name: &str, zone: &str) -> Value {
    labelled(name, "zone", zone)
}

fn near(selectors: &[Value]) -> Value {
    let terms: Vec<_> = selectors
        .iter()
        .map(|labels| json!({"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}))
        .collect();
    json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}})
}

#[test]
fn semantic_23_a_pod_counts_for_affinity_only_if_it_matches_all_terms() {
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let world = World::new(
        [zoned("a", "z1"), zoned("b", "z2")],
        [
            on("a", "both", labels(json!({"app": "db", "tier": "back"}))),
            on("b", "one", labels(json!({"app": "db"}))),
            on("b", "other", labels(json!({"tier": "back"}))),
        ],
    );
    let decision = world.decide(pod(
        "p",
        near(&[json!({"app": "db"}), json!({"tier": "back"})]),
    ));
    assert_eq!(winners(&decision), ["a"]);
    assert_eq!(
        verdict(&decision, "b"),
        "InterPodAffinity UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules"
    );
}

#[test]
fn semantic_23_the_first_pod_may_seek_itself_where_the_keys_exist() {
    let world = World::new([zoned("a", "z1"), node("keyless", json!({}))], []);
    let own = json!({"metadata": {"labels": {"app": "web"}}});
    let decision = world.decide(pod("p", all([own, near(&[json!({"app": "web"})])])));
    assert_eq!(winners(&decision), ["a"]);
    let stranger = world.decide(pod("p", near(&[json!({"app": "web"})])));
    assert!(
        winners(&stranger).is_empty(),
        "it does not match its own term"
    );
}

#[test]
fn semantic_24_equal_raw_scores_normalise_to_nothing() {
    let labels = json!({"metadata": {"labels": {"app": "db"}}});
    let world = World::new([zoned("a", "z1"), zoned("b", "z1")], [on("a", "x", labels)]);
    let preferring = |app: &str| {
        json!({"spec": {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 10,
            "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"},
        }]}}}})
    };
    let decision = world.decide(pod("p", preferring("db")));
    assert_eq!(
        decision["scores"]["InterPodAffinity"],
        json!({"a": 0, "b": 0})
    );
    let decision = world.decide(pod("p", preferring("nobody")));
    assert!(
        decision["skipped_score"]
            .as_array()
            .unwrap()
            .contains(&json!("InterPodAffinity"))
    );
}
