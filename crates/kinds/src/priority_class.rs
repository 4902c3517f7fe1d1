//! PriorityClass.
//!
//! Upstream: `pkg/apis/scheduling/validation/validation.go`, `pkg/apis/scheduling/v1/{defaults,helpers}.go`.

use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, generation, kube_metadata, name_rules};
use crate::{Context, CreateStrategy, DeleteStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, meta};

pub(crate) struct PriorityClass;

const SYSTEM_PREFIX: &str = "system-";
const USER_MAX: i64 = 1_000_000_000;

/// The classes that only the system has and every cluster does, and their values.
pub const SYSTEM: &[(&str, i64)] = &[
    ("system-node-critical", 2 * USER_MAX + 1000),
    ("system-cluster-critical", 2 * USER_MAX),
];

impl CreateStrategy for PriorityClass {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        generation::start(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        let name = meta::name(object);
        let value = object.int("value").unwrap_or_default();
        if name.starts_with(SYSTEM_PREFIX) {
            if let Some(why) = system_class_fault(name, value, object.flag("globalDefault")) {
                let path = Path::new("metadata");
                let fault = format!(
                    "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
                );
                errors.forbidden(&path.child("name"), fault);
            }
        } else if value > USER_MAX {
            let fault = format!("maximum allowed value of a user defined priority is {USER_MAX}");
            errors.forbidden(&Path::new("value"), fault);
        }
        let path = Path::new("preemptionPolicy");
        match object.at("preemptionPolicy").as_str() {
            None | Some("PreemptLowerPriority" | "Never") => {}
            Some("") => errors.required(&path, ""),
            Some(policy) => {
                errors.not_supported(&path, policy, &["PreemptLowerPriority", "Never"]);
            }
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for PriorityClass {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        if new.at("value") != old.at("value") {
            let fault = "may not be changed in an update.";
            errors.forbidden(&Path::new("value"), fault);
        }
        let policy = new.at("preemptionPolicy");
        if policy != old.at("preemptionPolicy") {
            errors.invalid(&Path::new("preemptionPolicy"), policy, IMMUTABLE);
        }
        errors
    }
}

impl Strategy for PriorityClass {
    fn set_defaults(&self, object: &mut Value) {
        object.default_to("preemptionPolicy", "PreemptLowerPriority");
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        self
    }
}

impl DeleteStrategy for PriorityClass {
    fn delete_refusal(&self, name: &str) -> Option<&'static str> {
        let system = SYSTEM.iter().any(|(known, _)| *known == name);
        system.then_some("this is a system priority class and cannot be deleted")
    }
}

/// Why this is none of the system's own classes.
fn system_class_fault(name: &str, value: i64, global_default: bool) -> Option<String> {
    let Some((_, known)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *known {
        return Some(format!("value of {name} PriorityClass must be {known}"));
    }
    global_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn class(name: &str, value: i64) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": "1"}, "value": value})
    }

    #[test]
    fn users_stay_below_the_system() {
        assert!(faults(&PriorityClass, &class("a", USER_MAX)).is_empty());
        assert_eq!(
            faults(&PriorityClass, &class("a", USER_MAX + 1)),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]
        );
        assert_eq!(
            faults(&PriorityClass, &class("system-x", 1)),
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class"
            ]
        );
        assert!(
            faults(
                &PriorityClass,
                &class("system-node-critical", 2_000_001_000)
            )
            .is_empty()
        );
    }

    #[test]
    fn the_value_stays() {
        assert_eq!(
            update_faults(&PriorityClass, &class("a", 2), &class("a", 1)),
            ["value: Forbidden: may not be changed in an update."]
        );
    }
}
