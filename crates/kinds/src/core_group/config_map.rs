//! ConfigMap.
//!
//! Upstream: `ValidateConfigMap` of `pkg/apis/core/validation/validation.go`.

use crate::common::faults::Faults;
use crate::common::{kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::names;

pub(crate) struct ConfigMap;

/// How much data a ConfigMap or Secret may hold.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

/// For what may not change once the object is marked immutable.
pub(super) const FROZEN: &str = "field is immutable when `immutable` is set";

impl CreateStrategy for ConfigMap {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        let mut bytes = 0;
        let data = Path::new("data");
        for (key, value) in object.entries("data") {
            let at = data.key(key);
            errors.invalid_each(&at, key, names::config_map_key(key));
            if object.at("binaryData").has(key) {
                errors.invalid(&at, key, "duplicate of key present in binaryData");
            }
            bytes += value.as_str().unwrap_or_default().len();
        }
        let data = Path::new("binaryData");
        for (key, value) in object.entries("binaryData") {
            errors.invalid_each(&data.key(key), key, names::config_map_key(key));
            bytes += decoded_len(value);
        }
        if bytes > BYTES_MAX {
            // The whole object has no name: upstream's empty path prints as an empty subscript.
            errors.push(Error::too_long(&Path::ROOT.key(""), BYTES_MAX));
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ConfigMap {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate_frozen(new, old, &["data", "binaryData"]));
        errors.extend(self.validate(new, cx));
        errors
    }
}

impl Strategy for ConfigMap {}

/// Faults of a change to an object that was marked immutable.
pub(super) fn validate_frozen(new: &Value, old: &Value, data: &[&str]) -> ErrorList {
    let mut errors = ErrorList::new();
    if old.flag("immutable") {
        if !new.flag("immutable") {
            errors.forbidden(&Path::new("immutable"), FROZEN);
        }
        for key in data {
            if new.at(key) != old.at(key) {
                errors.forbidden(&Path::new(key), FROZEN);
            }
        }
    }
    errors
}

/// How many bytes a base64 text stands for.
pub(super) fn decoded_len(text: &Value) -> usize {
    let text = text.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    #[test]
    fn keys_are_in_one_bag_and_well_formed() {
        let mut map = json!({"metadata": {"name": "a", "namespace": "n"},
            "data": {"x": "", "..": ""}, "binaryData": {"x": "AA=="}});
        assert_eq!(
            faults(&ConfigMap, &map),
            [
                "data[..]: Invalid value: \"..\": must not be '..'",
                "data[x]: Invalid value: \"x\": duplicate of key present in binaryData",
            ]
        );
        map["data"] = json!({"x": "y".repeat(BYTES_MAX)});
        map["binaryData"] = json!({"z": "AA=="});
        assert_eq!(
            faults(&ConfigMap, &map),
            ["[]: Too long: may not be more than 1048576 bytes"]
        );
    }

    #[test]
    fn what_is_frozen_stays() {
        let old = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "immutable": true, "data": {"x": "1"}});
        let mut new = old.clone();
        new["immutable"] = json!(false);
        new["data"]["x"] = json!("2");
        assert_eq!(
            update_faults(&ConfigMap, &new, &old),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ]
        );
        assert!(update_faults(&ConfigMap, &old, &old).is_empty());
    }

    #[test]
    fn base64_is_shorter_than_it_looks() {
        for (text, bytes) in [
            ("", 0),
            ("AA==", 1),
            ("AAA=", 2),
            ("AAAA", 3),
            ("AAAAAA==", 4),
        ] {
            assert_eq!(decoded_len(&json!(text)), bytes);
        }
    }
}
