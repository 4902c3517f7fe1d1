//! Objects with long lists are judged in time that grows with the lists. Were each element compared with
//! all others, or shown with each fault, these would take minutes or all memory.

use serde_json::{Value, json};
use stowplan_apimachinery::lookup::Nothing;
use stowplan_kinds::{Context, table};
use stowplan_schema::{decode_json, type_of};

const LENGTH: usize = 40_000;

/// The bytes of all that is said of an object as a new one, as a change of itself, and in a table.
fn said(kind: &str, object: &Value) -> usize {
    let kind = table::KINDS.iter().find(|k| k.kind == kind).expect(kind);
    let ty = type_of(kind.schema).expect(kind.schema);
    let mut object = decode_json(ty, object.to_string().as_bytes())
        .expect("fits")
        .object;
    let cx = Context {
        now: "2026-01-02T03:04:05Z",
        cluster: &Nothing,
    };
    let strategy = kind.strategy;
    strategy.set_defaults(&mut object);
    let mut new = object.clone();
    strategy.prepare_for_update(&mut new, &object, &cx);
    let mut errors = strategy.validate_update(&new, &object, &cx);
    strategy.prepare_for_create(&mut object, &cx);
    errors.extend(strategy.validate(&object, &cx));
    let mut warnings = strategy.warnings(&object, None);
    warnings.extend(strategy.warnings(&new, Some(&object)));
    let cells = (kind.columns.row)(&new, 0);
    let faults: usize = errors.iter().map(|e| e.to_string().len()).sum();
    faults + warnings.iter().map(String::len).sum::<usize>() + json!(cells).to_string().len()
}

fn many(make: impl Fn(usize) -> Value) -> Value {
    (0..LENGTH).map(make).collect()
}

fn check(kind: &str, object: Value) {
    let bytes = said(kind, &object);
    assert!(bytes < 200_000_000, "{kind}: {bytes}");
}

#[test]
fn references_and_finalizers() {
    let owner = |i| json!({"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": format!("{i}"), "controller": true});
    check(
        "ConfigMap",
        json!({"metadata": {"name": "a", "ownerReferences": many(owner)}}),
    );
    let finalizers = many(|i| json!(format!("a.io/{i}")));
    check(
        "ConfigMap",
        json!({"metadata": {"name": "a", "finalizers": finalizers}}),
    );
}

#[test]
fn what_containers_refer_to() {
    let volumes = many(|i| json!({"name": format!("v{i}"), "emptyDir": {}}));
    let mounts = many(|i| json!({"name": format!("v{i}"), "mountPath": format!("/{i}")}));
    let devices = many(|i| json!({"name": format!("d{i}"), "devicePath": format!("/dev/{i}")}));
    let container =
        json!({"name": "c", "image": "i", "volumeMounts": mounts, "volumeDevices": devices});
    check(
        "Pod",
        json!({"metadata": {"name": "a"}, "spec": {"volumes": volumes, "containers": [container]}}),
    );
    let claims = many(|i| json!({"name": format!("r{i}"), "resourceClaimName": "x"}));
    let wrong = many(|i| json!({"name": format!("w{i}")}));
    let container = json!({"name": "c", "image": "i", "resources": {"claims": wrong}});
    check(
        "Pod",
        json!({"metadata": {"name": "a"}, "spec": {"resourceClaims": claims, "containers": [container]}}),
    );
}

#[test]
fn files_and_ports_that_overlap() {
    let items = many(|_| json!({"key": "k", "path": "same"}));
    let volume = json!({"name": "v", "configMap": {"name": "c", "items": items}});
    let ports = many(|i| json!({"containerPort": 80, "hostPort": i % 60_000 + 1}));
    let container = json!({"name": "c", "image": "i", "ports": ports});
    check(
        "Pod",
        json!({"metadata": {"name": "a"}, "spec": {"volumes": [volume], "containers": [container]}}),
    );
}

#[test]
fn constraints_tolerations_and_gates() {
    let constraints = many(
        |i| json!({"topologyKey": format!("k{i}"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}),
    );
    let gates = many(|i| json!({"name": format!("g{i}")}));
    let tolerations = many(|i| json!({"key": format!("k{i}"), "operator": "Exists"}));
    check(
        "Pod",
        json!({"metadata": {"name": "a"}, "spec": {
            "containers": [{"name": "c", "image": "i"}], "topologySpreadConstraints": constraints,
            "schedulingGates": gates, "tolerations": tolerations
        }}),
    );
}

#[test]
fn scopes_topologies_and_drivers() {
    let hard: Value = (0..1_000)
        .map(|i| (format!("hugepages-{i}Mi"), json!("1")))
        .collect();
    let scopes = many(|_| json!("BestEffort"));
    check(
        "ResourceQuota",
        json!({"metadata": {"name": "a"}, "spec": {"hard": hard, "scopes": scopes}}),
    );
    let topologies = many(|_| json!({}));
    check(
        "StorageClass",
        json!({"metadata": {"name": "a"}, "provisioner": "p", "allowedTopologies": topologies}),
    );
    let drivers = many(|_| json!({"name": "a.io", "nodeID": "x"}));
    check(
        "CSINode",
        json!({"metadata": {"name": "a"}, "spec": {"drivers": drivers}}),
    );
    let addresses = many(|i| json!({"type": "Hostname", "address": format!("{i}")}));
    check(
        "Node",
        json!({"metadata": {"name": "a"}, "status": {"addresses": addresses}}),
    );
}

#[test]
fn addresses_and_ports_of_services() {
    let addresses = many(|i| json!({"ip": format!("10.0.{}.{}", i / 250 % 250, i % 250)}));
    let ports = many(|i| json!({"name": format!("p{i}"), "port": 80}));
    check(
        "Endpoints",
        json!({"metadata": {"name": "a"}, "subsets": [{"addresses": addresses, "ports": ports}]}),
    );
    let external = many(|i| json!(format!("x{i}")));
    check(
        "Service",
        json!({"metadata": {"name": "a"}, "spec": {"externalIPs": external, "ports": [{"port": 1}]}}),
    );
}
