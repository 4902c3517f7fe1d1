//! Whom endpoints are for: upstream's tests of `trafficdist` and `topologycache`.

use super::*;

const AUTO: &str = "service.kubernetes.io/topology-mode";

/// A world with a zone `a` of two nodes and a zone `b` of one, of this many CPUs each, and so many pods on each
/// node.
fn zones(cpus: [&str; 3], pods: [u32; 3]) -> World {
    let mut world = World::default();
    let mut number = 0;
    for (at, (name, zone)) in [("n1", "a"), ("n2", "a"), ("n3", "b")]
        .into_iter()
        .enumerate()
    {
        world.add_json::<Node>(json!({
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": cpus[at]}, "conditions": [{"type": "Ready", "status": "True"}]},
        }));
        for _ in 0..pods[at] {
            number += 1;
            pod(&mut world, number, "True", 80);
            world.change::<Pod>("shop", &format!("p{number}"), |pod| {
                pod.spec.get_or_insert_default().node_name = Some(name.to_owned());
            });
        }
    }
    world
}

/// Zone of each endpoint, and for which zones and nodes it is.
fn hints(world: &World) -> Vec<(String, Vec<String>, Vec<String>)> {
    let slices = world.cluster.all::<EndpointSlice>();
    let endpoints = slices
        .iter()
        .flat_map(|slice| slice.endpoints.iter().flatten());
    let mut all: Vec<_> = endpoints
        .map(|endpoint| {
            let hints = endpoint.hints.clone().unwrap_or_default();
            let zones = hints.for_zones.unwrap_or_default().into_iter();
            let nodes = hints.for_nodes.unwrap_or_default().into_iter();
            (
                endpoint.zone.clone().unwrap_or_default(),
                zones.map(|zone| zone.name).collect(),
                nodes.map(|node| node.name).collect(),
            )
        })
        .collect();
    all.sort_unstable();
    all
}

/// How many endpoints are for each zone.
fn for_zones(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (_, zones, _) in hints(world) {
        for zone in zones {
            *counts.entry(zone).or_default() += 1;
        }
    }
    counts
}

fn annotate(world: &mut World, value: Option<&str>) {
    world.change::<Service>("shop", "web", |service| {
        let noted = service.metadata.annotations.get_or_insert_default();
        match value {
            Some(value) => drop(noted.insert(AUTO.to_owned(), value.to_owned())),
            None => drop(noted.remove(AUTO)),
        }
    });
}

#[test]
fn traffic_stays_in_its_zone_or_on_its_node_if_a_service_prefers_that() {
    let row = |zone: &str, zones: &[&str], nodes: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        (zone.to_owned(), owned(zones), owned(nodes))
    };
    let slices = EndpointSlices::default();
    let mut world = zones(["1", "1", "1"], [1, 0, 1]);
    service(&mut world, json!({}));
    world.join(0, &slices);
    for (distribution, wanted) in [
        (None, [row("a", &[], &[]), row("b", &[], &[])]),
        (
            Some("PreferClose"),
            [row("a", &["a"], &[]), row("b", &["b"], &[])],
        ),
        (
            Some("PreferSameNode"),
            [row("a", &["a"], &["n1"]), row("b", &["b"], &["n3"])],
        ),
        (
            Some("PreferSameZone"),
            [row("a", &["a"], &[]), row("b", &["b"], &[])],
        ),
        (Some("NoSuch"), [row("a", &[], &[]), row("b", &[], &[])]),
    ] {
        world.change::<Service>("shop", "web", |service| {
            let spec = service.spec.get_or_insert_default();
            spec.traffic_distribution = distribution.map(str::to_owned);
        });
        world.settle(&[&slices], Duration::from_secs(1));
        assert_eq!(hints(&world), wanted, "{distribution:?}");
        world.take_writes();
        world.sync(&slices, "shop", "web");
        assert!(world.take_writes().is_empty(), "{distribution:?}");
    }
    // A pod that is not ready is for nobody, and the annotation counts more than the field.
    world.change::<Service>("shop", "web", |service| {
        let spec = service.spec.get_or_insert_default();
        spec.traffic_distribution = Some("PreferClose".to_owned());
    });
    pod(&mut world, 2, "False", 80);
    world.settle(&[&slices], Duration::from_secs(1));
    assert_eq!(for_zones(&world).values().sum::<usize>(), 1);
    annotate(&mut world, Some("Auto"));
    world.settle(&[&slices], Duration::from_secs(1));
    assert!(for_zones(&world).is_empty());
}

/// Upstream's `TestAddHints` and `TestGetAllocations`.
#[test]
fn zones_get_as_many_endpoints_as_they_have_capacity() {
    let counts = |a: usize, b: usize| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
    for (cpus, pods, wanted) in [
        (["1", "1", "2"], [2, 2, 4], counts(4, 4)),
        // Zone b has as many CPUs as zone a, but fewer pods.
        (["1", "1", "2"], [4, 4, 2], counts(5, 5)),
        (["1", "1", "1"], [3, 3, 3], counts(6, 3)),
        (["3", "3", "2"], [1, 1, 2], counts(3, 1)),
        (["500m", "500m", "1"], [5, 0, 1], counts(3, 3)),
    ] {
        let slices = EndpointSlices::default();
        let mut world = zones(cpus, pods);
        service(&mut world, json!({}));
        annotate(&mut world, Some("auto"));
        world.join(0, &slices);
        world.settle(&[&slices], Duration::from_secs(1));
        assert_eq!(for_zones(&world), wanted, "{cpus:?} {pods:?}");
        let told: Vec<_> = world
            .events
            .iter()
            .map(|event| (event.reason, &*event.message))
            .collect();
        let enabled = "Topology Aware Hints has been enabled, addressType: IPv4";
        assert_eq!(told, [("TopologyAwareHintsEnabled", enabled)]);
        world.take_writes();
        world.sync(&slices, "shop", "web");
        assert!(world.take_writes().is_empty());
        assert_eq!(world.events.len(), 1);
    }
}

#[test]
fn why_there_are_no_hints_is_told() {
    let told = |world: &mut World| {
        world
            .events
            .drain(..)
            .map(|event| event.message)
            .collect::<Vec<_>>()
    };
    let play = |cpus, pods| {
        let slices = EndpointSlices::default();
        let mut world = zones(cpus, pods);
        service(&mut world, json!({}));
        annotate(&mut world, Some("Auto"));
        world.join(0, &slices);
        world.settle(&[&slices], Duration::from_secs(1));
        assert!(for_zones(&world).is_empty());
        told(&mut world).remove(0)
    };
    assert_eq!(
        play(["1", "1", "1"], [1, 0, 0]),
        "Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4"
    );
    assert_eq!(
        play(["1", "0", "1"], [2, 2, 2]),
        "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, \
         addressType: IPv4"
    );
    assert_eq!(
        play(["10", "10", "1"], [1, 0, 1]),
        "Unable to allocate minimum required endpoints to each zone without exceeding overload \
         threshold (2 endpoints, 2 zones), addressType: IPv4"
    );
    // Who does not want hints any more loses them.
    let slices = EndpointSlices::default();
    let mut world = zones(["1", "1", "2"], [2, 2, 4]);
    service(&mut world, json!({}));
    annotate(&mut world, Some("Auto"));
    world.join(0, &slices);
    world.settle(&[&slices], Duration::from_secs(1));
    told(&mut world);
    annotate(&mut world, None);
    world.settle(&[&slices], Duration::from_secs(1));
    assert!(for_zones(&world).is_empty());
    assert_eq!(
        told(&mut world),
        ["Topology Aware Hints has been disabled, addressType: IPv4"]
    );
}

/// Upstream's `TestTopologyCacheRace` and `GetOverloadedServices`: when nodes go, hints follow.
#[test]
fn services_are_looked_at_again_when_zones_change() {
    let slices = EndpointSlices::default();
    let mut world = zones(["1", "1", "2"], [2, 2, 4]);
    service(&mut world, json!({}));
    annotate(&mut world, Some("Auto"));
    world.join(0, &slices);
    world.settle(&[&slices], Duration::from_secs(1));
    assert_eq!(for_zones(&world).len(), 2);
    world.change::<Node>("", "n3", |node| {
        let conditions = &mut node.status.get_or_insert_default().conditions;
        conditions.get_or_insert_default()[0].status = "False".to_owned();
    });
    world.settle(&[&slices], Duration::from_secs(1));
    // One zone alone has nobody to share with.
    assert!(for_zones(&world).is_empty());
}
