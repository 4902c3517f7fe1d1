//! CSIDriver.
//!
//! Upstream: `pkg/apis/storage/validation/validation.go`,
//! `pkg/registry/storage/csidriver/strategy.go`, `pkg/apis/storage/v1/defaults.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, generation, kube_metadata, name_rules};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct CsiDriver;

static SPEC: Path<'static> = Path::new("spec");
const TOKEN_IN_SECRETS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

impl CreateStrategy for CsiDriver {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.at_mut("spec").unset("preventPodSchedulingIfMissing");
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        errors.extend(validate_spec(object.at("spec")));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for CsiDriver {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        if !old.at("spec").has("preventPodSchedulingIfMissing") {
            new.at_mut("spec").unset("preventPodSchedulingIfMissing");
        }
        let changed = !same(new.at("spec"), old.at("spec"));
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let (spec, before) = (new.at("spec"), old.at("spec"));
        errors.extend(validate_spec(spec));
        for (field, name) in [
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            if spec.at(field) != before.at(field) {
                errors.invalid(&SPEC.child(name), spec.at(field), IMMUTABLE);
            }
        }
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for CsiDriver {
    fn set_defaults(&self, object: &mut Value) {
        let spec = object.at_mut("spec");
        spec.default_to("attachRequired", true);
        for flag in [
            "podInfoOnMount",
            "storageCapacity",
            "requiresRepublish",
            "seLinuxMount",
        ] {
            spec.default_to(flag, false);
        }
        spec.default_to("fsGroupPolicy", "ReadWriteOnceWithFSType");
        if spec.list("volumeLifecycleModes").is_empty() {
            spec.set("volumeLifecycleModes", json!(["Persistent"]));
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let spec = new.at("spec");
        let changed = old
            .is_none_or(|old| !same(old.at("spec").at("tokenRequests"), spec.at("tokenRequests")));
        let unset = !spec.has("serviceAccountTokenInSecrets");
        match changed && unset && !spec.list("tokenRequests").is_empty() {
            true => vec![TOKEN_IN_SECRETS.to_owned()],
            false => Vec::new(),
        }
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

fn validate_spec(spec: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    for (field, name) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !spec.has(field) {
            errors.required(&SPEC.child(name), "");
        }
    }
    const POLICIES: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];
    if let Some(policy) = spec.at("fsGroupPolicy").as_str()
        && !POLICIES.contains(&policy)
    {
        errors.not_supported(&SPEC.child("fsGroupPolicy"), policy, POLICIES);
    }
    validate_tokens(spec.list("tokenRequests"), &mut errors);
    for mode in spec.list("volumeLifecycleModes") {
        let mode = mode.as_str().unwrap_or_default();
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let path = SPEC.child("volumeLifecycleModes");
            errors.not_supported(&path, mode, &["Persistent", "Ephemeral"]);
        }
    }
    if !spec.has("seLinuxMount") {
        errors.required(&SPEC.child("seLinuxMount"), "");
    }
    if let Some(period @ ..10) = spec.int("nodeAllocatableUpdatePeriodSeconds") {
        let path = SPEC.child("nodeAllocatableUpdatePeriodSeconds");
        let fault = "must be greater than or equal to 10 seconds";
        errors.invalid(&path, period, fault);
    }
    let in_secrets = spec.at("serviceAccountTokenInSecrets");
    if !in_secrets.is_null() && spec.list("tokenRequests").is_empty() {
        let path = SPEC.child("serviceAccountTokenInSecrets");
        let fault = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(&path, in_secrets, fault);
    }
    errors
}

fn validate_tokens(requests: &[Value], errors: &mut ErrorList) {
    let path = SPEC.child("tokenRequests");
    let mut audiences = BTreeSet::new();
    for (i, request) in requests.iter().enumerate() {
        let path = path.index(i);
        let audience = request.text("audience");
        if !audiences.insert(audience) {
            errors.duplicate(&path.child("audience"), audience);
            continue;
        }
        let at = path.child("expirationSeconds");
        match request.int("expirationSeconds") {
            Some(seconds @ ..600) => {
                errors.invalid(
                    &at,
                    seconds,
                    "may not specify a duration less than 10 minutes",
                );
            }
            Some(seconds) if seconds > 1 << 32 => {
                let fault = "may not specify a duration larger than 2^32 seconds";
                errors.invalid(&at, seconds, fault);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};

    fn driver(spec: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": spec});
        CsiDriver.set_defaults(&mut object);
        object
    }

    #[test]
    fn defaults_are_filled_in() {
        let expected = json!({"attachRequired": true, "podInfoOnMount": false,
            "storageCapacity": false, "requiresRepublish": false, "seLinuxMount": false,
            "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": ["Persistent"]});
        assert_eq!(driver(json!({}))["spec"], expected);
    }

    #[test]
    fn tokens_and_modes_are_checked() {
        let object = driver(json!({"fsGroupPolicy": "x", "volumeLifecycleModes": ["y"],
            "tokenRequests": [{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}],
            "nodeAllocatableUpdatePeriodSeconds": 9}));
        let found = faults(&CsiDriver, &object);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "spec.fsGroupPolicy",
                "spec.tokenRequests[0].expirationSeconds",
                "spec.tokenRequests[1].audience",
                "spec.volumeLifecycleModes",
                "spec.nodeAllocatableUpdatePeriodSeconds",
            ]
        );
    }

    #[test]
    fn attaching_stays_and_changes_count() {
        let old = driver(json!({}));
        let mut new = driver(json!({"attachRequired": false}));
        assert_eq!(
            update_faults(&CsiDriver, &new, &old),
            ["spec.attachedRequired: Invalid value: false: field is immutable"]
        );
        CsiDriver.prepare_for_update(&mut new, &old, &crate::tests::ALONE);
        assert_eq!(new["metadata"]["generation"], 1);
    }

    #[test]
    fn tokens_in_attributes_are_pointed_out() {
        let object = driver(json!({"tokenRequests": [{"audience": "a"}]}));
        assert_eq!(CsiDriver.warnings(&object, None), [TOKEN_IN_SECRETS]);
        assert!(CsiDriver.warnings(&object, Some(&object)).is_empty());
    }
}
