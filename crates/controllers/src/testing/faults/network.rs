//! Endpoints and their slices.

use super::*;
use crate::endpoint::EndpointsOfServices;
use crate::endpointslice::EndpointSlices;
use crate::endpointslice_mirroring::Mirroring;
use k8s_openapi::api::core::v1::{EndpointSubset, Endpoints, Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

fn add_pod(world: &mut World, name: &str) {
    world.add_json::<Pod>(json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": []},
    }));
}

fn service(world: &mut World, selects: bool) {
    world.add_json::<Node>(json!({"metadata": {"name": "n1"}}));
    let selector = selects.then(|| json!({"app": "web"}));
    world.add_json::<Service>(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": selector,
            "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
    }));
}

fn change_port(world: &mut World) {
    world.change_on_server::<Service>("shop", "web", |service| {
        let ports = &mut service.spec.get_or_insert_default().ports;
        ports.get_or_insert_default()[0].name = Some("other".to_owned());
    });
}

/// Ports, addresses and readiness of all slices.
fn end_of_slices(world: &World) -> String {
    let slices = world.on_server::<EndpointSlice>();
    let mut all: Vec<_> = slices
        .iter()
        .map(|slice| {
            let ports = slice.ports.iter().flatten();
            let ports: Vec<_> = ports.map(|port| port.name.clone()).collect();
            let endpoints = slice.endpoints.iter().flatten();
            let endpoints: Vec<_> = endpoints
                .map(|one| {
                    (
                        one.addresses.clone(),
                        one.conditions.clone().and_then(|c| c.ready),
                    )
                })
                .collect();
            format!("{ports:?} {endpoints:?}")
        })
        .collect();
    all.sort();
    all.join(", ")
}

const STEPS: &[fn(&mut World)] = &[
    |world| add_pod(world, "pod-4"),
    |world| world.remove::<Pod>("shop", "p-1"),
    change_port,
];

#[test]
fn slices_follow_pods() {
    Scenario {
        controllers: || vec![Box::<EndpointSlices>::default()],
        start: |world| {
            service(world, true);
            add_pod(world, "p-1");
            add_pod(world, "po-2");
        },
        steps: STEPS,
        live: run,
        check: |_| {},
        end: end_of_slices,
        span: MINUTES,
    }
    .play();
}

#[test]
fn endpoints_follow_pods() {
    Scenario {
        controllers: || vec![Box::<EndpointsOfServices>::default()],
        start: |world| {
            service(world, true);
            add_pod(world, "p-1");
            add_pod(world, "po-2");
        },
        steps: STEPS,
        live: run,
        check: |_| {},
        end: |world| {
            let made = world.on_server::<Endpoints>().pop();
            let subsets = made.and_then(|one| one.subsets).unwrap_or_default();
            let row = |subset: &EndpointSubset| {
                let ready = subset.addresses.iter().flatten();
                let ready: Vec<_> = ready.map(|one| one.ip.clone()).collect();
                let ports = subset.ports.iter().flatten();
                let ports: Vec<_> = ports.map(|port| port.name.clone()).collect();
                format!("{ready:?} {:?} {ports:?}", subset.not_ready_addresses)
            };
            subsets.iter().map(row).collect()
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn slices_mirror_endpoints() {
    Scenario {
        controllers: || vec![Box::<Mirroring>::default()],
        start: |world| {
            service(world, false);
            world.add_json::<Endpoints>(json!({
                "metadata": {"name": "web", "namespace": "shop"},
                "subsets": [{"addresses": [{"ip": "1.2.3.4"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]}],
            }));
        },
        steps: &[|world| {
            world.change_on_server::<Endpoints>("shop", "web", |endpoints| {
                let subsets = json!([{"addresses": [{"ip": "1.2.3.5"}], "ports": [{"port": 81}]}]);
                endpoints.subsets = serde_json::from_value(subsets).expect("subsets");
            });
        }],
        live: |_| false,
        check: |_| {},
        end: end_of_slices,
        span: MINUTES,
    }
    .play();
}
