//! What a field selector may ask of pods.

use crate::fields::{Fields, Refusal};
use serde_json::Value;
use stowplan_apimachinery::{View, meta};

/// Upstream: `ToSelectableFields` in `pkg/registry/core/pod/strategy.go`, and the labels that
/// `pkg/apis/core/v1/conversion.go` lets through.
pub(crate) static POD_FIELDS: Fields = Fields {
    known: &[
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
        "spec.host",
    ],
    refusal: Refusal::NotSupported,
    value,
};

fn value(pod: &Value, label: &str) -> String {
    let (spec, status) = (pod.at("spec"), pod.at("status"));
    match label {
        "metadata.name" => meta::name(pod),
        "metadata.namespace" => meta::namespace(pod),
        // The old name of the field.
        "spec.host" => spec.text("nodeName"),
        "spec.hostNetwork" => match spec.flag("hostNetwork") {
            true => "true",
            false => "false",
        },
        "status.podIP" => status.list("podIPs").first().map_or("", |ip| ip.text("ip")),
        // Known, but no pod has it.
        "status.podIPs" => "",
        label => match label.split_once('.') {
            Some(("spec", field)) => spec.text(field),
            Some(("status", field)) => status.text(field),
            _ => "",
        },
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::value;
    use serde_json::json;

    #[test]
    fn fields_of_a_pod() {
        let pod = json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"nodeName": "x"},
            "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]},
        });
        for (label, expected) in [
            ("metadata.name", "a"),
            ("metadata.namespace", "n"),
            ("spec.nodeName", "x"),
            ("spec.host", "x"),
            ("spec.hostNetwork", "false"),
            ("status.phase", "Running"),
            ("status.podIP", "1.2.3.4"),
            ("status.podIPs", ""),
            ("status.nominatedNodeName", ""),
        ] {
            assert_eq!(value(&pod, label), expected, "{label}");
        }
    }
}
