//! Namespace.
//!
//! Upstream: `pkg/registry/core/namespace/strategy.go`, `pkg/apis/core/v1/defaults.go`.

use crate::common::faults::Faults;
use crate::common::{kube_metadata, metadata, name_rules};
use crate::fields::{Fields, Refusal, by_path};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, meta};

pub(crate) struct Namespace;

pub(crate) static FIELDS: Fields = Fields {
    known: &["metadata.name", "status.phase"],
    refusal: Refusal::NotSupported,
    value: by_path,
};

const KUBERNETES: &str = "kubernetes";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
static SPEC: Path<'static> = Path::new("spec");
static FINALIZERS: Path<'static> = SPEC.child("finalizers");

impl CreateStrategy for Namespace {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({"phase": "Active"}));
        let finalizers = object.at_mut("spec").list_mut("finalizers");
        if !finalizers.iter().any(|f| f == KUBERNETES) {
            finalizers.push(KUBERNETES.into());
        }
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_label);
        for finalizer in object.at("spec").list("finalizers") {
            let finalizer = finalizer.as_str().unwrap_or_default();
            errors.extend(validate_finalizer(finalizer, &FINALIZERS));
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_label(name, prefix)
    }
}

impl UpdateStrategy for Namespace {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
        match old.at("spec").at("finalizers") {
            Value::Null => {
                new.at_mut("spec").unset("finalizers");
            }
            finalizers => new.at_mut("spec").set("finalizers", finalizers.clone()),
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        errors.extend(kube_metadata::validate_update(new, old));
        errors
    }
}

impl Strategy for Namespace {
    fn set_defaults(&self, object: &mut Value) {
        if !meta::name(object).is_empty() {
            self.canonicalize(object);
        }
        if object.at("status").text("phase").is_empty() {
            object.at_mut("status").set("phase", "Active");
        }
    }

    fn canonicalize(&self, object: &mut Value) {
        let name = meta::name(object).to_owned();
        let labels = object.at_mut("metadata").at_mut("labels");
        labels.set(NAME_LABEL, name);
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&NamespaceStatus)
    }

    fn subresource(&self, name: &str) -> Option<&'static dyn Strategy> {
        match name {
            "status" => Some(&NamespaceStatus),
            "finalize" => Some(&NamespaceFinalize),
            _ => None,
        }
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

fn validate_finalizer(finalizer: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = metadata::validate_finalizer_name(finalizer, path);
    errors.extend(kube_metadata::validate_finalizer(finalizer, path));
    errors
}

struct NamespaceStatus;

impl CreateStrategy for NamespaceStatus {
    inherit!(create: Namespace);
}

impl UpdateStrategy for NamespaceStatus {
    inherit!(update: Namespace);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let path = Path::new("status");
        let path = path.child("Phase");
        let phase = new.at("status").text("phase");
        match (new.at("metadata").has("deletionTimestamp"), phase) {
            (false, "Active") | (true, "Terminating") => {}
            (false, phase) => errors.invalid(
                &path,
                phase,
                "may only be 'Active' if `deletionTimestamp` is empty",
            ),
            (true, phase) => errors.invalid(
                &path,
                phase,
                "may only be 'Terminating' if `deletionTimestamp` is not empty",
            ),
        }
        errors
    }
}

impl Strategy for NamespaceStatus {
    inherit!(Namespace);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

struct NamespaceFinalize;

impl CreateStrategy for NamespaceFinalize {
    inherit!(create: Namespace);
}

impl UpdateStrategy for NamespaceFinalize {
    inherit!(update: Namespace);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        for (i, finalizer) in new.at("spec").list("finalizers").iter().enumerate() {
            let finalizer = finalizer.as_str().unwrap_or_default();
            errors.extend(validate_finalizer(finalizer, &FINALIZERS.index(i)));
        }
        errors
    }
}

impl Strategy for NamespaceFinalize {
    inherit!(Namespace);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};

    #[test]
    fn a_new_namespace_is_active_labelled_and_held_by_kubernetes() {
        let mut namespace = json!({"metadata": {"name": "a"}, "status": {"phase": "x"}});
        Namespace.set_defaults(&mut namespace);
        crate::tests::create(&Namespace, &mut namespace);
        assert_eq!(namespace["metadata"]["labels"][NAME_LABEL], "a");
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
        assert_eq!(namespace["status"], json!({"phase": "Active"}));
    }

    #[test]
    fn finalizers_have_a_domain() {
        let namespace = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["x"]}});
        assert_eq!(
            faults(&Namespace, &namespace),
            [
                "spec.finalizers: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
    }

    #[test]
    fn the_phase_follows_the_deletion_timestamp() {
        let old = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
        let mut new = old.clone();
        new["status"] = json!({"phase": "Terminating"});
        let fault = "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty";
        assert_eq!(update_faults(&NamespaceStatus, &new, &old), [fault]);
    }
}
