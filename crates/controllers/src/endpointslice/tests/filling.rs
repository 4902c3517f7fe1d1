//! How endpoints are spread over slices: upstream's tables of `reconciler_test.go`.

use super::*;

/// The sizes of all slices.
fn sizes(world: &World) -> Vec<usize> {
    let all = world.cluster.all::<EndpointSlice>();
    let mut sizes: Vec<usize> = all
        .iter()
        .map(|slice| slice.endpoints.iter().flatten().count())
        .collect();
    sizes.sort_unstable();
    sizes
}

fn pods_at(world: &mut World, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        pod(world, number, "True", 80);
    }
}

fn remove_pods(world: &mut World, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        world.remove::<Pod>("shop", &format!("p{number}"));
    }
}

fn step(world: &mut World, slices: &EndpointSlices) -> Vec<String> {
    world.take_writes();
    world.settle(&[slices], Duration::from_secs(1));
    let writes = world.take_writes().into_iter();
    let verb = |write: String| write.split(' ').next().unwrap_or_default().to_owned();
    let mut verbs: Vec<String> = writes.map(verb).collect();
    verbs.sort();
    verbs
}

/// Upstream's `TestReconcileEndpointSlicesSomePreexisting`, `...WorstCase` and `...Updating`: few slices are
/// written, even if others have room.
#[test]
fn few_slices_are_written() {
    let slices = EndpointSlices::default();
    let mut world = world();
    service(&mut world, json!({}));
    world.join(0, &slices);
    pods_at(&mut world, 0..250);
    assert_eq!(step(&mut world, &slices), ["POST", "POST", "POST"]);
    assert_eq!(sizes(&world), [50, 100, 100]);
    // All that is new has room in one slice, which alone is written.
    pods_at(&mut world, 300..340);
    assert_eq!(step(&mut world, &slices), ["PUT"]);
    assert_eq!(sizes(&world), [90, 100, 100]);
    // It has no room in one: a new slice is made, though the others have room.
    pods_at(&mut world, 400..411);
    assert_eq!(step(&mut world, &slices), ["POST"]);
    assert_eq!(sizes(&world), [11, 90, 100, 100]);
    // A slice that changes anyway is filled first.
    let first = world.cluster.all::<EndpointSlice>();
    let full = first
        .iter()
        .find(|slice| slice.endpoints.iter().flatten().count() == 100);
    let mut names = full.unwrap().endpoints.iter().flatten();
    let name = names
        .next()
        .unwrap()
        .target_ref
        .as_ref()
        .unwrap()
        .name
        .clone()
        .unwrap();
    world.remove::<Pod>("shop", &name);
    pods_at(&mut world, 500..501);
    assert_eq!(step(&mut world, &slices), ["PUT"]);
    assert_eq!(sizes(&world), [11, 90, 100, 100]);
}

/// Upstream's `TestReconcileEndpointSlicesRecycling`: a slice that would be deleted takes the place of one that
/// would be made.
#[test]
fn slices_are_used_again() {
    let slices = EndpointSlices::default();
    let mut world = world();
    service(&mut world, json!({}));
    world.join(0, &slices);
    pods_at(&mut world, 0..150);
    step(&mut world, &slices);
    assert_eq!(sizes(&world), [50, 100]);
    // All pods have another port: so have all slices.
    world.change::<Service>("shop", "web", |service| {
        let ports = &mut service.spec.get_or_insert_default().ports;
        ports.get_or_insert_default()[0].name = Some("other".to_owned());
    });
    assert_eq!(step(&mut world, &slices), ["PUT", "PUT"]);
    assert_eq!(sizes(&world), [50, 100]);
    // One slice loses all its endpoints, and goes.
    remove_pods(&mut world, 0..150);
    pods_at(&mut world, 200..201);
    let verbs = step(&mut world, &slices);
    assert_eq!(sizes(&world), [1]);
    assert_eq!(verbs, ["DELETE", "PUT"]);
}

/// Upstream's `TestReconcile1EndpointSlice` and `TestPlaceHolderSliceCompare`.
#[test]
fn a_placeholder_is_left_as_it_is() {
    let slices = EndpointSlices::default();
    let mut world = world();
    service(&mut world, json!({}));
    world.join(0, &slices);
    assert_eq!(step(&mut world, &slices), ["POST"]);
    assert_eq!(sizes(&world), [0]);
    world.change::<Service>("shop", "web", |service| {
        let labels = service.metadata.labels.get_or_insert_default();
        labels.insert("new".to_owned(), "label".to_owned());
    });
    assert_eq!(step(&mut world, &slices), ["PUT"]);
    assert_eq!(
        labels(&*world.cluster.all::<EndpointSlice>()[0])["new"],
        "label"
    );
    assert!(step(&mut world, &slices).is_empty());
}

/// The order of ports is that of their hashes, and both families have slices of their own.
#[test]
fn families_have_slices_of_their_own() {
    let slices = EndpointSlices::default();
    let mut world = world();
    service(
        &mut world,
        json!({"ipFamilies": ["IPv4", "IPv6"], "ports": [
            {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
            {"name": "https", "port": 443, "targetPort": 8443, "protocol": "TCP"},
        ]}),
    );
    pod(&mut world, 1, "True", 80);
    world.change::<Pod>("shop", "p1", |pod| {
        let status = pod.status.get_or_insert_default();
        let ips = json!([{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]);
        status.pod_ips = serde_json::from_value(ips).unwrap();
    });
    world.join(0, &slices);
    assert_eq!(step(&mut world, &slices), ["POST", "POST"]);
    let mut all = world.cluster.all::<EndpointSlice>();
    all.sort_by_key(|slice| slice.address_type.clone());
    let seen: Vec<_> = all
        .iter()
        .map(|slice| {
            let ports = slice.ports.iter().flatten().filter_map(|port| port.port);
            let endpoint = &slice.endpoints.as_ref().unwrap()[0];
            (
                slice.address_type.as_str(),
                endpoint.addresses.join(","),
                ports.collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("IPv4", "10.1.0.1".to_owned(), vec![8080, 8443]),
            ("IPv6", "fd00::1".to_owned(), vec![8080, 8443]),
        ]
    );
    world.change::<Service>("shop", "web", |service| {
        let spec = service.spec.get_or_insert_default();
        spec.ip_families = Some(vec!["IPv4".to_owned()]);
    });
    assert_eq!(step(&mut world, &slices), ["DELETE"]);
    // Upstream: a Service that goes gets no new slices.
    let mut world = super::world();
    service(&mut world, json!({}));
    world.change::<Service>("shop", "web", |service| {
        let at = jiff::Timestamp::UNIX_EPOCH;
        service.metadata.deletion_timestamp = Some(crate::common::time(at));
        service.metadata.finalizers = Some(vec!["a/b".to_owned()]);
    });
    world.join(0, &slices);
    assert!(step(&mut world, &slices).is_empty());
}
