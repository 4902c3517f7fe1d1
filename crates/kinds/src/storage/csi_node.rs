//! CSINode. Upstream: `pkg/apis/storage/validation/validation.go`.

use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::volume_sources::csi_driver_name;
use crate::common::{IMMUTABLE, NEGATIVE, kube_metadata, name_rules};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::limits::{ERRORS_TOLD_MAX, WARNINGS_COMPARED_MAX};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct CsiNode;

const NODE_ID_BYTES_MAX: usize = 256;
static SPEC: Path<'static> = Path::new("spec");

impl CreateStrategy for CsiNode {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        let path = SPEC.child("drivers");
        let mut all = BTreeSet::new();
        for (i, driver) in object.at("spec").list("drivers").iter().enumerate() {
            let path = path.index(i);
            let again = !all.insert(driver.text("name"));
            validate_driver(driver, again, &path, &mut errors);
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for CsiNode {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        let path = SPEC.child("drivers");
        let mut by_name: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for now in new.at("spec").list("drivers") {
            by_name.entry(now.text("name")).or_default().push(now);
        }
        let mut compared = 0;
        for before in old.at("spec").list("drivers") {
            for now in by_name.get(before.text("name")).into_iter().flatten() {
                // Names that repeat are a fault already.
                compared += 1;
                if compared > WARNINGS_COMPARED_MAX || errors.len() > ERRORS_TOLD_MAX {
                    return errors;
                }
                // How many volumes fit may change.
                let (mut now, mut before) = (Value::clone(now), before.clone());
                now.unset("allocatable");
                before.unset("allocatable");
                if now != before {
                    errors.invalid(&path, Internal(&now), IMMUTABLE);
                }
            }
        }
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for CsiNode {
    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

fn validate_driver(driver: &Value, again: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let name = driver.text("name");
    csi_driver_name(name, &path.child("name"), errors);
    let id = driver.text("nodeID");
    if id.is_empty() {
        errors.required(&path.child("nodeID"), "");
    }
    if id.len() > NODE_ID_BYTES_MAX {
        let fault = format!("must be {NODE_ID_BYTES_MAX} characters or less");
        errors.invalid(&path.child("nodeID"), id, fault);
    }
    if let Some(count @ ..0) = driver.at("allocatable").int("count") {
        errors.invalid(&path.child("allocatable").child("count"), count, NEGATIVE);
    }
    if again {
        errors.duplicate(&path.child("name"), name);
    }
    let mut keys = BTreeSet::new();
    for key in driver.list("topologyKeys") {
        let key = key.as_str().unwrap_or_default();
        if key.is_empty() {
            errors.required(path, "");
        }
        if !keys.insert(key) {
            errors.duplicate(path, key);
        }
        errors.invalid_each(path, key, names::label_key(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn node(drivers: Value) -> Value {
        let metadata = json!({"name": "a", "resourceVersion": "1"});
        json!({"metadata": metadata, "spec": {"drivers": drivers}})
    }

    #[test]
    fn drivers_are_named_once() {
        let object = node(json!([
            {"name": "a.io", "nodeID": "x", "topologyKeys": ["k", "k"]},
            {"name": "a.io", "nodeID": "", "allocatable": {"count": -1}},
        ]));
        assert_eq!(
            faults(&CsiNode, &object),
            [
                "spec.drivers[0]: Duplicate value: \"k\"",
                "spec.drivers[1].nodeID: Required value",
                "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
                "spec.drivers[1].name: Duplicate value: \"a.io\"",
            ]
        );
    }

    #[test]
    fn a_driver_changes_only_its_room() {
        let driver = |id: &str, count: i64| json!([{"name": "a.io", "nodeID": id, "allocatable": {"count": count}}]);
        let old = node(driver("x", 1));
        assert!(update_faults(&CsiNode, &node(driver("x", 2)), &old).is_empty());
        let found = update_faults(&CsiNode, &node(driver("y", 2)), &old);
        assert_eq!(
            found,
            [
                "spec.drivers: Invalid value: {\"Name\":\"a.io\",\"NodeID\":\"y\"}: field is immutable"
            ]
        );
    }
}
