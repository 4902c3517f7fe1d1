//! What several plugins ask of pods.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::View;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_base::amounts;
pub use stowplan_kinds::pod::resources::{Half, has_pod_level, is_sidecar, sum_containers};

/// All containers of a pod's spec: init, ordinary, ephemeral.
pub fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let init = spec.list("initContainers").iter();
    let ephemeral = spec.list("ephemeralContainers").iter();
    init.chain(spec.list("containers")).chain(ephemeral)
}

/// What a pod needs or may use, with what its status says is set aside for it, pod-level resources
/// and overhead (upstream: `component-helpers/resource`, PodRequests and PodLimits).
///
/// `from_status` also counts what a resize in progress has left allocated.
pub fn pod_resources(pod: &Value, side: Half, from_status: bool) -> ResourceList {
    let spec = pod.at("spec");
    let statuses = match from_status {
        true => Statuses::of(pod),
        false => Statuses::default(),
    };
    let sum = sum_containers(spec, |container| match statuses.of_container(container) {
        Some(status) => effective(pod, container, status, side),
        None => ResourceList::of(container.at("resources").at(side.field())),
    });
    let pod_level = ResourceList::of(spec.at("resources").at(side.field()));
    let overhead = ResourceList::of(spec.at("overhead"));
    match side {
        Half::Requests => amounts::requests_of_pod(sum, &pod_level, &overhead),
        Half::Limits => amounts::limits_of_pod(sum, &pod_level, &overhead),
    }
}

/// What a pod's status says of its containers.
#[derive(Default)]
struct Statuses<'a> {
    by_name: BTreeMap<&'a str, &'a Value>,
    init: BTreeSet<&'a str>,
}

impl<'a> Statuses<'a> {
    fn of(pod: &'a Value) -> Self {
        let init = pod.at("spec").list("initContainers").iter();
        let statuses = |key| pod.at("status").list(key).iter();
        // Of several of a name the last one counts, and one of an init container before all others.
        let all = statuses("containerStatuses").chain(statuses("initContainerStatuses"));
        Self {
            by_name: all.map(|status| (status.text("name"), status)).collect(),
            init: init.map(|container| container.text("name")).collect(),
        }
    }

    /// Init containers that are no sidecars are gone by the time their status matters.
    fn of_container(&self, container: &Value) -> Option<&'a Value> {
        let name = container.text("name");
        let counts = is_sidecar(container) || !self.init.contains(name);
        let status = self.by_name.get(name).filter(|_| counts)?;
        status.has("resources").then_some(status)
    }
}

fn effective(pod: &Value, container: &Value, status: &Value, side: Half) -> ResourceList {
    let mut conditions = pod.at("status").list("conditions").iter();
    let pending = conditions.find(|c| c.text("type") == "PodResizePending");
    let infeasible = pending.is_some_and(|c| c.text("reason") == "Infeasible");
    let of = |value: &Value| ResourceList::of(value.at("resources").at(side.field()));
    let allocated = match side {
        Half::Requests => ResourceList::of(status.at("allocatedResources")),
        Half::Limits => ResourceList::default(),
    };
    amounts::while_resized(&of(container), &allocated, &of(status), infeasible)
}

/// Whether the pod belongs to the best effort class, by its status or, before it has one, by what
/// it asks for.
pub fn is_best_effort(pod: &Value) -> bool {
    let class = pod.at("status").text("qosClass");
    if !class.is_empty() {
        return class == "BestEffort";
    }
    let spec = pod.at("spec");
    let asks = |resources: &Value| {
        let lists = [resources.at("requests"), resources.at("limits")].map(ResourceList::of);
        lists.iter().any(|list| {
            ["cpu", "memory"].iter().any(|name| {
                let quantity = list.get(*name);
                quantity.is_some_and(|q| !q.is_zero() && !q.is_negative())
            })
        })
    };
    match spec.has("resources") {
        true => !asks(spec.at("resources")),
        false => !containers(spec).any(|c| asks(c.at("resources"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(pod: Value, side: Half, expected: Value) {
        assert_eq!(pod_resources(&pod, side, true).to_json(), expected);
    }

    fn container(requests: Value) -> Value {
        json!({"name": "c", "resources": {"requests": requests}})
    }

    #[test]
    fn init_containers_count_as_a_maximum_and_sidecars_add_up() {
        let mut sidecar = container(json!({"cpu": "1"}));
        sidecar["restartPolicy"] = json!("Always");
        let pod = json!({"spec": {
            "initContainers": [container(json!({"cpu": "2"})), sidecar, container(json!({"cpu": "3"}))],
            "containers": [container(json!({"cpu": "500m"})), container(json!({"memory": "1Gi"}))],
        }});
        check(pod, Half::Requests, json!({"cpu": "4", "memory": "1Gi"}));
    }

    #[test]
    fn pod_level_resources_replace_the_sum_and_overhead_comes_on_top() {
        let pod = json!({"spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "example.com/gpu": "1"}, "limits": {"cpu": "1"}}}],
            "resources": {"requests": {"cpu": "3"}},
            "overhead": {"cpu": "100m", "memory": "8Mi"},
        }});
        check(
            pod.clone(),
            Half::Requests,
            json!({"cpu": "3100m", "memory": "8Mi", "example.com/gpu": "1"}),
        );
        check(pod, Half::Limits, json!({"cpu": "1100m"}));
    }

    #[test]
    fn what_is_allocated_still_counts_during_a_resize() {
        let mut pod = json!({
            "spec": {"containers": [container(json!({"cpu": "1"}))]},
            "status": {"containerStatuses": [
                {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1500m"}}
            ]},
        });
        check(pod.clone(), Half::Requests, json!({"cpu": "2"}));
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("9");
        check(pod.clone(), Half::Requests, json!({"cpu": "9"}));
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        check(pod, Half::Requests, json!({"cpu": "2"}));
    }

    #[test]
    fn best_effort_is_asking_for_no_cpu_and_no_memory() {
        let asks = |requests| json!({"spec": {"containers": [container(requests)]}});
        assert!(is_best_effort(&asks(
            json!({"cpu": "0", "example.com/gpu": "1"})
        )));
        assert!(!is_best_effort(&asks(json!({"memory": "1"}))));
        assert!(is_best_effort(
            &json!({"status": {"qosClass": "BestEffort"}})
        ));
    }
}
