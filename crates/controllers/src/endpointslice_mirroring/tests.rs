use super::*;
use crate::Failure;
use crate::testing::World;
use serde_json::{Value, json};
use std::time::Duration;

fn service(world: &mut World, selector: Value) {
    world.add_json::<Service>(json!({
        "metadata": {"namespace": "shop", "name": "db"}, "spec": {"selector": selector}}));
}

fn endpoints(world: &mut World, subsets: Value) {
    world.add_json::<Endpoints>(json!({
        "metadata": {"namespace": "shop", "name": "db", "labels": {"tier": "back"},
            "annotations": {"why": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
        "subsets": subsets,
    }));
}

fn settle(world: &mut World) {
    world.settle(&[&Mirroring], Duration::from_secs(3));
}

/// Type, ports, and addresses (those that are not ready with a `!`) of each slice.
fn slices(world: &World) -> Vec<String> {
    let all = world.cluster.all::<EndpointSlice>();
    let mut all: Vec<String> = all
        .iter()
        .map(|slice| {
            let ports = slice.ports.iter().flatten().filter_map(|port| port.port);
            let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
            let addresses = slice.endpoints.iter().flatten().map(|one| {
                let ready = one
                    .conditions
                    .as_ref()
                    .and_then(|conditions| conditions.ready);
                let mark = if ready == Some(true) { "" } else { "!" };
                format!("{mark}{}", one.addresses[0])
            });
            let addresses: Vec<String> = addresses.collect();
            let type_ = &slice.address_type;
            format!("{type_} {} {}", ports.join(","), addresses.join(" "))
        })
        .collect();
    all.sort_unstable();
    all
}

fn two_families() -> Value {
    json!([
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]},
        {"notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": [{"port": 81, "name": "m"}]},
    ])
}

#[test]
fn each_type_and_each_set_of_ports_has_a_slice() {
    let mut world = World::default();
    world.join(0, &Mirroring);
    service(&mut world, Value::Null);
    endpoints(&mut world, two_families());
    settle(&mut world);
    assert_eq!(
        slices(&world),
        ["IPv4 80 10.0.0.1", "IPv4 81 !10.0.0.2", "IPv6 80 fd00::1"]
    );
    let slice = &world.cluster.all::<EndpointSlice>()[0];
    assert_eq!(
        labels(&**slice).get("tier").map(String::as_str),
        Some("back")
    );
    assert_eq!(
        labels(&**slice).get(MANAGED_BY).map(String::as_str),
        Some(MANAGER)
    );
    assert_eq!(
        labels(&**slice).get(SERVICE).map(String::as_str),
        Some("db")
    );
    assert_eq!(annotations(&**slice).keys().collect::<Vec<_>>(), ["why"]);
    let owner = &slice.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("Endpoints", Some(true))
    );
    world.take_writes();
    world.sync(&Mirroring, "shop", "db");
    assert!(world.take_writes().is_empty());
    // A change goes into the slice that there is.
    endpoints(
        &mut world,
        json!([{"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 80}]}]),
    );
    settle(&mut world);
    assert_eq!(slices(&world), ["IPv4 80 10.0.0.3"]);
    let writes = world.take_writes();
    assert_eq!(
        writes
            .iter()
            .filter(|write| write.starts_with("PUT"))
            .count(),
        1
    );
    assert_eq!(
        writes
            .iter()
            .filter(|write| write.starts_with("DELETE"))
            .count(),
        2
    );
}

#[test]
fn what_is_not_to_be_mirrored_is_cleaned_up() {
    type Change = fn(&mut World);
    let changes: [Change; 5] = [
        |world| service(world, json!({"app": "db"})),
        |world| world.remove::<Service>("shop", "db"),
        |world| world.remove::<Endpoints>("shop", "db"),
        |world| {
            world.change::<Endpoints>("shop", "db", |endpoints| {
                let labels = endpoints.metadata.labels.get_or_insert_default();
                labels.insert(SKIP.to_owned(), "true".to_owned());
            });
        },
        |world| {
            world.change::<Endpoints>("shop", "db", |endpoints| {
                let annotations = endpoints.metadata.annotations.get_or_insert_default();
                annotations.insert(LEADER.to_owned(), "{}".to_owned());
            });
        },
    ];
    for change in changes {
        let mut world = World::default();
        world.join(0, &Mirroring);
        service(&mut world, Value::Null);
        endpoints(&mut world, two_families());
        settle(&mut world);
        assert_eq!(slices(&world).len(), 3);
        change(&mut world);
        settle(&mut world);
        assert!(slices(&world).is_empty());
    }
}

#[test]
fn what_is_left_out_is_told() {
    let mut world = World::default();
    service(&mut world, Value::Null);
    let mut addresses: Vec<Value> = (0..1_002)
        .map(|n| json!({"ip": format!("10.0.{}.{}", n / 250, n % 250)}))
        .collect();
    addresses.insert(0, json!({"ip": "1.nowhere"}));
    endpoints(
        &mut world,
        json!([{"addresses": addresses, "ports": [{"port": 80}]}]),
    );
    world.sync(&Mirroring, "shop", "db");
    let slice = &world.cluster.all::<EndpointSlice>()[0];
    assert_eq!(slice.endpoints.as_ref().map(Vec::len), Some(1_000));
    let told: Vec<&str> = world
        .events
        .iter()
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "Skipped 1 invalid IP addresses when mirroring to EndpointSlices",
            "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped",
        ]
    );
}

/// Whichever write fails, in the end there are those slices that there should be.
#[test]
fn each_write_may_fail() {
    for at in 0..6 {
        let mut world = World::default();
        world.join(0, &Mirroring);
        let mut count = 0;
        world.refuse(move |_| {
            count += 1;
            let failure = Failure {
                code: 500,
                message: "it broke".to_owned(),
                ..Failure::default()
            };
            (count == at + 1).then_some(failure)
        });
        service(&mut world, Value::Null);
        endpoints(&mut world, two_families());
        settle(&mut world);
        assert_eq!(slices(&world).len(), 3, "{at}");
        endpoints(
            &mut world,
            json!([{"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 82}]}]),
        );
        settle(&mut world);
        assert_eq!(slices(&world), ["IPv4 82 10.0.0.3"], "{at}");
    }
}
