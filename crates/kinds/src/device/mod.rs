//! `resource.k8s.io/v1`: device classes, claims, their templates, and slices.
//!
//! Stored and served, with upstream's defaults and the checks of metadata; what is in a spec is
//! judged by its types only. Upstream: `pkg/registry/resource`, `pkg/apis/resource/v1/defaults.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::{IMMUTABLE, generation, kube_metadata, name_rules};
use crate::fields::{Fields, Refusal, by_path};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct DeviceClass;
pub(crate) struct ResourceClaim;
pub(crate) struct ResourceClaimTemplate;
pub(crate) struct ResourceSlice;

pub(crate) static SLICE_FIELDS: Fields = Fields {
    known: &["metadata.name", "spec.nodeName", "spec.driver"],
    refusal: Refusal::NotSupportedForType("resource.k8s.io/v1, Kind=ResourceSlice"),
    value: by_path,
};

impl CreateStrategy for DeviceClass {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        generation::start(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate(object, false, &name_rules::dns_subdomain)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for DeviceClass {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        let changed = !same(new.at("spec"), old.at("spec"));
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate_update(new, old)
    }
}

impl Strategy for DeviceClass {
    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

impl CreateStrategy for ResourceClaim {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({}));
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate(object, true, &name_rules::dns_subdomain)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ResourceClaim {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(spec_stays(new, old));
        errors
    }
}

impl Strategy for ResourceClaim {
    fn set_defaults(&self, object: &mut Value) {
        set_request_defaults(object.at_mut("spec"));
        let results = object
            .child_mut("status")
            .and_then(|status| status.child_mut("allocation"))
            .and_then(|allocation| allocation.child_mut("devices"));
        for result in results.into_iter().flat_map(|d| d.each_mut("results")) {
            set_toleration_defaults(result);
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&ResourceClaimStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct ResourceClaimStatus;

impl CreateStrategy for ResourceClaimStatus {
    inherit!(create: ResourceClaim);
}

impl UpdateStrategy for ResourceClaimStatus {
    inherit!(update: ResourceClaim);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
        keep_metadata(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate_update(new, old)
    }
}

impl Strategy for ResourceClaimStatus {
    inherit!(ResourceClaim);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"], &["spec"]]
    }
}

/// A write to the status that leaves all of metadata alone (`ResetObjectMetaForStatus`).
pub(crate) fn keep_metadata(new: &mut Value, old: &Value) {
    for field in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        keep(new.at_mut("metadata"), old.at("metadata"), field);
    }
}

impl CreateStrategy for ResourceClaimTemplate {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate(object, true, &name_rules::dns_subdomain)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ResourceClaimTemplate {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(spec_stays(new, old));
        errors
    }
}

impl Strategy for ResourceClaimTemplate {
    fn set_defaults(&self, object: &mut Value) {
        set_request_defaults(object.at_mut("spec").at_mut("spec"));
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

impl CreateStrategy for ResourceSlice {
    fn prepare_for_create(&self, object: &mut Value, cx: &Context<'_>) {
        generation::start(object);
        date_taints(object, cx.now);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate(object, false, &name_rules::dns_subdomain)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for ResourceSlice {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, cx: &Context<'_>) {
        date_taints(new, cx.now);
        let changed = !same(new.at("spec"), old.at("spec"));
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let path = Path::new("spec");
        let (spec, before) = (new.at("spec"), old.at("spec"));
        for field in ["driver", "nodeName"] {
            if spec.at(field) != before.at(field) {
                errors.invalid(&path.child(field), spec.at(field), IMMUTABLE);
            }
        }
        let name = |spec: &'_ Value| spec.at("pool").text("name").to_owned();
        if name(spec) != name(before) {
            let at = path.child("pool");
            errors.invalid(&at.child("name"), name(spec), IMMUTABLE);
        }
        errors
    }
}

impl Strategy for ResourceSlice {
    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

/// Taints without a date were added now.
fn date_taints(slice: &mut Value, now: &str) {
    let Some(spec) = slice.child_mut("spec") else {
        return;
    };
    for device in spec.each_mut("devices") {
        for taint in device.each_mut("taints") {
            taint.default_to("timeAdded", now);
        }
    }
}

fn spec_stays(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    if !same(new.at("spec"), old.at("spec")) {
        errors.invalid(&Path::new("spec"), Internal(new.at("spec")), IMMUTABLE);
    }
    errors
}

fn set_request_defaults(spec: &mut Value) {
    let Some(devices) = spec.child_mut("devices") else {
        return;
    };
    for request in devices.each_mut("requests") {
        if let Some(exactly) = request.child_mut("exactly") {
            set_count_defaults(exactly);
        }
        for alternative in request.each_mut("firstAvailable") {
            set_count_defaults(alternative);
        }
    }
}

fn set_count_defaults(request: &mut Value) {
    if request.text("allocationMode").is_empty() {
        request.set("allocationMode", "ExactCount");
    }
    let uncounted = request.int("count").unwrap_or_default() == 0;
    if request.text("allocationMode") == "ExactCount" && uncounted {
        request.set("count", 1);
    }
    set_toleration_defaults(request);
}

fn set_toleration_defaults(holder: &mut Value) {
    for toleration in holder.each_mut("tolerations") {
        if toleration.text("operator").is_empty() {
            toleration.set("operator", "Equal");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ALONE, update_faults};

    #[test]
    fn requests_ask_for_one_device() {
        let requests = json!([{"exactly": {"deviceClassName": "x", "tolerations": [{}]}},
            {"firstAvailable": [{"allocationMode": "All"}]}]);
        let mut claim = json!({"spec": {"devices": {"requests": requests}}});
        ResourceClaim.set_defaults(&mut claim);
        let requests = &claim["spec"]["devices"]["requests"];
        assert_eq!(
            requests[0]["exactly"],
            json!({"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1,
                "tolerations": [{"operator": "Equal"}]})
        );
        assert_eq!(
            requests[1]["firstAvailable"][0],
            json!({"allocationMode": "All"})
        );
    }

    #[test]
    fn claims_stay_and_slices_keep_their_place() {
        let metadata = json!({"name": "a", "namespace": "n", "resourceVersion": "1"});
        let object = |spec: Value| json!({"metadata": metadata, "spec": spec});
        let (old, new) = (
            object(json!({"driver": "x"})),
            object(json!({"driver": "y"})),
        );
        assert_eq!(update_faults(&ResourceClaim, &new, &old).len(), 1);
        assert_eq!(
            update_faults(&ResourceSlice, &new, &old),
            ["spec.driver: Invalid value: \"y\": field is immutable"]
        );
    }

    #[test]
    fn a_status_write_changes_nothing_else() {
        let old = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}});
        let mut new = json!({"metadata": {"annotations": {"c": "d"}}, "status": {"y": 2}});
        ResourceClaimStatus.prepare_for_update(&mut new, &old, &ALONE);
        let expected =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}, "status": {"y": 2}});
        assert_eq!(new, expected);
    }
}
