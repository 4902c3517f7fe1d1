//! What a pod may know of itself: the downward API. Upstream: `pkg/fieldpath`, `pkg/api/v1/resource`.

use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use std::collections::BTreeMap;
use stowplan_base::Quantity;

/// Where a pod runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Place {
    pub(crate) host_ip: String,
    pub(crate) pod_ip: String,
    /// What the node has for pods.
    pub(crate) allocatable: BTreeMap<String, ApiQuantity>,
}

/// `a="b"` lines, in order. Upstream's `FormatMap`.
fn lines(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map.into_iter().flatten();
    let lines: Vec<String> = lines
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    lines.join("\n")
}

/// A field of the pod, as text.
pub(crate) fn field(pod: &Pod, path: &str, place: &Place) -> Result<String, String> {
    let meta = &pod.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let spec = pod.spec.as_ref();
    if let Some((map, key)) = subscript(path) {
        let map = match map {
            "metadata.annotations" => meta.annotations.as_ref(),
            "metadata.labels" => meta.labels.as_ref(),
            _ => return Err(format!("fieldPath {path:?} does not support subscript")),
        };
        return Ok(map
            .and_then(|map| map.get(key))
            .cloned()
            .unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => text(&meta.name),
        "metadata.namespace" => text(&meta.namespace),
        "metadata.uid" => text(&meta.uid),
        "metadata.labels" => lines(meta.labels.as_ref()),
        "metadata.annotations" => lines(meta.annotations.as_ref()),
        "spec.nodeName" => spec.map(|spec| text(&spec.node_name)).unwrap_or_default(),
        "spec.serviceAccountName" => spec
            .map(|spec| text(&spec.service_account_name))
            .unwrap_or_default(),
        "status.hostIP" | "status.hostIPs" => place.host_ip.clone(),
        "status.podIP" | "status.podIPs" => place.pod_ip.clone(),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

/// `metadata.labels['app']`.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (map, rest) = path.split_once("['")?;
    Some((map, rest.strip_suffix("']")?))
}

/// A container of the pod, an init container included. Upstream's `findContainerInPod`.
pub(crate) fn container_named<'p>(pod: &'p Pod, name: &str) -> Option<&'p Container> {
    let spec = pod.spec.as_ref()?;
    let mut all = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    all.find(|one| one.name == name)
}

/// An amount of a container's, as text; what has no limit has that of the node.
pub(crate) fn resource(
    container: &Container,
    wanted: &ResourceFieldSelector,
    place: &Place,
) -> Result<String, String> {
    let path = wanted.resource.as_str();
    let unknown = || format!("unsupported container resource : {path}");
    let (list, name) = path.split_once('.').ok_or_else(unknown)?;
    let resources = container.resources.as_ref();
    let said = match list {
        "limits" => resources.and_then(|one| one.limits.as_ref()),
        "requests" => resources.and_then(|one| one.requests.as_ref()),
        _ => return Err(unknown()),
    };
    let said = said.and_then(|list| list.get(name));
    let fallback = (list == "limits")
        .then(|| place.allocatable.get(name))
        .flatten();
    let amount = match said.or(fallback) {
        Some(amount) => quantity(amount)?,
        None => return Ok("0".to_owned()),
    };
    let divisor = match wanted.divisor.as_ref().filter(|one| one.0 != "0") {
        Some(divisor) => quantity(divisor)?,
        None => quantity(&ApiQuantity("1".to_owned()))?,
    };
    let (amount, divisor) = match name {
        "cpu" => (amount.milli_value(), divisor.milli_value()),
        _ => (amount.value(), divisor.value()),
    };
    let divisor = divisor.max(1);
    Ok((amount / divisor + i64::from(amount % divisor != 0)).to_string())
}

pub(crate) fn quantity(amount: &ApiQuantity) -> Result<Quantity, String> {
    let wrong = |_| format!("{:?} is no quantity", amount.0);
    amount.0.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_and_amounts_are_those_of_the_pod() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"b": "2", "a": "x \"y\""}},
            "spec": {"nodeName": "node-1", "serviceAccountName": "default", "containers": [
                {"name": "c", "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}}},
            ]},
        }))
        .unwrap();
        let place = Place {
            host_ip: "127.0.0.1".to_owned(),
            pod_ip: "127.0.0.1".to_owned(),
            allocatable: [(
                "ephemeral-storage".to_owned(),
                ApiQuantity("10Gi".to_owned()),
            )]
            .into(),
        };
        for (path, expected) in [
            ("metadata.name", "p"),
            ("metadata.labels['b']", "2"),
            ("metadata.labels", "a=\"x \\\"y\\\"\"\nb=\"2\""),
            ("metadata.annotations['none']", ""),
            ("spec.nodeName", "node-1"),
            ("status.podIP", "127.0.0.1"),
        ] {
            assert_eq!(field(&pod, path, &place).as_deref(), Ok(expected), "{path}");
        }
        assert!(field(&pod, "spec.nothing", &place).is_err());
        let container = &pod.spec.as_ref().unwrap().containers[0];
        for (path, divisor, expected) in [
            ("limits.cpu", "0", "2"),
            ("limits.cpu", "1m", "1500"),
            ("limits.memory", "1Mi", "64"),
            ("limits.memory", "0", "67108864"),
            ("limits.ephemeral-storage", "1Gi", "10"),
            ("requests.cpu", "1m", "0"),
        ] {
            let wanted = ResourceFieldSelector {
                resource: path.to_owned(),
                divisor: Some(ApiQuantity(divisor.to_owned())),
                container_name: None,
            };
            assert_eq!(
                resource(container, &wanted, &place).as_deref(),
                Ok(expected),
                "{path}"
            );
        }
    }
}
