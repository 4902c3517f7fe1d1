//! What a change of a claim may do: bind it, name its class, and ask for more room once it is bound.
//!
//! Upstream: `ValidatePersistentVolumeClaimUpdate` of `pkg/apis/core/validation/validation.go`.

use super::{OLD_CLASS, shown_diff};
use crate::common::IMMUTABLE;
use crate::common::claim_spec::ClaimOptions;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::labels::{SelectorOptions, validate_selector};
use crate::subresource::keep;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View};

static SPEC: Path<'static> = Path::new("spec");
const CLASS: &str = "volumeAttributesClassName";

/// What the stored claim is forgiven.
pub(super) fn forgiven(old: &Value) -> ClaimOptions {
    let spec = old.at("spec");
    let path = Path::new("selector");
    let faults = validate_selector(spec.at("selector"), SelectorOptions::default(), &path);
    ClaimOptions {
        allow_invalid_selector_values: !faults.is_empty(),
        allow_invalid_api_group: ["dataSource", "dataSourceRef"]
            .iter()
            .any(|field| spec.at(field).has("apiGroup")),
    }
}

pub(super) fn validate(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let mut allowed = spec.clone();
    let mut known = before.clone();
    if before.text("volumeName").is_empty() {
        keep(&mut known, spec, "volumeName");
    }
    let annotation = |claim: &'_ Value| {
        let annotations = claim.at("metadata").at("annotations");
        annotations.at(OLD_CLASS).as_str().map(str::to_owned)
    };
    let (class, old_class) = (spec.at("storageClassName"), before.at("storageClassName"));
    let (noted, old_noted) = (annotation(new), annotation(old));
    let named = class.as_str();
    let moved_from_annotation = old_noted.is_some()
        && old_class.is_null()
        && named.is_some()
        && named == old_noted.as_deref()
        && (noted.is_none() || noted == old_noted);
    if moved_from_annotation {
        allowed.unset("storageClassName");
    } else {
        if noted.as_deref().unwrap_or_default() != old_noted.as_deref().unwrap_or_default() {
            let path = Path::new("metadata");
            let path = path.child("annotations");
            let value = noted.as_deref().unwrap_or_default();
            errors.invalid(&path.child(OLD_CLASS), value, IMMUTABLE);
        }
        let named_late = named.is_some()
            && old_class.is_null()
            && (old_noted.is_none() || named == old_noted.as_deref());
        if named_late {
            keep(&mut allowed, before, "storageClassName");
        }
    }
    if new.at("status").text("phase") == "Bound" {
        allow_more_room(&mut allowed, before);
    }
    if !same(&allowed, &known) {
        let diff = shown_diff(&allowed, &known, "PersistentVolumeClaimSpec");
        let fault = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{diff}"
        );
        errors.forbidden(&SPEC, fault);
    }
    validate_room(new, old, &mut errors);
    let mode = spec.at("volumeMode");
    if mode != before.at("volumeMode") {
        errors.invalid(&Path::new("volumeMode"), mode, IMMUTABLE);
    }
    validate_class(new, old, &mut errors);
    errors
}

/// A bound claim may ask for another size and class of attributes.
fn allow_more_room(spec: &mut Value, before: &Value) {
    if spec.path(&["resources", "requests"]).is_object() {
        let storage = before.path(&["resources", "requests", "storage"]).clone();
        let requests = spec.at_mut("resources").at_mut("requests");
        requests.set("storage", storage);
    }
    keep(spec, before, CLASS);
}

fn validate_room(new: &Value, old: &Value, errors: &mut ErrorList) {
    let wanted =
        |claim: &Value| Quantity::of(claim.path(&["spec", "resources", "requests", "storage"]));
    let (now, before) = (wanted(new), wanted(old));
    let given = Quantity::of(old.path(&["status", "capacity", "storage"]));
    if now < before && now <= given {
        let path = SPEC.child("resources");
        let path = path.child("requests");
        let fault = "field can not be less than status.capacity";
        errors.forbidden(&path.child("storage"), fault);
    }
}

fn validate_class(new: &Value, old: &Value, errors: &mut ErrorList) {
    let class = new.at("spec").at(CLASS);
    let applied = old.at("status").has("currentVolumeAttributesClassName");
    if class == old.at("spec").at(CLASS) || !applied {
        return;
    }
    let what = match class.as_str() {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    let fault = format!(
        "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    );
    errors.forbidden(&SPEC.child(CLASS), fault);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim(phase: &str, storage: &str) -> Value {
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": storage}}}, "status": {"phase": phase}})
    }

    fn faults(new: &Value, old: &Value) -> Vec<String> {
        let faults = validate(new, old).into_iter();
        faults
            .map(|e| e.to_string().lines().next().unwrap_or_default().to_owned())
            .collect()
    }

    const FIXED: &str = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

    #[test]
    fn a_bound_claim_may_grow() {
        assert!(faults(&claim("Bound", "2Gi"), &claim("Bound", "1Gi")).is_empty());
        assert_eq!(
            faults(&claim("Pending", "2Gi"), &claim("Pending", "1Gi")),
            [FIXED]
        );
        assert!(faults(&claim("Pending", "1024Mi"), &claim("Pending", "1Gi")).is_empty());
    }

    #[test]
    fn a_claim_never_shrinks_below_what_it_has() {
        let mut old = claim("Bound", "3Gi");
        old["status"]["capacity"] = json!({"storage": "1Gi"});
        assert!(faults(&claim("Bound", "2Gi"), &old).is_empty());
        assert_eq!(
            faults(&claim("Bound", "1Gi"), &old),
            [
                "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
            ]
        );
    }

    #[test]
    fn volume_and_class_are_named_once() {
        let old = claim("Pending", "1Gi");
        let mut new = old.clone();
        new["spec"]["volumeName"] = json!("v");
        new["spec"]["storageClassName"] = json!("c");
        assert!(faults(&new, &old).is_empty());
        let mut newer = new.clone();
        newer["spec"]["volumeName"] = json!("w");
        assert_eq!(faults(&newer, &new), [FIXED]);
    }

    #[test]
    fn the_mode_stays() {
        let old = claim("Pending", "1Gi");
        let mut new = old.clone();
        new["spec"]["volumeMode"] = json!("Block");
        let expected = [
            FIXED,
            "volumeMode: Invalid value: \"Block\": field is immutable",
        ];
        assert_eq!(faults(&new, &old), expected);
    }
}
