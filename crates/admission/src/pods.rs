//! What several plugins ask of pods.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::View;
use stowplan_apimachinery::resources::ResourceList;

/// All containers of a pod's spec: init, ordinary, ephemeral.
pub fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let init = spec.list("initContainers").iter();
    let ephemeral = spec.list("ephemeralContainers").iter();
    init.chain(spec.list("containers")).chain(ephemeral)
}

/// Whether an init container runs beside the others from its start on.
pub fn is_sidecar(container: &Value) -> bool {
    container.text("restartPolicy") == "Always"
}

/// Which of a container's two lists of resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What is set aside.
    Requests,
    /// What may be used at most.
    Limits,
}

impl Side {
    /// The name of the field.
    pub fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// Sums over containers, as all of upstream's counts do it: init containers run one after another
/// before the others, sidecars among them beside everything that follows.
pub fn sum_containers(spec: &Value, of: impl Fn(&Value) -> ResourceList) -> ResourceList {
    let mut sum = ResourceList::default();
    for container in spec.list("containers") {
        sum.add(&of(container));
    }
    let mut sidecars = ResourceList::default();
    let mut starting = ResourceList::default();
    for container in spec.list("initContainers") {
        let mut at_once = of(container);
        if is_sidecar(container) {
            sum.add(&at_once);
            sidecars.add(&at_once);
            at_once = sidecars.clone();
        } else {
            at_once.add(&sidecars);
        }
        starting.raise_to(&at_once);
    }
    sum.raise_to(&starting);
    sum
}

/// Whether a resource can be given to a pod as a whole.
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Whether a pod as a whole has been given resources.
pub fn has_pod_level_resources(spec: &Value) -> bool {
    let resources = spec.at("resources");
    let mut names = resources
        .entries("requests")
        .chain(resources.entries("limits"));
    names.any(|(name, _)| is_pod_level(name))
}

/// What a pod needs or may use, with what its status says is set aside for it, pod-level resources
/// and overhead (upstream: `component-helpers/resource`, PodRequests and PodLimits).
///
/// `from_status` also counts what a resize in progress has left allocated.
pub fn pod_resources(pod: &Value, side: Side, from_status: bool) -> ResourceList {
    let spec = pod.at("spec");
    let statuses = match from_status {
        true => Statuses::of(pod),
        false => Statuses::default(),
    };
    let mut sum = sum_containers(spec, |container| match statuses.of_container(container) {
        Some(status) => effective(pod, container, status, side),
        None => ResourceList::of(container.at("resources").at(side.field())),
    });
    for (name, quantity) in ResourceList::of(spec.at("resources").at(side.field())).iter() {
        if is_pod_level(name) {
            sum.put(name.clone(), quantity.clone());
        }
    }
    let overhead = ResourceList::of(spec.at("overhead"));
    match side {
        Side::Requests => sum.add(&overhead),
        Side::Limits => {
            for (name, quantity) in overhead.iter() {
                if let Some(limit) = sum.get_mut(name).filter(|limit| !limit.is_zero()) {
                    limit.add(quantity);
                }
            }
        }
    }
    sum
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

fn effective(pod: &Value, container: &Value, status: &Value, side: Side) -> ResourceList {
    let mut conditions = pod.at("status").list("conditions").iter();
    let pending = conditions.find(|c| c.text("type") == "PodResizePending");
    let infeasible = pending.is_some_and(|c| c.text("reason") == "Infeasible");
    let actuated = ResourceList::of(status.at("resources").at(side.field()));
    let mut all = match infeasible {
        true => ResourceList::default(),
        false => ResourceList::of(container.at("resources").at(side.field())),
    };
    all.raise_to(&actuated);
    if side == Side::Requests {
        all.raise_to(&ResourceList::of(status.at("allocatedResources")));
    }
    all
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

    fn check(pod: Value, side: Side, expected: Value) {
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
        check(pod, Side::Requests, json!({"cpu": "4", "memory": "1Gi"}));
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
            Side::Requests,
            json!({"cpu": "3100m", "memory": "8Mi", "example.com/gpu": "1"}),
        );
        check(pod, Side::Limits, json!({"cpu": "1100m"}));
    }

    #[test]
    fn what_is_allocated_still_counts_during_a_resize() {
        let mut pod = json!({
            "spec": {"containers": [container(json!({"cpu": "1"}))]},
            "status": {"containerStatuses": [
                {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1500m"}}
            ]},
        });
        check(pod.clone(), Side::Requests, json!({"cpu": "2"}));
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("9");
        check(pod.clone(), Side::Requests, json!({"cpu": "9"}));
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        check(pod, Side::Requests, json!({"cpu": "2"}));
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
