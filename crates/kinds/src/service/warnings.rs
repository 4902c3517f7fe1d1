//! What to tell of a service that is accepted. Upstream: `pkg/api/service/warnings.go`.

use super::SPEC;
use super::cluster_ips::texts;
use crate::common::{cidr, ip};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::Path;

pub(super) fn of_service(service: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = service.at("spec");
    let hints = "service.kubernetes.io/topology-aware-hints";
    if service.at("metadata").at("annotations").has(hints) {
        warnings.push(format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let kind = spec.text("type");
    let headless = kind == "ClusterIP" && spec.text("clusterIP") == "None";
    if !matches!(spec.text("clusterIP"), "" | "None") {
        warnings.extend(of_addresses(spec, "clusterIPs"));
    }
    let external = !spec.list("externalIPs").is_empty();
    if headless {
        let ignored = |field: &str| format!("spec.{field} is ignored for headless services");
        if !spec.text("loadBalancerIP").is_empty() {
            warnings.push(ignored("loadBalancerIP"));
        }
        if external {
            warnings.push(ignored("externalIPs"));
        }
        if spec.text("sessionAffinity") != "None" {
            warnings.push(ignored("SessionAffinity"));
        }
    }
    warnings.extend(of_addresses(spec, "externalIPs"));
    if external && !headless && kind != "ExternalName" {
        let text =
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(text.to_owned());
    }
    let address = spec.text("loadBalancerIP");
    warnings.extend(ip::warnings(&SPEC.child("loadBalancerIP"), address));
    let path = SPEC.child("loadBalancerSourceRanges");
    for (i, range) in texts(spec, "loadBalancerSourceRanges")
        .into_iter()
        .enumerate()
    {
        warnings.extend(cidr::warnings(&path.index(i), range));
    }
    if kind == "ExternalName" && external {
        let text = "spec.externalIPs is ignored when spec.type is \"ExternalName\"";
        warnings.push(text.to_owned());
    }
    if kind != "ExternalName" && !spec.text("externalName").is_empty() {
        let text = "spec.externalName is ignored when spec.type is not \"ExternalName\"";
        warnings.push(text.to_owned());
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        let text =
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(text.to_owned());
    }
    warnings
}

fn of_addresses(spec: &Value, key: &str) -> Vec<String> {
    let path = SPEC.child(key);
    let each = texts(spec, key).into_iter().enumerate();
    each.flat_map(|(i, address)| ip::warnings(&path.index(i), address))
        .collect()
}

/// Of the addresses in the status.
pub(crate) fn of_load_balancer(object: &Value) -> Vec<String> {
    let path = Path::new("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let ingress = object.path(&["status", "loadBalancer"]).list("ingress");
    let each = ingress.iter().enumerate();
    each.flat_map(|(i, point)| ip::warnings(&path.index(i), point.text("ip")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn old_and_useless_fields_are_pointed_out() {
        let service = json!({"spec": {"type": "ClusterIP", "clusterIP": "None",
            "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP", "externalName": "x",
            "trafficDistribution": "PreferClose"}});
        assert_eq!(
            of_service(&service),
            [
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
            ]
        );
        let service = json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"], "externalIPs": ["01.2.3.4"],
            "loadBalancerSourceRanges": ["10.0.0.1/8"]}});
        let warnings = of_service(&service);
        assert_eq!(warnings.len(), 3);
        assert!(warnings[0].starts_with("spec.externalIPs[0]: non-standard IP address"));
        assert!(warnings[1].starts_with("spec.externalIPs is deprecated"));
        assert!(warnings[2].starts_with("spec.loadBalancerSourceRanges[0]: CIDR value"));
    }
}
