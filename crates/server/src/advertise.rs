//! Where the API server itself is found: the service `kubernetes` and its endpoints.
//!
//! Upstream: `pkg/controlplane/controller/kubernetesservice` and `pkg/controlplane/reconcilers`.

use crate::api::Api;
use crate::bootstrap::{born, kubernetes_service};
use crate::resource::Resource;
use crate::storage;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use stowplan_apimachinery::{Edit, View};
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
    make_way(api, ip).await?;
    for (group, plural, part, object) in wanted {
        let Some(resource) = api.resources().by_group(group, plural) else {
            continue;
        };
        changes = settled(api, &resource, part, object, changes);
    }
    api.store().commit(changes).await.map(drop)
}

/// Deletes a slice of the other family of addresses: the type of a slice does not change. Upstream:
/// `EnsureEndpointSliceFromEndpoints`.
async fn make_way(api: &Api, ip: IpAddr) -> Result<(), CommitError> {
    let Some(resource) = api
        .resources()
        .by_group("discovery.k8s.io", "endpointslices")
    else {
        return Ok(());
    };
    let key = api.key_of(resource.group(), resource.plural(), &slice(ip, 0));
    let Some(entry) = api.store().get(key.as_bytes()) else {
        return Ok(());
    };
    if storage::object(&entry).text("addressType") == family(ip) {
        return Ok(());
    }
    let gone = Txn::new().delete(key, Expect::Revision(entry.mod_revision));
    api.store().commit(gone).await.map(drop)
}

fn family(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
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
pub(crate) fn reachable(ip: IpAddr) -> IpAddr {
    reachable_from(ip, &towards_all)
}

/// `towards` says which address the host has in the world of another one.
fn reachable_from(ip: IpAddr, towards: &dyn Fn(IpAddr) -> Option<IpAddr>) -> IpAddr {
    if !ip.is_unspecified() && !ip.is_loopback() {
        return ip;
    }
    let (v4, v6) = (
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    );
    // Who listens on all addresses of the newer family does so on those of the older one.
    let families: &[IpAddr] = match ip {
        IpAddr::V4(_) => &[v4],
        IpAddr::V6(_) if ip.is_unspecified() => &[v6, v4],
        IpAddr::V6(_) => &[v6],
    };
    let mut found = families.iter().filter_map(|family| towards(*family));
    let found = found.find(|ip| !ip.is_unspecified() && !ip.is_loopback());
    found.unwrap_or(ip)
}

/// The address from which the host would send to others of a family. Nothing is sent.
fn towards_all(family: IpAddr) -> Option<IpAddr> {
    // Addresses that are set apart for documentation.
    let other: IpAddr = match family {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((family, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
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
        "addressType": family(ip),
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

    #[tokio::test]
    async fn a_slice_is_of_one_family() {
        let api = testing::api().await;
        let url = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
        let mut uids = Vec::new();
        for (ip, family) in [
            ("10.1.2.3", "IPv4"),
            ("fd00::7", "IPv6"),
            ("fd00::8", "IPv6"),
            ("10.1.2.3", "IPv4"),
        ] {
            let address = SocketAddr::new(ip.parse().expect("an address"), 7443);
            run(&api, address).await.expect("a store that works");
            let slice = testing::get(&api, url, "").await.1;
            assert_eq!(slice["addressType"], family);
            assert_eq!(slice["endpoints"][0]["addresses"], json!([ip]));
            uids.push(slice["metadata"]["uid"].clone());
        }
        assert_eq!(uids[1], uids[2], "another address of the same family");
        assert!(uids[0] != uids[1] && uids[2] != uids[3], "another slice");
    }

    #[test]
    fn others_are_not_told_of_loopback_if_there_is_anything_else() {
        let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let host = |family: IpAddr| match family {
            IpAddr::V4(_) => Some(ip("10.0.0.9")),
            IpAddr::V6(_) => Some(ip("fd00::9")),
        };
        let old = |family: IpAddr| host(family).filter(IpAddr::is_ipv4);
        let alone = |_: IpAddr| None;
        let within = |_: IpAddr| Some(ip("127.0.0.1"));
        for (listens, with_both, with_old, without) in [
            ("10.1.2.3", "10.1.2.3", "10.1.2.3", "10.1.2.3"),
            ("127.0.0.1", "10.0.0.9", "10.0.0.9", "127.0.0.1"),
            ("0.0.0.0", "10.0.0.9", "10.0.0.9", "0.0.0.0"),
            ("::1", "fd00::9", "::1", "::1"),
            ("::", "fd00::9", "10.0.0.9", "::"),
        ] {
            let listens = ip(listens);
            assert_eq!(reachable_from(listens, &host), ip(with_both));
            assert_eq!(reachable_from(listens, &old), ip(with_old));
            assert_eq!(reachable_from(listens, &alone), ip(without));
            assert_eq!(reachable_from(listens, &within), ip(without));
        }
        // What the system says is of the family that was asked for.
        for family in [ip("0.0.0.0"), ip("::")] {
            let found = towards_all(family);
            assert!(found.is_none_or(|found| found.is_ipv4() == family.is_ipv4()));
        }
    }
}
