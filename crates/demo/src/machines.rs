//! The company's machines, and what they are used for.

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use stowplan_base::Duration;
use stowplan_nodes::{NodeTemplate, Rule, Rules, Usage};

/// Twelve nodes in three zones: ten ordinary ones, and two with GPUs that only who asks for them may use.
pub fn nodes() -> Vec<Node> {
    let zones = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let pool = |name: &str| [("pool".to_owned(), name.to_owned())].into();
    let ordinary = NodeTemplate {
        count: 10,
        zones: zones(&["a", "b", "c"]),
        labels: pool("general"),
        ..NodeTemplate::default()
    };
    let gpus = NodeTemplate {
        count: 2,
        zones: zones(&["b", "c"]),
        cpu: "16".to_owned(),
        memory: "128Gi".to_owned(),
        gpus: 4,
        taints: vec![Taint {
            key: "nvidia.com/gpu".to_owned(),
            value: Some("present".to_owned()),
            effect: "NoSchedule".to_owned(),
            time_added: None,
        }],
        labels: pool("gpu"),
        prefix: "gpu".to_owned(),
        ..NodeTemplate::default()
    };
    let mut nodes = ordinary.nodes();
    nodes.extend(gpus.nodes());
    nodes
}

/// How much pods use of what they request. Customers come and go, so that the shop is scaled up and down.
pub fn rules() -> Rules {
    let day = |low, high| Usage::Sine {
        low,
        high,
        period: Duration::from_secs(720),
    };
    let of = |app: &str, usage| Rule {
        selector: LabelSelector {
            match_labels: Some([("app".to_owned(), app.to_owned())].into()),
            ..LabelSelector::default()
        },
        usage: Some(usage),
        ..Rule::default()
    };
    Rules::new(vec![
        of("web", day(0.15, 1.05)),
        of("catalog", day(0.2, 0.7)),
        of("checkout", day(0.2, 0.6)),
        of("thumbnails", Usage::Fraction(0.95)),
        of("invoices", Usage::Fraction(0.8)),
        of("train", Usage::Fraction(0.9)),
        of("deadline", Usage::Fraction(0.9)),
        of("orders-db", day(0.3, 0.6)),
        Rule {
            usage: Some(day(0.15, 0.4)),
            ..Rule::default()
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_zone_has_four_nodes_and_two_have_gpus() {
        let mut zones = [0; 3];
        let mut tainted = 0;
        for node in nodes() {
            let zone = &node.metadata.labels.as_ref().unwrap()["topology.kubernetes.io/zone"];
            zones[usize::from(zone.as_bytes()[0] - b'a')] += 1;
            let capacity = node.status.unwrap().capacity.unwrap();
            let taints = node.spec.unwrap().taints.unwrap_or_default();
            assert_eq!(capacity.contains_key("nvidia.com/gpu"), !taints.is_empty());
            tainted += taints.len();
        }
        assert_eq!((zones, tainted), ([4; 3], 2));
    }
}
