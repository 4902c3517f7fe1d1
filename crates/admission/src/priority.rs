//! Priority: a pod's priority is that of its class, and only one class is everybody's.
//! Upstream: `plugin/pkg/admission/priority`.

use crate::{Attributes, Operation};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::{Edit, Status, View};

const GROUP: &str = "scheduling.k8s.io";

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !request.is("", "pods") {
        return Ok(());
    }
    match request.operation {
        Operation::Create => resolve(request, cluster),
        Operation::Update => {
            keep(request);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// An update that leaves the resolved fields out keeps them.
fn keep(request: &mut Attributes<'_>) {
    let (old, Some(pod)) = (request.old_object, request.object.as_deref_mut()) else {
        return;
    };
    for field in ["priority", "preemptionPolicy"] {
        let before = old.map_or(&Value::Null, |old| old.at("spec").at(field));
        if !before.is_null() && !pod.at("spec").has(field) {
            pod.at_mut("spec").set(field, before.clone());
        }
    }
}

fn resolve(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    let spec = request.object().at("spec");
    let given = spec.text("priorityClassName");
    let class = match given.is_empty() {
        true => default_class(cluster),
        false => {
            let class = cluster.get(GROUP, "priorityclasses", "", given);
            let missing = || format!("no PriorityClass with name {given} was found");
            Some(class.ok_or_else(|| request.forbidden(missing()))?)
        }
    };
    let (name, priority, policy) = match &class {
        Some(class) => (
            meta::name(class),
            class.int("value").unwrap_or_default(),
            class.text("preemptionPolicy"),
        ),
        None => ("", 0, "PreemptLowerPriority"),
    };
    if let Some(own) = spec.int("priority").filter(|own| *own != priority) {
        return Err(request.forbidden(format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        )));
    }
    let own = spec.at("preemptionPolicy").as_str();
    if let Some(own) = own.filter(|own| !policy.is_empty() && *own != policy) {
        return Err(request.forbidden(format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        )));
    }
    if let Some(pod) = request.object.as_deref_mut() {
        let spec = pod.at_mut("spec");
        if !name.is_empty() {
            spec.set("priorityClassName", name);
        }
        spec.set("priority", priority);
        if !policy.is_empty() {
            spec.set("preemptionPolicy", policy);
        }
    }
    Ok(())
}

/// The class of pods that name none; should there be several, the lowest.
fn default_class(cluster: &dyn Lookup) -> Option<Arc<Value>> {
    let classes = cluster.list(GROUP, "priorityclasses", "").into_iter();
    let defaults = classes.filter(|class| class.flag("globalDefault"));
    defaults.min_by_key(|class| class.int("value").unwrap_or_default())
}

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    let creates = request.operation == Operation::Create;
    let writes = creates || request.operation == Operation::Update;
    let class = request.object();
    if !writes || !request.is(GROUP, "priorityclasses") || !class.flag("globalDefault") {
        return Ok(());
    }
    let Some(other) = default_class(cluster) else {
        return Ok(());
    };
    let name = meta::name(&other);
    match creates || name != meta::name(class) {
        true => Err(request.forbidden(format!(
            "PriorityClass {name} is already marked as default. Only one default can exist"
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, Cluster, cluster};
    use serde_json::{Value, json};

    fn class(name: &str, value: i64, policy: &str, default: bool) -> Value {
        json!({"kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            "preemptionPolicy": policy, "globalDefault": default})
    }

    fn admitted(spec: Value, world: &Cluster) -> Result<Value, String> {
        let mut out = Value::Null;
        let answer = Case::pod(spec).ask(|request| {
            let answer = super::admit(request, world);
            out = request.object()["spec"].clone();
            answer
        });
        answer.map(|()| out).map_err(|status| status.message)
    }

    #[test]
    fn the_class_decides() {
        let world = cluster([class("high", 1000, "Never", false)]);
        assert_eq!(
            admitted(json!({"priorityClassName": "high"}), &world).unwrap(),
            json!({"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"})
        );
        assert_eq!(
            admitted(json!({}), &world).unwrap(),
            json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})
        );
        assert_eq!(
            admitted(json!({"priorityClassName": "none"}), &world).unwrap_err(),
            "pods \"p\" is forbidden: no PriorityClass with name none was found"
        );
        assert_eq!(
            admitted(json!({"priority": 5}), &world).unwrap_err(),
            "pods \"p\" is forbidden: the integer value of priority (5) must not be provided in \
             pod spec; priority admission controller computed 0 from the given PriorityClass name"
        );
        let spec = json!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"});
        assert_eq!(
            admitted(spec, &world).unwrap_err(),
            "pods \"p\" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) \
             must not be provided in pod spec; priority admission controller computed Never from \
             the given PriorityClass name"
        );
        assert!(admitted(json!({"priority": 0}), &world).is_ok());
    }

    #[test]
    fn the_default_class_is_for_those_who_name_none() {
        let world = cluster([
            class("a", 7, "PreemptLowerPriority", true),
            class("b", 5, "Never", true),
        ]);
        assert_eq!(
            admitted(json!({}), &world).unwrap(),
            json!({"priorityClassName": "b", "priority": 5, "preemptionPolicy": "Never"})
        );
    }

    #[test]
    fn an_update_keeps_what_was_resolved() {
        let old = json!({"spec": {"priority": 3, "preemptionPolicy": "Never"}});
        let new = json!({"metadata": {"name": "p"}, "spec": {"priority": 4}});
        let case = Case::update("", "pods", old, new);
        let out = case.after(|request| super::admit(request, &cluster([])).unwrap());
        assert_eq!(
            out["spec"],
            json!({"priority": 4, "preemptionPolicy": "Never"})
        );
    }

    #[test]
    fn only_one_class_is_everybodys() {
        let world = cluster([class("a", 7, "Never", true)]);
        let ask = |case: Case| case.ask(|request| super::validate(request, &world));
        let create = |class| Case::create("scheduling.k8s.io", "priorityclasses", class);
        assert_eq!(
            ask(create(class("b", 1, "Never", true)))
                .unwrap_err()
                .message,
            "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is already \
             marked as default. Only one default can exist"
        );
        assert!(ask(create(class("b", 1, "Never", false))).is_ok());
        let update =
            |new: Value| Case::update("scheduling.k8s.io", "priorityclasses", new.clone(), new);
        assert!(ask(update(class("a", 7, "Never", true))).is_ok());
        assert!(ask(update(class("b", 7, "Never", true))).is_err());
    }
}
