//! Pods.

mod defaults;
mod disabled;
mod fields;
mod image;
mod options;
mod prepare;
pub mod resources;
mod validate;
mod warnings;

pub(crate) use defaults::of_vendors as vendor_defaults;
pub(crate) use defaults::{
    claim_spec as set_claim_defaults, round_list, template as set_template_defaults,
};
pub(crate) use disabled::drop_from_spec as drop_disabled_fields;
pub(crate) use fields::POD_FIELDS;
pub(crate) use options::Options;
pub(crate) use validate::{validate_template, validate_template_annotations};
pub(crate) use warnings::warnings;

use crate::common::{ip, name_rules};
use crate::{Context, CreateStrategy, DeleteStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, meta, names};

/// How pods behave.
pub(crate) struct Pod;

impl CreateStrategy for Pod {
    fn prepare_for_create(&self, object: &mut Value, cx: &Context<'_>) {
        prepare::for_create(object, cx.now);
    }

    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        validate::validate_create(object)
    }

    fn checks_metadata(&self) -> bool {
        true
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for Pod {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        prepare::for_update(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        validate::validate_update(new, old)
    }
}

impl Strategy for Pod {
    fn set_defaults(&self, object: &mut Value) {
        defaults::pod(object);
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        // People rarely change pods themselves; those that do it often would pay for this.
        if old.is_some() {
            return Vec::new();
        }
        let mut out: Vec<String> =
            name_warning(new, "this is used in the Pod's hostname").collect();
        out.extend(warnings::warnings(new, &Path::ROOT, false));
        out
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&PodStatus)
    }

    fn subresource(&self, name: &str) -> Option<&'static dyn Strategy> {
        match name {
            "status" => Some(&PodStatus),
            "resize" => Some(&PodResize),
            "ephemeralcontainers" => Some(&PodEphemeralContainers),
            _ => None,
        }
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        self
    }
}

impl DeleteStrategy for Pod {
    fn returns_deleted_object(&self) -> bool {
        true
    }

    fn grace_period(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let spec = object.at("spec");
        let own = spec.int("terminationGracePeriodSeconds");
        let unbound = spec.text("nodeName").is_empty();
        let finished = matches!(object.at("status").text("phase"), "Failed" | "Succeeded");
        let period = asked.or(own).unwrap_or_default();
        Some(match period {
            _ if unbound || finished => 0,
            ..0 => 1,
            _ => period,
        })
    }
}

/// What to tell of a name that is fine for the object but no label.
pub(crate) fn name_warning(object: &Value, why: &str) -> impl Iterator<Item = String> {
    let faults = names::dns1123_label(meta::name(object));
    let text = || {
        let faults = faults.join(" ");
        format!(
            "metadata.name: {why}, which can result in surprising behavior; a DNS label is recommended: [{faults}]"
        )
    };
    (!faults.is_empty()).then(text).into_iter()
}

/// How `pods/status` behaves.
struct PodStatus;

impl CreateStrategy for PodStatus {
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList {
        Pod.validate(object, cx)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        Pod.validate_name(name, prefix)
    }
}

impl UpdateStrategy for PodStatus {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        prepare::for_status_update(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        validate::validate_status_update(new, old)
    }
}

impl Strategy for PodStatus {
    fn set_defaults(&self, object: &mut Value) {
        defaults::pod(object);
    }

    fn warnings(&self, new: &Value, _old: Option<&Value>) -> Vec<String> {
        let status = Path::new("status");
        let mut out = Vec::new();
        for field in ["podIPs", "hostIPs"] {
            let list = status.child(field);
            for (i, own) in new.at("status").list(field).iter().enumerate() {
                let at = list.index(i);
                out.extend(ip::warnings(&at.child("ip"), own.text("ip")));
            }
        }
        out
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ]
    }
}

/// How `pods/resize` behaves.
struct PodResize;

impl CreateStrategy for PodResize {
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList {
        Pod.validate(object, cx)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        Pod.validate_name(name, prefix)
    }
}

impl UpdateStrategy for PodResize {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        prepare::for_resize(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        validate::validate_resize(new, old)
    }
}

impl Strategy for PodResize {
    fn set_defaults(&self, object: &mut Value) {
        defaults::pod(object);
    }
}

/// How `pods/ephemeralcontainers` behaves.
struct PodEphemeralContainers;

impl CreateStrategy for PodEphemeralContainers {
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList {
        Pod.validate(object, cx)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        Pod.validate_name(name, prefix)
    }
}

impl UpdateStrategy for PodEphemeralContainers {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        prepare::for_ephemeral_containers(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        validate::validate_ephemeral_containers(new, old)
    }
}

impl Strategy for PodEphemeralContainers {
    fn set_defaults(&self, object: &mut Value) {
        defaults::pod(object);
    }
}
