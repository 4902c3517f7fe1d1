//! VolumeAttributesClass.
//!
//! Upstream: `pkg/apis/storage/validation/validation.go`.

use super::storage_class::{validate_parameters, validate_provisioner};
use crate::common::faults::Faults;
use crate::common::{kube_metadata, name_rules};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

pub(crate) struct VolumeAttributesClass;

impl CreateStrategy for VolumeAttributesClass {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        validate_provisioner(object, "driverName", &mut errors);
        validate_parameters(object, &mut errors);
        if object.entries("parameters").next().is_none() {
            let detail = "must contain at least one key/value pair";
            errors.required(&Path::new("parameters"), detail);
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for VolumeAttributesClass {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        for field in ["driverName", "parameters"] {
            if new.at(field) != old.at(field) {
                let detail = format!("updates to {field} are forbidden.");
                errors.forbidden(&Path::new(field), &detail);
            }
        }
        errors.extend(self.validate(new, cx));
        errors
    }
}

impl Strategy for VolumeAttributesClass {
    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn class(driver: &str, parameters: Value) -> Value {
        json!({"metadata": {"name": "a", "resourceVersion": "1"},
            "driverName": driver, "parameters": parameters})
    }

    #[test]
    fn what_volumes_are_tuned_by_stays() {
        let old = class("x.io/y", json!({"iops": "100"}));
        assert!(faults(&VolumeAttributesClass, &old).is_empty());
        let bad = faults(&VolumeAttributesClass, &class("", json!({})));
        assert_eq!(
            bad,
            [
                "driverName: Required value",
                "parameters: Required value: must contain at least one key/value pair",
            ]
        );
        let new = class("z", json!({"iops": "200"}));
        assert_eq!(
            update_faults(&VolumeAttributesClass, &new, &old),
            [
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
            ]
        );
    }
}
