//! Where the API server itself is found: the service `kubernetes` and its endpoints.
//!
//! Upstream: `pkg/controlplane/controller/kubernetesservice` and `pkg/controlplane/reconcilers`.

use crate::api::Api;
use crate::bootstrap::{born, kubernetes_service};
use crate::resource::Resource;
use crate::storage;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use stowplan_machinery::{Edit, View};
use stowplan_store::{CommitError, Expect, Txn};

/// Makes the three objects say that the server is at an address.
pub(crate) async fn run(api: &Api, address: SocketAddr) -> Result<(), CommitError> {
    let (ip, port) = (reachable(address.ip()), address.port());
    let wanted = [
        ("", "services", "spec", kubernetes_service(port)),
        ("", "endpoints", "subsets", endpoints(ip, port)),
        (
            "discovery.k8s.io",
            "endpointslices",
            "endpoints",
            slice(ip, port),
        ),
    ];
    let mut changes = Txn::new();
    for (group, plural, part, object) in wanted {
        let Some(resource) = api.resources().by_group(group, plural) else {
            continue;
        };
        changes = settled(api, &resource, part, object, changes);
    }
    api.store().commit(changes).await.map(drop)
}

/// Adds what is missing, and replaces what says something else.
fn settled(api: &Api, resource: &Resource, part: &str, object: Value, changes: Txn) -> Txn {
    let key = api.key_of(resource.group(), resource.plural(), &object);
    let Some(entry) = api.store().get(key.as_bytes()) else {
        let bytes = storage::encode(&born(api, Some(resource), object));
        return changes.put(key, bytes, Expect::Absent);
    };
    let mut present = Value::clone(&storage::object(&entry));
    let same = |field: &str| present.at(field) == object.at(field);
    let ports = |object: &Value| object.at("spec").at("ports").clone();
    let fits = match resource.plural() {
        // An administrator may have changed the rest.
        "services" => ports(&present) == ports(&object),
        _ => same(part) && same("ports"),
    };
    if fits {
        return changes;
    }
    match resource.plural() {
        "services" => present.at_mut("spec").set("ports", ports(&object)),
        _ => {
            for field in [part, "ports"] {
                if object.has(field) {
                    present.set(field, object.at(field).clone());
                }
            }
        }
    }
    let bytes = storage::encode(&present);
    changes.put(key, bytes, Expect::Revision(entry.mod_revision))
}

/// The address that others are told: one of the host's own if the server listens on all of them or only
/// within the host. Upstream: `ResolveBindAddress`.
fn reachable(ip: IpAddr) -> IpAddr {
    if !ip.is_unspecified() && !ip.is_loopback() {
        return ip;
    }
    // Nothing is sent: the system only says from where it would be.
    let towards_all = || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
        socket.connect(("192.0.2.1", 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let found = towards_all().filter(|ip| !ip.is_unspecified());
    found.unwrap_or(ip)
}

fn endpoints(ip: IpAddr, port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": ip.to_string()}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }],
    })
}

fn slice(ip: IpAddr, port: u16) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
            "generation": 1,
        },
        "addressType": if ip.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [ip.to_string()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn the_service_leads_to_where_the_server_listens() {
        let api = testing::api().await;
        let parts = async || {
            let get = async |url: &str| testing::get(&api, url, "").await.1;
            let service = get("/api/v1/namespaces/default/services/kubernetes").await;
            let endpoints = get("/api/v1/namespaces/default/endpoints/kubernetes").await;
            let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
            let slice = get(&format!("{slices}/kubernetes")).await;
            let subset = &endpoints["subsets"][0];
            (
                service["spec"]["ports"][0]["targetPort"].clone(),
                subset["addresses"][0]["ip"].clone(),
                [&subset["ports"][0], &slice["ports"][0]].map(|port| port["port"].clone()),
                slice["endpoints"][0]["addresses"][0].clone(),
            )
        };
        for port in [7443, 7443, 8443] {
            let address = SocketAddr::from(([10, 1, 2, 3], port));
            run(&api, address).await.expect("a store that works");
            let ip = json!("10.1.2.3");
            let ports = [json!(port), json!(port)];
            assert_eq!(parts().await, (json!(port), ip.clone(), ports, ip));
        }
        let now = api.store().revision();
        let address = SocketAddr::from(([10, 1, 2, 3], 8443));
        run(&api, address).await.expect("a store that works");
        assert_eq!(api.store().revision(), now, "nothing is written twice");
    }

    #[test]
    fn others_are_not_told_of_loopback_if_there_is_anything_else() {
        let own = IpAddr::from([10, 1, 2, 3]);
        assert_eq!(reachable(own), own);
        let found = reachable(IpAddr::from([0, 0, 0, 0]));
        assert!(found.is_unspecified() || found.is_ipv4());
    }
}
