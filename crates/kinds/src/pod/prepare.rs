//! What becomes of a pod between admission and validation.
//!
//! Upstream: `pkg/registry/core/pod/strategy.go`.

use super::{disabled, resources};
use crate::common::equality::same;
use crate::common::generation;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use stowplan_apimachinery::{Edit, View};

/// A new pod is pending, of a class that follows from its resources.
pub(super) fn for_create(pod: &mut Value, now: &str) {
    generation::start(pod);
    // A class that the creator gives is taken over, by a slip of upstream's.
    let given = pod.at("status").text("qosClass").to_owned();
    let class = match given.is_empty() {
        true => resources::qos_class(pod.at("spec")).to_owned(),
        false => given,
    };
    let mut status = json!({"phase": "Pending", "qosClass": class});
    if !pod.at("spec").list("schedulingGates").is_empty() {
        status.set(
            "conditions",
            json!([{
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null, "lastTransitionTime": now,
            }]),
        );
    }
    pod.set("status", status);
    disabled::drop_from_spec(pod.at_mut("spec"), &Value::Null);
    super::defaults::mirror_service_account(pod.at_mut("spec"));
    merge_label_keys(pod);
    app_armor_from_annotations(pod);
}

/// Labels named by key become expressions of the selectors beside them.
fn merge_label_keys(pod: &mut Value) {
    let spec = pod.at("spec");
    if !spec.has("affinity") && !spec.has("topologySpreadConstraints") {
        return;
    }
    let labels = pod.at("metadata").at("labels").clone();
    let spec = pod.at_mut("spec");
    if let Some(affinity) = spec.child_mut("affinity") {
        for side in ["podAffinity", "podAntiAffinity"] {
            let Some(side) = affinity.child_mut(side) else {
                continue;
            };
            for weighted in side.each_mut("preferredDuringSchedulingIgnoredDuringExecution") {
                if let Some(term) = weighted.child_mut("podAffinityTerm") {
                    merge_into_selector(term, &labels);
                }
            }
            for term in side.each_mut("requiredDuringSchedulingIgnoredDuringExecution") {
                merge_into_selector(term, &labels);
            }
        }
    }
    for constraint in spec.each_mut("topologySpreadConstraints") {
        merge_into_selector(constraint, &labels);
    }
}

fn merge_into_selector(term: &mut Value, labels: &Value) {
    let mut expressions = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.list(field).iter().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if expressions.is_empty() {
        return;
    }
    if let Some(selector) = term.child_mut("labelSelector") {
        selector.list_mut("matchExpressions").extend(expressions);
    }
}

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// AppArmor profiles were annotations once; those of containers without a profile become fields.
fn app_armor_from_annotations(pod: &mut Value) {
    if pod.path(&["spec", "os"]).text("name") == "windows" {
        return;
    }
    let annotations = pod.at("metadata").at("annotations").clone();
    let of_pod = pod
        .path(&["spec", "securityContext", "appArmorProfile"])
        .clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in pod.at_mut("spec").each_mut(list) {
            let annotation = annotations.text(&format!("{APP_ARMOR}{}", container.text("name")));
            let Some(profile) = app_armor_profile(annotation) else {
                continue;
            };
            let context = container.at("securityContext");
            if !context.has("appArmorProfile") && profile != of_pod {
                let context = container.at_mut("securityContext");
                context.set("appArmorProfile", profile);
            }
        }
    }
}

/// The profile that an annotation stands for.
pub(super) fn app_armor_profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let profile = annotation.strip_prefix("localhost/")?;
            let valid = !profile.is_empty() && profile.trim() == profile && profile.len() <= 4096;
            valid.then(|| json!({"type": "Localhost", "localhostProfile": profile}))
        }
    }
}

/// A change leaves the status alone.
pub(super) fn for_update(new: &mut Value, old: &Value) {
    new.set("status", old.at("status").clone());
    disabled::drop_from_spec(new.at_mut("spec"), old.at("spec"));
    super::defaults::mirror_service_account(new.at_mut("spec"));
    generation::raise_if(new, old, !same(new.at("spec"), old.at("spec")));
}

/// A change of the status leaves the rest alone, but for labels, annotations and finalizers.
pub(super) fn for_status_update(new: &mut Value, old: &Value) {
    new.set("spec", old.at("spec").clone());
    let metadata = new.at_mut("metadata");
    metadata.unset("deletionTimestamp");
    match old.at("metadata").at("ownerReferences") {
        Value::Null => {
            metadata.unset("ownerReferences");
        }
        owners => metadata.set("ownerReferences", owners.clone()),
    }
    let before = old.at("status");
    let status = new.at_mut("status");
    if status.text("qosClass").is_empty() && before.has("qosClass") {
        status.set("qosClass", before.text("qosClass"));
    }
    keep_observed_generations(status, before);
    disabled::drop_from_status(status, before);
}

/// `observedGeneration` cannot be cleared: neither the status's nor a condition's.
fn keep_observed_generations(status: &mut Value, before: &Value) {
    let observed = |value: &Value| value.int("observedGeneration").unwrap_or_default();
    if observed(status) == 0 && observed(before) != 0 {
        status.set("observedGeneration", observed(before));
    }
    // Several conditions of one type are taken in order.
    let mut seen: BTreeMap<&str, VecDeque<i64>> = BTreeMap::new();
    for condition in before.list("conditions") {
        let generations = seen.entry(condition.text("type")).or_default();
        generations.push_back(observed(condition));
    }
    for condition in status.each_mut("conditions") {
        let known = seen.get_mut(condition.text("type"));
        let Some(generation) = known.and_then(VecDeque::pop_front) else {
            continue;
        };
        if observed(condition) == 0 && generation != 0 {
            condition.set("observedGeneration", generation);
        }
    }
}

/// A resize changes resources and how they are resized, and nothing else. Where the containers
/// themselves differ everything is left in, for validation to refuse.
pub(super) fn for_resize(new: &mut Value, old: &Value) {
    let lists = ["containers", "initContainers"];
    let count = |pod: &Value, list: &str| pod.at("spec").list(list).len();
    if lists
        .iter()
        .all(|list| count(new, list) == count(old, list))
    {
        let mut spec = old.at("spec").clone();
        match new.at("spec").at("resources") {
            Value::Null => {
                spec.unset("resources");
            }
            own => spec.set("resources", own.clone()),
        }
        for list in lists {
            resized_containers(&mut spec, new.at("spec"), list);
        }
        new.set("spec", spec);
        new.set("status", old.at("status").clone());
        keep_metadata_but_managers(new, old);
    }
    disabled::drop_from_spec(new.at_mut("spec"), old.at("spec"));
    generation::raise_if(new, old, !same(new.at("spec"), old.at("spec")));
}

/// Only ephemeral containers change.
pub(super) fn for_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new.at("spec").at("ephemeralContainers").clone();
    let mut spec = old.at("spec").clone();
    match containers {
        Value::Null => {
            spec.unset("ephemeralContainers");
        }
        containers => spec.set("ephemeralContainers", containers),
    }
    new.set("spec", spec);
    new.set("status", old.at("status").clone());
    keep_metadata_but_managers(new, old);
    disabled::drop_from_spec(new.at_mut("spec"), old.at("spec"));
    generation::raise_if(new, old, !same(new.at("spec"), old.at("spec")));
}

fn resized_containers(spec: &mut Value, asked: &Value, list: &str) {
    let asked = asked.list(list);
    if asked.is_empty() {
        return;
    }
    let same_names = spec
        .list(list)
        .iter()
        .zip(asked)
        .all(|(a, b)| a.text("name") == b.text("name"));
    if !same_names {
        spec.set(list, asked.to_vec());
        return;
    }
    for (container, asked) in spec.each_mut(list).zip(asked) {
        for field in ["resources", "resizePolicy"] {
            match asked.at(field) {
                Value::Null => {
                    container.unset(field);
                }
                value => container.set(field, value.clone()),
            }
        }
    }
}

/// `ResetObjectMetaForStatus`: of the new metadata only name-like fields and managers stay.
fn keep_metadata_but_managers(new: &mut Value, old: &Value) {
    let metadata = new.at_mut("metadata");
    for field in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        match old.at("metadata").at(field) {
            Value::Null => {
                metadata.unset(field);
            }
            value => metadata.set(field, value.clone()),
        }
    }
}
