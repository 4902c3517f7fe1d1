//! StatefulSets.
//!
//! Upstream: `pkg/controller/statefulset/stateful_set_utils.go`. All pods are made at once, whatever
//! `podManagementPolicy` says.

use super::View;
use super::deployment::replicas;
use super::template::{controlled_by, label, pod};
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View as _, meta};

/// The pods that a StatefulSet lacks, each followed by those of its claims that are not there.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    let spec = set.at("spec");
    let (namespace, name) = (meta::namespace(set), meta::name(set));
    let start = spec.at("ordinals").int("start").unwrap_or(0);
    let owner = controlled_by("apps/v1", "StatefulSet", set);
    let mut wanted = Vec::new();
    for ordinal in start..start.saturating_add(replicas(set)) {
        let pod_name = format!("{name}-{ordinal}");
        if view.has_pod(namespace, &pod_name) {
            continue;
        }
        let mut made = pod(spec.at("template"), namespace, &pod_name, owner.clone());
        let ordinal = ordinal.to_string();
        label(
            &mut made,
            &[
                ("statefulset.kubernetes.io/pod-name", &pod_name),
                ("apps.kubernetes.io/pod-index", &ordinal),
            ],
        );
        let claims = claims(set, &ordinal);
        mount(&mut made, spec, &claims);
        wanted.push(made);
        let missing = |claim: &Value| !view.has_claim(namespace, meta::name(claim));
        wanted.extend(claims.into_iter().filter(missing));
    }
    wanted
}

/// The claims of one pod, in the templates' order.
fn claims(set: &Value, ordinal: &str) -> Vec<Value> {
    let spec = set.at("spec");
    let selected = spec.at("selector").entries("matchLabels");
    let labels: Vec<(&str, &str)> = selected
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        .collect();
    let templates = spec.list("volumeClaimTemplates").iter();
    let claim = |template: &Value| {
        let mut claim = template.clone();
        claim.set("apiVersion", "v1");
        claim.set("kind", "PersistentVolumeClaim");
        claim.unset("status");
        let metadata = claim.at_mut("metadata");
        let name = format!("{}-{}-{ordinal}", meta::name(template), meta::name(set));
        metadata.set("name", name);
        metadata.set("namespace", meta::namespace(set));
        label(&mut claim, &labels);
        claim
    };
    templates.map(claim).collect()
}

/// Claims take the place of volumes of the same name.
fn mount(pod: &mut Value, spec: &Value, claims: &[Value]) {
    let templates = spec.list("volumeClaimTemplates");
    let mut volumes: Vec<Value> = templates
        .iter()
        .zip(claims)
        .map(|(template, claim)| {
            let claim = json!({"claimName": meta::name(claim)});
            json!({"name": meta::name(template), "persistentVolumeClaim": claim})
        })
        .collect();
    let given = pod.at("spec").list("volumes");
    let is_claimed = |volume: &&Value| {
        let name = volume.text("name");
        templates
            .iter()
            .any(|template| meta::name(template) == name)
    };
    volumes.extend(given.iter().filter(|volume| !is_claimed(volume)).cloned());
    if !volumes.is_empty() {
        pod.at_mut("spec").set("volumes", volumes);
    }
}
