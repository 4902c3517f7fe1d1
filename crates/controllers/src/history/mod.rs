//! The history of a workload: a ControllerRevision for each template that it has had.
//!
//! Upstream: `pkg/controller/history`, and `getPatch` of the controllers that keep one.

#[cfg(test)]
mod tests;

use crate::common::{Selector, candidates, controller_ref, created_at, labels, name, namespace};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_cache::{Cluster, Object};

/// The label that has the hash of a revision's data.
const HASH_LABEL: &str = "controller.kubernetes.io/hash";

/// The longest name of a workload that is part of the name of a revision.
const PREFIX_MAX: usize = 223;

/// A strategic merge patch that gives a workload this template back. Upstream's `getPatch`.
pub fn patch(template: &PodTemplateSpec) -> Value {
    let mut template = serde_json::to_value(template).unwrap_or_default();
    if let Some(fields) = template.as_object_mut() {
        fields.insert("$patch".to_owned(), "replace".into());
    }
    json!({"spec": {"template": template}})
}

/// The template of a revision, if it makes sense.
pub fn template_of(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let template = revision.data.as_ref()?.0.pointer("/spec/template")?;
    serde::Deserialize::deserialize(template).ok()
}

/// Whether a revision has this template. Upstream's `Match`, and `setMatchesLatestExistingRevision` for
/// those that somebody else wrote: what counts is what the patch means.
pub fn matches(revision: &ControllerRevision, template: &PodTemplateSpec) -> bool {
    template_of(revision).is_some_and(|of| of == *template)
}

/// A short name for the data of a revision: the same as upstream's `HashControllerRevision`.
pub fn hash(data: &Value, collisions: i32) -> String {
    let text = go_json(data) + &collisions.to_string();
    let mut hash: u32 = 0x811c_9dc5;
    for byte in text.into_bytes() {
        hash = hash.wrapping_mul(0x0100_0193) ^ u32::from(byte);
    }
    crate::common::safe_encode(&hash.to_string())
}

/// JSON as Go writes it: names in order, and nothing that HTML could misread.
fn go_json(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Upstream's `ControllerRevisionName`.
pub fn revision_name(workload: &str, hash: &str) -> String {
    let mut end = workload.len().min(PREFIX_MAX);
    while !workload.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", &workload[..end])
}

/// A revision that has this template, to be made. Upstream's `NewControllerRevision`.
pub fn new_revision<O: Object>(
    owner: &O,
    template: &PodTemplateSpec,
    revision: i64,
    collisions: i32,
) -> ControllerRevision {
    let data = patch(template);
    let hash = hash(&data, collisions);
    let given = template.metadata.as_ref();
    let mut labels = given
        .and_then(|metadata| metadata.labels.clone())
        .unwrap_or_default();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    revision_of(owner, &hash, labels, data, revision)
}

/// A revision with this hash in its name, to be made.
pub fn revision_of<O: Object>(
    owner: &O,
    hash: &str,
    labels: BTreeMap<String, String>,
    data: Value,
    revision: i64,
) -> ControllerRevision {
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(revision_name(name(owner), hash)),
            namespace: Some(namespace(owner).to_owned()),
            labels: Some(labels),
            annotations: owner.metadata().annotations.clone(),
            owner_references: Some(vec![controller_ref(owner)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(data)),
        revision,
    }
}

/// The revisions that an owner selects and that it controls, or that nobody does, from the oldest to the
/// newest. Upstream's `ListControllerRevisions` and `SortControllerRevisions`.
pub fn list<O: Object>(
    cluster: &Cluster,
    owner: &O,
    selector: &Selector,
) -> Vec<Arc<ControllerRevision>> {
    let mut found = candidates::<ControllerRevision, O>(cluster, owner);
    found.retain(|revision| selector.matches(labels(&**revision)));
    sort(&mut found);
    found
}

/// From the oldest to the newest.
pub fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by(|a, b| {
        let key = |of: &ControllerRevision| (of.revision, created_at(of));
        key(a).cmp(&key(b)).then_with(|| name(&**a).cmp(name(&**b)))
    });
}
