mod filling;
mod hints;

use super::*;
use crate::testing::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn service(world: &mut World, spec: Value) {
    let mut whole = json!({
        "clusterIP": "10.0.0.7", "ipFamilies": ["IPv4"], "selector": {"app": "web"},
        "ports": [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}],
    });
    for (key, value) in spec.as_object().expect("a spec") {
        whole[key] = value.clone();
    }
    world.add_json::<Service>(json!({
        "metadata": {"namespace": "shop", "name": "web", "labels": {"tier": "front"}}, "spec": whole,
    }));
}

fn pod(world: &mut World, number: u32, ready: &str, port: u32) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": format!("p{number}"), "labels": {"app": "web"}},
        "spec": {"nodeName": "n", "containers": [
            {"name": "c", "ports": [{"name": "web", "containerPort": port}]}]},
        "status": {"phase": "Running", "podIPs": [{"ip": format!("10.1.0.{number}")}],
                   "conditions": [{"type": "Ready", "status": ready}]},
    }));
}

fn world() -> World {
    let mut world = World::default();
    let zone = json!({"topology.kubernetes.io/zone": "a"});
    world.add_json::<Node>(json!({"metadata": {"name": "n", "labels": zone}}));
    world
}

fn settle(world: &mut World) {
    world.join(0, &EndpointSlices::default());
    world.settle(&[&EndpointSlices::default()], Duration::from_secs(1));
}

/// Port and number of endpoints of each slice.
fn slices(world: &World) -> Vec<(Option<i32>, usize)> {
    let mut all: Vec<_> = world
        .cluster
        .all::<EndpointSlice>()
        .iter()
        .map(|slice| {
            let port = slice
                .ports
                .iter()
                .flatten()
                .next()
                .and_then(|port| port.port);
            (port, slice.endpoints.iter().flatten().count())
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn endpoints_say_what_pods_are_like() {
    let mut world = world();
    service(&mut world, json!({}));
    pod(&mut world, 1, "True", 8080);
    pod(&mut world, 2, "False", 8080);
    settle(&mut world);
    assert_eq!(slices(&world), [(Some(8080), 2)]);
    let slice = world.cluster.all::<EndpointSlice>().remove(0);
    assert_eq!(labels(&*slice)[SERVICE], "web");
    assert_eq!(labels(&*slice)["tier"], "front");
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    let ready: Vec<_> = endpoints
        .iter()
        .map(|e| e.conditions.as_ref().unwrap().ready)
        .collect();
    assert_eq!(ready, [Some(true), Some(false)]);
    assert_eq!(endpoints[0].zone.as_deref(), Some("a"));
    world.take_writes();
    world.sync(&EndpointSlices::default(), "shop", "web");
    assert!(world.take_writes().is_empty());
    world.remove::<Pod>("shop", "p1");
    world.settle(&[&EndpointSlices::default()], Duration::from_secs(1));
    assert_eq!(slices(&world), [(Some(8080), 1)]);
}

#[test]
fn a_service_without_pods_has_one_empty_slice_that_is_used_again() {
    let mut world = world();
    service(&mut world, json!({}));
    settle(&mut world);
    assert_eq!(slices(&world), [(None, 0)]);
    world.sync(&EndpointSlices::default(), "shop", "web");
    assert_eq!(slices(&world), [(None, 0)]);
    pod(&mut world, 1, "True", 80);
    world.settle(&[&EndpointSlices::default()], Duration::from_secs(1));
    assert_eq!(slices(&world), [(Some(80), 1)]);
}

#[test]
fn slices_hold_a_hundred_and_one_kind_of_ports_each() {
    let mut world = world();
    service(&mut world, json!({}));
    for number in 0..120 {
        pod(&mut world, number, "True", 80);
    }
    pod(&mut world, 200, "True", 81);
    settle(&mut world);
    assert_eq!(
        slices(&world),
        [(Some(80), 20), (Some(80), 100), (Some(81), 1)]
    );
    for number in 0..110 {
        world.remove::<Pod>("shop", &format!("p{number}"));
    }
    world.settle(&[&EndpointSlices::default()], Duration::from_secs(1));
    let left: usize = slices(&world).iter().map(|(_, count)| count).sum();
    assert_eq!(left, 11);
}

#[test]
fn services_that_select_nothing_are_left_to_others() {
    let mut world = world();
    service(&mut world, json!({"selector": null}));
    settle(&mut world);
    assert!(slices(&world).is_empty());
}

#[test]
fn slices_say_when_that_happened_which_changed_them() {
    let mut world = world();
    let slices = EndpointSlices::default();
    world.add_json::<Service>(json!({
        "metadata": {"namespace": "shop", "name": "web", "creationTimestamp": "2026-03-01T11:00:00Z"},
        "spec": {"clusterIP": "10.0.0.9", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    }));
    let pod = |world: &mut World, name: &str, address: &str, ready_at: &str| {
        world.add_json::<Pod>(json!({
            "metadata": {"namespace": "shop", "name": name, "labels": {"app": "web"}},
            "spec": {"containers": [], "nodeName": "n"},
            "status": {"podIP": address, "podIPs": [{"ip": address}], "phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": ready_at}]},
        }));
    };
    let told = |world: &World| {
        let all = world.cluster.all::<EndpointSlice>();
        let key = "endpoints.kubernetes.io/last-change-trigger-time";
        crate::common::annotation(&*all[0], key).map(str::to_owned)
    };
    world.join(0, &slices);
    pod(&mut world, "a", "10.1.0.1", "2026-03-01T11:30:00Z");
    world.settle(&[&slices], Duration::from_secs(1));
    assert_eq!(told(&world).as_deref(), Some("2026-03-01T11:00:00Z"));
    pod(&mut world, "b", "10.1.0.2", "2026-03-01T11:40:00Z");
    world.settle(&[&slices], Duration::from_secs(1));
    assert_eq!(told(&world).as_deref(), Some("2026-03-01T11:40:00Z"));
    // A pod that goes has no time.
    world.remove::<Pod>("shop", "b");
    world.settle(&[&slices], Duration::from_secs(1));
    assert_eq!(told(&world), None);
}

#[test]
fn a_pod_of_a_node_that_is_not_known_yet_is_looked_at_again() {
    let mut world = World::default();
    service(&mut world, json!({}));
    pod(&mut world, 1, "True", 8080);
    settle(&mut world);
    let lost = "skipping Pod p1 for Service shop/web: Node n Not Found";
    let told = format!("Error updating Endpoint Slices for Service shop/web: {lost}");
    assert_eq!(world.events[0].message, told);
    assert_eq!(world.errors[0], lost);
    // Nobody tells of the node; the Service is tried again.
    world.add_json::<Node>(json!({"metadata": {"name": "n"}}));
    world.settle(&[&EndpointSlices::default()], Duration::from_mins(1));
    assert_eq!(slices(&world), [(Some(8080), 1)]);
}

#[test]
fn a_slice_that_cannot_be_made_is_told() {
    let mut world = world();
    service(&mut world, json!({}));
    pod(&mut world, 1, "True", 8080);
    world.refuse(|write| {
        (write.method == Method::Post).then(|| crate::Failure {
            code: 500,
            message: "no".to_owned(),
            ..crate::Failure::default()
        })
    });
    settle(&mut world);
    assert_eq!(world.events[0].reason, "FailedToUpdateEndpointSlices");
    assert_eq!(
        world.events[0].message,
        "Error updating Endpoint Slices for Service shop/web: \
         failed to create EndpointSlice for Service shop/web: no"
    );
}
