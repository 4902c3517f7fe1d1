//! StorageClass.
//!
//! Upstream: `pkg/apis/storage/validation/validation.go`, `pkg/apis/storage/v1/defaults.go`.

use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, kube_metadata, labels, name_rules, node_labels};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::limits::ERRORS_TOLD_MAX;
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct StorageClass;

const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;

impl CreateStrategy for StorageClass {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        validate_provisioner(object, "provisioner", &mut errors);
        validate_parameters(object, &mut errors);
        let policy = object.text("reclaimPolicy");
        if !matches!(policy, "" | "Delete" | "Retain") {
            let path = Path::new("reclaimPolicy");
            errors.not_supported(&path, policy, &["Delete", "Retain"]);
        }
        let path = Path::new("volumeBindingMode");
        match object.at("volumeBindingMode").as_str() {
            None => errors.required(&path, ""),
            Some("Immediate" | "WaitForFirstConsumer") => {}
            Some(mode) => {
                errors.not_supported(&path, mode, &["Immediate", "WaitForFirstConsumer"]);
            }
        }
        errors.extend(validate_topologies(object.list("allowedTopologies")));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for StorageClass {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        errors.extend(kube_metadata::validate_update(new, old));
        for field in [
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ] {
            if new.at(field) != old.at(field) {
                errors.invalid(&Path::new(field), new.at(field), IMMUTABLE);
            }
        }
        errors
    }
}

impl Strategy for StorageClass {
    fn set_defaults(&self, object: &mut Value) {
        object.default_to("reclaimPolicy", "Delete");
        object.default_to("volumeBindingMode", "Immediate");
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let path = Path::new("allowedTopologies");
        for (i, term) in new.list("allowedTopologies").iter().enumerate() {
            let path = path.index(i);
            let path = path.child("matchLabelExpressions");
            for (j, expression) in term.list("matchLabelExpressions").iter().enumerate() {
                if let Some(text) = node_labels::deprecation(expression.text("key")) {
                    warnings.push(format!("{}: {text}", path.index(j).child("key")));
                }
            }
        }
        warnings
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

/// The driver that a class names in a field.
pub(super) fn validate_provisioner(object: &Value, field: &str, errors: &mut ErrorList) {
    let path = Path::new(field);
    match object.text(field).to_lowercase().as_str() {
        "" => errors.required(&path, ""),
        name => errors.invalid_each(&path, name, names::label_key(name)),
    }
}

/// What a class hands to its driver.
pub(super) fn validate_parameters(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("parameters");
    let parameters = || object.entries("parameters");
    if parameters().count() > PARAMETERS_MAX {
        errors.push(Error::too_long(&path, PARAMETERS_MAX));
        return;
    }
    let mut bytes = 0;
    for (key, value) in parameters() {
        if key.is_empty() {
            errors.invalid(&path, key, "field can not be empty.");
        }
        bytes += key.len() + value.as_str().unwrap_or_default().len();
    }
    if bytes > PARAMETERS_BYTES_MAX {
        errors.push(Error::too_long(&path, PARAMETERS_BYTES_MAX));
    }
}

fn validate_topologies(terms: &[Value]) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("allowedTopologies");
    // Upstream's list of terms seen so far starts with as many empty ones as there are terms: a term
    // without expressions equals each of them.
    let mut seen: BTreeMap<BTreeMap<&str, BTreeSet<&str>>, usize> = BTreeMap::new();
    seen.insert(BTreeMap::new(), terms.len());
    for (i, term) in terms.iter().enumerate() {
        let path = path.index(i);
        let path = path.child("matchLabelExpressions");
        let values = validate_expressions(term, &path, &mut errors);
        let times = seen.entry(values).or_default();
        for _ in 0..(*times).min(ERRORS_TOLD_MAX) {
            errors.duplicate(&path, "");
        }
        *times += 1;
        if errors.len() > ERRORS_TOLD_MAX {
            break;
        }
    }
    errors
}

fn validate_expressions<'a>(
    term: &'a Value,
    path: &Path<'_>,
    errors: &mut ErrorList,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut all = BTreeMap::new();
    for (i, expression) in term.list("matchLabelExpressions").iter().enumerate() {
        let path = path.index(i);
        let key = expression.text("key");
        let mut values = BTreeSet::new();
        let at = path.child("values");
        if expression.list("values").is_empty() {
            errors.required(&at, "");
        }
        for (j, value) in expression.list("values").iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            if !values.insert(value) {
                errors.duplicate(&at.index(j), value);
            }
        }
        errors.extend(labels::validate_name(key, &path.child("key")));
        if all.insert(key, values).is_some() {
            errors.duplicate(&path.child("key"), key);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn class(provisioner: &str, terms: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "resourceVersion": "1"},
            "provisioner": provisioner, "allowedTopologies": terms});
        StorageClass.set_defaults(&mut object);
        object
    }

    #[test]
    fn topologies_differ() {
        let zone =
            |values: &[&str]| json!({"matchLabelExpressions": [{"key": "zone", "values": values}]});
        let terms = json!([
            zone(&["a", "b"]),
            zone(&["b", "a"]),
            zone(&[]),
            zone(&["c", "c"])
        ]);
        assert_eq!(
            faults(&StorageClass, &class("x.io/y", terms)),
            [
                "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"",
                "allowedTopologies[2].matchLabelExpressions[0].values: Required value",
                "allowedTopologies[3].matchLabelExpressions[0].values[1]: Duplicate value: \"c\"",
            ]
        );
        let empty = faults(&StorageClass, &class("x", json!([{}, {}])));
        assert_eq!(empty.len(), 2 + 3);
    }

    #[test]
    fn what_volumes_were_made_by_stays() {
        let old = class("x", json!(null));
        let mut new = class("y", json!(null));
        new["parameters"] = json!({"a": "b"});
        assert_eq!(
            update_faults(&StorageClass, &new, &old),
            [
                "parameters: Invalid value: {\"a\":\"b\"}: field is immutable",
                "provisioner: Invalid value: \"y\": field is immutable",
            ]
        );
    }
}
