//! What a service loses when it changes its type.
//!
//! Upstream: `dropTypeDependentFields` of `pkg/registry/core/service/strategy.go`. Fields that the
//! caller set for the new type stay; those that merely came along go.

use super::{is_externally_accessible, needs_cluster_ip, needs_health_check, node_port};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::{Edit, View};

pub(super) fn drop_fields_of_old_type(new: &mut Value, old: &Value) {
    let before = old.at("spec");
    let same = |new: &Value, key: &str| new.at("spec").at(key) == before.at(key);
    let mut dropped: Vec<&str> = Vec::new();
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            dropped.extend(["clusterIP", "clusterIPs"]);
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if same(new, key) {
                dropped.push(key);
            }
        }
    }
    let lost_node_ports =
        has_node_ports(old) && !has_node_ports(new) && node_ports(new).is_subset(&node_ports(old));
    if needs_health_check(old) && !needs_health_check(new) && same(new, "healthCheckNodePort") {
        dropped.push("healthCheckNodePort");
    }
    let balanced = |service: &Value| service.at("spec").text("type") == "LoadBalancer";
    if balanced(old) && !balanced(new) {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, key) {
                dropped.push(key);
            }
        }
    }
    if is_externally_accessible(old)
        && !is_externally_accessible(new)
        && same(new, "externalTrafficPolicy")
    {
        dropped.push("externalTrafficPolicy");
    }
    let keeps_status = balanced(new);
    let spec = new.at_mut("spec");
    for key in dropped {
        spec.unset(key);
    }
    if lost_node_ports {
        for port in spec.each_mut("ports") {
            port.unset("nodePort");
        }
    }
    if !keeps_status {
        new.at_mut("status").set("loadBalancer", json!({}));
    }
}

fn has_node_ports(service: &Value) -> bool {
    matches!(service.at("spec").text("type"), "NodePort" | "LoadBalancer")
}

fn node_ports(service: &Value) -> BTreeSet<i64> {
    let ports = service.at("spec").list("ports").iter().map(node_port);
    ports.filter(|port| *port != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_elsewhere_has_no_address() {
        let old = json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.9",
            "clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "externalTrafficPolicy": "Cluster", "ports": [{"port": 80, "nodePort": 30000}]}});
        let mut new = old.clone();
        new["spec"]["type"] = json!("ExternalName");
        drop_fields_of_old_type(&mut new, &old);
        let expected = json!({"type": "ExternalName", "ports": [{"port": 80}]});
        assert_eq!(new["spec"], expected);
        assert_eq!(new["status"], json!({"loadBalancer": {}}));
    }

    #[test]
    fn what_was_set_anew_stays() {
        let old = json!({"spec": {"type": "LoadBalancer", "loadBalancerClass": "a/b",
            "ports": [{"port": 80, "nodePort": 30000}]}});
        let new = json!({"spec": {"type": "ClusterIP", "loadBalancerClass": "a/c",
            "ports": [{"port": 80, "nodePort": 30001}]}});
        let mut changed = new.clone();
        drop_fields_of_old_type(&mut changed, &old);
        assert_eq!(changed["spec"], new["spec"]);
    }
}
