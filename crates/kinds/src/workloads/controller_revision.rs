//! ControllerRevisions: what a controller wanted once.

use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

/// How controller revisions behave.
pub(crate) struct ControllerRevision;

const DATA: Path<'static> = Path::new("data");

fn validate(object: &Value) -> ErrorList {
    let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
    let revision = object.int("revision").unwrap_or_default();
    if revision < 0 {
        errors.invalid(&Path::new("revision"), revision, crate::common::NEGATIVE);
    }
    errors
}

impl CreateStrategy for ControllerRevision {
    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        let mut errors = validate(object);
        match object.at("data") {
            Value::Null => errors.required(&DATA, "data is mandatory"),
            Value::Object(_) => {}
            _ => errors.required(&DATA, "data must be a valid JSON object"),
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ControllerRevision {
    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate(new));
        if new.at("data") != old.at("data") {
            errors.invalid(&DATA, new.at("data"), IMMUTABLE);
        }
        errors
    }
}

impl Strategy for ControllerRevision {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use stowplan_apimachinery::lookup::Nothing;

    #[test]
    fn data_is_an_object_and_stays() {
        let cx = Context {
            now: "",
            cluster: &Nothing,
        };
        let with = |data: Value| {
            json!({
                "metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
                "data": data,
            })
        };
        let faults = |data: Value| ControllerRevision.validate(&with(data), &cx);
        assert_eq!(faults(json!({"a": 1})), []);
        assert_eq!(faults(json!(null))[0].detail, "data is mandatory");
        assert_eq!(
            faults(json!([]))[0].detail,
            "data must be a valid JSON object"
        );
        let (old, new) = (with(json!({"a": 1})), with(json!({"a": 2})));
        let faults = ControllerRevision.validate_update(&new, &old, &cx);
        assert_eq!(
            faults[0].to_string(),
            "data: Invalid value: {\"a\":2}: field is immutable"
        );
    }
}
