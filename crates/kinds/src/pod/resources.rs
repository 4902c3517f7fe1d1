//! What the containers of a pod ask for together, and the class that follows from it.
//!
//! Upstream: `k8s.io/component-helpers/resource` and `pkg/apis/core/helper/qos`.

use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_base::amounts;
pub use stowplan_base::resource_names::is_pod_level;

/// Which half of `resources`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// What is set aside.
    Requests,
    /// What may be used at most.
    Limits,
}

impl Half {
    /// The field's name.
    pub fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// Whether a container of `initContainers` keeps running beside the others.
pub fn is_sidecar(container: &Value) -> bool {
    container.text("restartPolicy") == "Always"
}

/// The sum over all containers: init containers run one by one before the others, beside the
/// sidecars that started before them.
pub fn aggregate(spec: &Value, half: Half) -> ResourceList {
    sum_containers(spec, |container| {
        ResourceList::of(container.at("resources").at(half.field()))
    })
}

/// The same, of whatever counts of a container.
pub fn sum_containers(spec: &Value, of: impl Fn(&Value) -> ResourceList) -> ResourceList {
    let containers = spec.list("containers").iter().map(&of);
    let init = spec.list("initContainers").iter();
    let init = init.map(|container| (of(container), is_sidecar(container)));
    amounts::of_containers(containers, init)
}

/// Whether the pod as a whole asks for something that pods may ask for.
pub fn has_pod_level(spec: &Value) -> bool {
    let resources = spec.at("resources");
    [Half::Requests, Half::Limits].iter().any(|half| {
        resources
            .entries(half.field())
            .any(|(k, _)| is_pod_level(k))
    })
}

/// `Guaranteed`, `Burstable` or `BestEffort` (`ComputePodQOS`).
pub fn qos_class(spec: &Value) -> &'static str {
    let mut sums = [ResourceList::default(), ResourceList::default()];
    let mut guaranteed = true;
    if spec.has("resources") {
        guaranteed = add_up(spec.at("resources"), &mut sums);
    } else {
        for list in ["initContainers", "containers"] {
            for container in spec.list(list) {
                guaranteed &= add_up(container.at("resources"), &mut sums);
            }
        }
    }
    let [requests, limits] = &sums;
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let even = requests
        .iter()
        .all(|(name, request)| limits.get(name) == Some(request));
    match guaranteed && even && requests.len() == limits.len() {
        true => "Guaranteed",
        false => "Burstable",
    }
}

/// Adds cpu and memory to requests and limits; says whether both have a limit.
fn add_up(resources: &Value, [requests, limits]: &mut [ResourceList; 2]) -> bool {
    let counted = |half: Half| -> ResourceList {
        let entries = resources.entries(half.field());
        entries
            .filter(|(name, _)| matches!(*name, "cpu" | "memory"))
            .map(|(name, value)| (name.to_owned(), Quantity::of(value)))
            .filter(|(_, q)| !q.is_zero() && !q.is_negative())
            .collect()
    };
    requests.add(&counted(Half::Requests));
    let own = counted(Half::Limits);
    limits.add(&own);
    own.contains_key("cpu") && own.contains_key("memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn container(requests: Value) -> Value {
        json!({"resources": {"requests": requests}})
    }

    #[test]
    fn init_containers_count_when_they_need_more_than_the_rest() {
        let mut sidecar = container(json!({"cpu": "1"}));
        sidecar["restartPolicy"] = "Always".into();
        let spec = json!({
            "containers": [container(json!({"cpu": "500m"})), container(json!({"memory": "1Gi"}))],
            "initContainers": [container(json!({"cpu": "1400m"})), sidecar, container(json!({"cpu": "2"}))],
        });
        let sum = aggregate(&spec, Half::Requests);
        assert_eq!(sum.to_json(), json!({"cpu": "3", "memory": "1Gi"}));
    }

    #[test]
    fn classes() {
        let with = |resources: Value| json!({"containers": [{"resources": resources}]});
        let even = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(qos_class(&with(json!({}))), "BestEffort");
        let both = json!({"requests": even, "limits": even});
        assert_eq!(qos_class(&with(both)), "Guaranteed");
        let cpu = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
        assert_eq!(qos_class(&with(cpu)), "Burstable");
        let zero = json!({"requests": {"cpu": "0"}});
        assert_eq!(qos_class(&with(zero)), "BestEffort");
        let mut spec = with(json!({}));
        spec["resources"] = json!({"requests": even, "limits": even});
        assert_eq!(qos_class(&spec), "Guaranteed");
    }
}
