//! DefaultStorageClass: a claim that names no class gets the newest default.
//! Upstream: `plugin/pkg/admission/storage/storageclass/setdefault`.

use crate::Attributes;
use serde_json::Value;
use std::cmp::Reverse;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::{Edit, View};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) {
    if !request.creates("", "persistentvolumeclaims") {
        return;
    }
    let Some(claim) = request.object.as_deref_mut() else {
        return;
    };
    let annotated = claim.at("metadata").at("annotations").has(BETA_CLASS);
    if annotated || claim.at("spec").has("storageClassName") {
        return;
    }
    let classes = cluster.list("storage.k8s.io", "storageclasses", "");
    if let Some(class) = newest(classes, &DEFAULT) {
        claim
            .at_mut("spec")
            .set("storageClassName", meta::name(&class));
    }
}

/// Of the classes that an annotation marks as the default: the newest. Creation times are whole
/// seconds; within one the revision tells which came later (upstream goes by name there).
pub(crate) fn newest(classes: Vec<Arc<Value>>, marks: &[&str]) -> Option<Arc<Value>> {
    let is_default = |class: &Arc<Value>| {
        let annotations = class.at("metadata").at("annotations");
        marks.iter().any(|mark| annotations.text(mark) == "true")
    };
    let age = |class: &Arc<Value>| {
        let metadata = class.at("metadata");
        let revision: u64 = metadata.text("resourceVersion").parse().unwrap_or_default();
        let created = metadata.text("creationTimestamp").to_owned();
        (
            Reverse(created),
            Reverse(revision),
            meta::name(class).to_owned(),
        )
    };
    classes.into_iter().filter(is_default).min_by_key(age)
}

/// The class of a claim: the old annotation, else the field.
pub(crate) fn class_of(claim: &Value) -> &str {
    let annotation = claim.at("metadata").at("annotations").at(BETA_CLASS);
    let field = claim.at("spec").text("storageClassName");
    annotation.as_str().unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, Cluster, cluster};
    use serde_json::{Value, json};

    fn class(name: &str, created: &str, default: &str) -> Value {
        json!({"kind": "StorageClass", "metadata": {"name": name, "creationTimestamp": created,
            "annotations": {"storageclass.kubernetes.io/is-default-class": default}}})
    }

    fn chosen(claim: Value, world: &Cluster) -> Value {
        let case = Case::create("", "persistentvolumeclaims", claim);
        case.after(|request| super::admit(request, world))["spec"]["storageClassName"].clone()
    }

    #[test]
    fn the_newest_default_is_chosen() {
        let world = cluster([
            class("a", "2026-01-01T00:00:00Z", "true"),
            class("b", "2026-01-02T00:00:00Z", "true"),
            class("c", "2026-01-02T00:00:00Z", "true"),
            class("d", "2026-01-03T00:00:00Z", "false"),
        ]);
        assert_eq!(chosen(json!({"spec": {}}), &world), "b");
        let own = json!({"spec": {"storageClassName": ""}});
        assert_eq!(chosen(own, &world), "");
        let annotated = json!({"metadata": {"annotations": {super::BETA_CLASS: "x"}}, "spec": {}});
        assert_eq!(chosen(annotated, &world), Value::Null);
        assert_eq!(chosen(json!({"spec": {}}), &cluster([])), Value::Null);
    }
}
