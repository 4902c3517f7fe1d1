//! Services, their endpoints, and networking.k8s.io.

use super::text::{annotation, at_most_three, count, labels, or, selector, three_of};
use super::{Columns, age};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::{View, meta};

pub(crate) static SERVICES: Columns = Columns::new("services", |object, now_s| {
    let spec = object.at("spec");
    let ip = spec.list("clusterIPs").first().and_then(Value::as_str);
    vec![
        json!(meta::name(object)),
        json!(spec.text("type")),
        json!(ip.unwrap_or("<none>")),
        json!(external_ip(object)),
        json!(or(&service_ports(spec), "<none>")),
        json!(age::of(object, now_s)),
        json!(labels(spec.at("selector"))),
    ]
});

pub(crate) static ENDPOINTS: Columns = Columns::new("endpoints", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(endpoints(object.list("subsets"))),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static ENDPOINT_SLICES: Columns = Columns::new("endpointslices", |object, now_s| {
    let ports = object.list("ports").iter().map(|port| {
        match (port.int("port"), port.at("name").as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        }
    });
    let addresses = object.list("endpoints").iter().flat_map(|endpoint| {
        let all = endpoint.list("addresses").iter();
        all.map(|a| a.as_str().unwrap_or_default().to_owned())
    });
    vec![
        json!(meta::name(object)),
        json!(object.text("addressType")),
        json!(at_most_three(&ports.collect::<Vec<_>>(), "<unset>")),
        json!(at_most_three(&addresses.collect::<Vec<_>>(), "<unset>")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static INGRESSES: Columns = Columns::new("ingresses", |object, now_s| {
    let spec = object.at("spec");
    let ports = match spec.list("tls") {
        [] => "80",
        _ => "80, 443",
    };
    vec![
        json!(meta::name(object)),
        json!(spec.at("ingressClassName").as_str().unwrap_or("<none>")),
        json!(hosts(spec.list("rules"))),
        json!(load_balancer(object)),
        json!(ports),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static INGRESS_CLASSES: Columns = Columns::new("ingressclasses", |object, now_s| {
    let spec = object.at("spec");
    let default = "ingressclass.kubernetes.io/is-default-class";
    let mark = match annotation(object, default) {
        "true" => " (default)",
        _ => "",
    };
    let parameters = match spec.at("parameters") {
        Value::Null => "<none>".to_owned(),
        to => match to.at("apiGroup").as_str() {
            Some(group) => format!("{}.{group}/{}", to.text("kind"), to.text("name")),
            None => format!("{}/{}", to.text("kind"), to.text("name")),
        },
    };
    vec![
        json!(format!("{}{mark}", meta::name(object))),
        json!(spec.text("controller")),
        json!(parameters),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static NETWORK_POLICIES: Columns = Columns::new("networkpolicies", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(selector(object.path(&["spec", "podSelector"]))),
        json!(age::of(object, now_s)),
    ]
});

/// The addresses that a load balancer has given, in order.
fn load_balancer(object: &Value) -> String {
    let ingress = object.path(&["status", "loadBalancer"]).list("ingress");
    let each = ingress.iter().map(|i| or(i.text("ip"), i.text("hostname")));
    let sorted: BTreeSet<&str> = each.filter(|address| !address.is_empty()).collect();
    sorted.into_iter().collect::<Vec<_>>().join(",")
}

fn external_ip(service: &Value) -> String {
    let spec = service.at("spec");
    let external = spec.list("externalIPs").iter().filter_map(Value::as_str);
    let external = external.collect::<Vec<_>>().join(",");
    match spec.text("type") {
        "ClusterIP" | "NodePort" => or(&external, "<none>").to_owned(),
        "LoadBalancer" => {
            let given = load_balancer(service);
            let both = [given, external];
            let both: Vec<&str> = both.iter().map(String::as_str).collect();
            let both = both.into_iter().filter(|part| !part.is_empty());
            or(&both.collect::<Vec<_>>().join(","), "<pending>").to_owned()
        }
        "ExternalName" => spec.text("externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn service_ports(spec: &Value) -> String {
    let each = spec.list("ports").iter().map(|port| {
        let (number, protocol) = (count(port, "port"), port.text("protocol"));
        match count(port, "nodePort") {
            node_port @ 1.. => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    });
    each.collect::<Vec<_>>().join(",")
}

fn endpoints(subsets: &[Value]) -> String {
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    // Each address with each port: only the first are written out.
    let (mut shown, mut all) = (Vec::new(), 0);
    for subset in subsets {
        let (addresses, ports) = (subset.list("addresses"), subset.list("ports"));
        let addresses_left = || addresses.iter().map(|a| a.text("ip")).take(3);
        all += addresses.len() * ports.len().max(1);
        if ports.is_empty() {
            shown.extend(addresses_left().map(str::to_owned));
        }
        for port in ports.iter().take(3) {
            let port = count(port, "port");
            shown.extend(addresses_left().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{port}"),
                false => format!("{ip}:{port}"),
            }));
        }
        shown.truncate(3);
    }
    three_of(&shown, all, "")
}

/// At most three hosts; the rules beyond the third that names one are counted, not shown.
fn hosts(rules: &[Value]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == 3;
        if !more && !rule.text("host").is_empty() {
            shown.push(rule.text("host"));
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_show_where_they_can_be_reached() {
        let service = |spec: Value, status: Value| {
            let object = json!({"spec": spec, "status": {"loadBalancer": status}});
            (SERVICES.row)(&object, 0)[2..5].to_vec()
        };
        let cells = service(
            json!({"type": "NodePort", "clusterIPs": ["10.0.0.1"], "ports": [
                {"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}
            ]}),
            json!({}),
        );
        assert_eq!(cells, ["10.0.0.1", "<none>", "80:30000/TCP,53/UDP"]);
        let spec = json!({"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]});
        let status = json!({"ingress": [{"hostname": "lb"}, {"ip": "1.2.3.4"}]});
        let cells = service(spec.clone(), status);
        assert_eq!(cells, ["<none>", "1.2.3.4,lb,9.9.9.9", "<none>"]);
        let cells = service(json!({"type": "LoadBalancer"}), json!({}));
        assert_eq!(cells[1], "<pending>");
    }

    #[test]
    fn endpoints_are_cut_at_three() {
        let ips = |n: usize| (0..n).map(|i| json!({"ip": format!("10.0.0.{i}")}));
        let subset = |n, ports: Value| {
            let addresses: Vec<Value> = ips(n).collect();
            endpoints(&[json!({"addresses": addresses, "ports": ports})])
        };
        assert_eq!(endpoints(&[]), "<none>");
        assert_eq!(subset(1, json!([{"port": 80}])), "10.0.0.0:80");
        let cut = "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...";
        assert_eq!(subset(5, json!([])), cut);
        assert_eq!(subset(0, json!([])), "");
    }

    #[test]
    fn hosts_are_cut_at_three() {
        let rules = |hosts: &[&str]| {
            let all = hosts.iter().map(|host| json!({"host": host}));
            super::hosts(&all.collect::<Vec<_>>())
        };
        assert_eq!(rules(&[]), "*");
        assert_eq!(rules(&["a", "b", "c"]), "a,b,c");
        assert_eq!(rules(&["a", "b", "c", "d", "e"]), "a,b,c + 2 more...");
    }
}
