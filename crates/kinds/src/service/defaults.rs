//! Upstream: `SetDefaults_Service` of `pkg/apis/core/v1/defaults.go`.

use super::is_externally_accessible;
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View};

const CLIENT_IP_TIMEOUT_S: i64 = 10800;

pub(super) fn set(service: &mut Value) {
    let spec = service.at_mut("spec");
    set_affinity(spec);
    if spec.text("type").is_empty() {
        spec.set("type", "ClusterIP");
    }
    for port in spec.each_mut("ports") {
        if port.text("protocol").is_empty() {
            port.set("protocol", "TCP");
        }
        let target = port.at("targetPort");
        if target.is_null() || *target == json!(0) || *target == json!("") {
            let number = port.int("port").unwrap_or_default();
            port.set("targetPort", number);
        }
    }
    let kind = service.at("spec").text("type").to_owned();
    let accessible = is_externally_accessible(service);
    let spec = service.at_mut("spec");
    if accessible && spec.text("externalTrafficPolicy").is_empty() {
        spec.set("externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        spec.default_to("internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.default_to("allocateLoadBalancerNodePorts", true);
        if let Some(status) = service
            .child_mut("status")
            .and_then(|status| status.child_mut("loadBalancer"))
        {
            for ingress in status.each_mut("ingress") {
                if !ingress.text("ip").is_empty() {
                    ingress.default_to("ipMode", "VIP");
                }
            }
        }
    }
}

fn set_affinity(spec: &mut Value) {
    if spec.text("sessionAffinity").is_empty() {
        spec.set("sessionAffinity", "None");
    }
    match spec.text("sessionAffinity") {
        "None" => {
            spec.unset("sessionAffinityConfig");
        }
        "ClientIP" => {
            let timeout = spec.path(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
            if timeout.is_null() {
                let config = json!({"clientIP": {"timeoutSeconds": CLIENT_IP_TIMEOUT_S}});
                spec.set("sessionAffinityConfig", config);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: Value, expected: Value) {
        let mut service = json!({"spec": spec});
        set(&mut service);
        assert_eq!(service["spec"], expected);
    }

    #[test]
    fn types_have_their_own_defaults() {
        check(
            json!({"ports": [{"port": 80}, {"port": 81, "targetPort": "a", "protocol": "UDP"}]}),
            json!({"type": "ClusterIP", "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster", "ports": [
                {"port": 80, "protocol": "TCP", "targetPort": 80},
                {"port": 81, "targetPort": "a", "protocol": "UDP"}]}),
        );
        check(
            json!({"type": "ExternalName", "sessionAffinityConfig": {}}),
            json!({"type": "ExternalName", "sessionAffinity": "None"}),
        );
        check(
            json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP"}),
            json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
                "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": true}),
        );
    }

    #[test]
    fn addresses_of_load_balancers_have_a_mode() {
        let ingress = json!([{"ip": "1.2.3.4"}, {"hostname": "a"}]);
        let mut service = json!({"spec": {"type": "LoadBalancer"},
            "status": {"loadBalancer": {"ingress": ingress}}});
        set(&mut service);
        let expected = json!([{"ip": "1.2.3.4", "ipMode": "VIP"}, {"hostname": "a"}]);
        assert_eq!(service["status"]["loadBalancer"]["ingress"], expected);
    }
}
