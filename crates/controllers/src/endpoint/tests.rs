use super::*;
use crate::testing::World;
use serde_json::json;
use std::time::Duration;

fn pod(world: &mut World, number: u32, ready: &str) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": format!("p{number}"), "labels": {"app": "web"}},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"phase": "Running", "podIPs": [{"ip": format!("10.1.{}.{}", number / 250, number % 250)}],
                   "conditions": [{"type": "Ready", "status": ready}]},
    }));
}

fn settled(pods: u32, unready: u32) -> World {
    let mut world = World::default();
    world.add_json::<Service>(json!({
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"clusterIP": "10.0.0.7", "selector": {"app": "web"},
                 "ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "admin", "port": 81}]},
    }));
    for number in 0..pods {
        pod(
            &mut world,
            number,
            if number < unready { "False" } else { "True" },
        );
    }
    world.join(0, &EndpointsOfServices::default());
    world.settle(&[&EndpointsOfServices::default()], Duration::from_secs(1));
    world
}

#[test]
fn pods_are_addresses_with_all_ports_of_the_service() {
    let mut world = settled(3, 1);
    let made = world.get::<Endpoints>("shop", "web");
    let subsets = made.subsets.as_deref().unwrap_or_default();
    assert_eq!(subsets.len(), 1);
    assert_eq!(subsets[0].addresses.as_ref().map(Vec::len), Some(2));
    assert_eq!(
        subsets[0].not_ready_addresses.as_ref().map(Vec::len),
        Some(1)
    );
    let ports: Vec<i32> = subsets[0]
        .ports
        .iter()
        .flatten()
        .map(|port| port.port)
        .collect();
    // In the order of their hashes, as upstream.
    assert_eq!(ports, [8080, 81]);
    world.take_writes();
    world.sync(&EndpointsOfServices::default(), "shop", "web");
    assert!(world.take_writes().is_empty());
    world.remove::<Service>("shop", "web");
    world.settle(&[&EndpointsOfServices::default()], Duration::from_secs(1));
    assert!(world.cluster.get::<Endpoints>("shop", "web").is_none());
}

#[test]
fn an_object_holds_a_thousand_addresses_and_says_when_there_are_more() {
    let world = settled(1_005, 2);
    let made = world.get::<Endpoints>("shop", "web");
    let subset = &made.subsets.as_ref().expect("subsets")[0];
    assert_eq!(subset.addresses.as_ref().map(Vec::len), Some(1_000));
    let annotations = made.metadata.annotations.as_ref().expect("annotations");
    assert_eq!(annotations[OVER_CAPACITY], "truncated");
}

#[test]
fn what_cannot_be_written_is_told() {
    let mut world = settled(1, 0);
    world.remove::<Endpoints>("shop", "web");
    world.refuse(|_| {
        Some(crate::Failure {
            code: 500,
            message: "no".to_owned(),
            ..crate::Failure::default()
        })
    });
    world.events.clear();
    world.sync(&EndpointsOfServices::default(), "shop", "web");
    let event = &world.events[0];
    assert_eq!(event.reason, "FailedToCreateEndpoint");
    assert_eq!(
        event.message,
        "Failed to create endpoint for service shop/web: no"
    );
}
