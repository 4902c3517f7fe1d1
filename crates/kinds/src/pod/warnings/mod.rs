//! What a client is told of a pod that is accepted all the same.
//!
//! Upstream: `pkg/api/pod/warnings.go`.

mod paths;
mod ports;

use crate::common::{claim_spec, ip, node_labels};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, go};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NULL_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Of a pod, whose place is the root, or of a template.
pub(crate) fn warnings(object: &Value, path: &Path<'_>, is_template: bool) -> Vec<String> {
    let mut out = Vec::new();
    let spec = object.at("spec");
    let at = path.child("spec");
    node_affinity(spec, &at, &mut out);
    spread(spec, &at, &mut out);
    let metadata = path.child("metadata");
    let annotations_at = metadata.child("annotations");
    let annotations = object.path(&["metadata", "annotations"]);
    deprecated_annotations(annotations, &annotations_at, &mut out);
    volumes(spec, &at, &mut out);
    paths::overlaps(spec, &mut out);
    duplicates(spec, &at, &mut out);
    let overhead = at.child("overhead");
    for name in ["memory", "ephemeral-storage"] {
        fractional(spec.at("overhead"), name, &overhead, &mut out);
    }
    let seccomp = "seccomp.security.alpha.kubernetes.io/pod";
    if !spec.at("securityContext").has("seccompProfile") {
        non_functional_seccomp(annotations, seccomp, &annotations_at, &mut out);
    }
    each_container(spec, &at, |container, at| {
        let context = container.at("securityContext");
        let name = container.text("name");
        if !annotations.is_null() && !context.has("seccompProfile") {
            let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
            non_functional_seccomp(annotations, &key, &annotations_at, &mut out);
        }
        if is_template && !context.has("appArmorProfile") {
            app_armor(object, name, &annotations_at, &mut out);
        }
        container_resources(container, at, &mut out);
        variables(container, &at.child("env"), &mut out);
    });
    ports::warnings(spec, &at, &mut out);
    if spec
        .int("terminationGracePeriodSeconds")
        .is_some_and(|s| s < 0)
    {
        let at = at.child("terminationGracePeriodSeconds");
        out.push(format!(
            "{at}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    pod_affinity(spec, &at, &mut out);
    addresses(spec, &at, &mut out);
    out
}

fn each_container(spec: &Value, path: &Path<'_>, mut visit: impl FnMut(&Value, &Path<'_>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let at = path.child(list);
        for (i, container) in spec.list(list).iter().enumerate() {
            visit(container, &at.index(i));
        }
    }
}

fn node_affinity(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let selector = path.child("nodeSelector");
    for (key, _) in spec.entries("nodeSelector") {
        if let Some(message) = node_labels::deprecation(key) {
            out.push(format!("{}: {message}", selector.key(key)));
        }
    }
    let (affinity, nodes, required);
    affinity = path.child("affinity");
    nodes = affinity.child("nodeAffinity");
    required = nodes.child(REQUIRED);
    let own = spec.path(&["affinity", "nodeAffinity"]);
    let list = required.child("nodeSelectorTerms");
    let terms = own.at(REQUIRED).list("nodeSelectorTerms");
    for (i, term) in terms.iter().enumerate() {
        out.extend(node_labels::warnings_for_term(term, false, &list.index(i)));
    }
    let list = nodes.child(PREFERRED);
    for (i, weighted) in own.list(PREFERRED).iter().enumerate() {
        let at = list.index(i);
        let term = weighted.at("preference");
        out.extend(node_labels::warnings_for_term(
            term,
            true,
            &at.child("preference"),
        ));
    }
}

fn spread(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let list = path.child("topologySpreadConstraints");
    for (i, constraint) in spec.list("topologySpreadConstraints").iter().enumerate() {
        let at = list.index(i);
        let key = constraint.text("topologyKey");
        if let Some(message) = node_labels::deprecation(key) {
            out.push(format!("{}: {key} is {message}", at.child("topologyKey")));
        }
        if !constraint.has("labelSelector") {
            out.push(format!("{}: {NULL_SELECTOR}", at.child("labelSelector")));
        }
    }
}

fn deprecated_annotations(annotations: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    for (key, message) in [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
        ),
        (
            "security.alpha.kubernetes.io/sysctls",
            r#"non-functional in v1.11+; use the "sysctls" field instead"#,
        ),
        (
            "security.alpha.kubernetes.io/unsafe-sysctls",
            r#"non-functional in v1.11+; use the "sysctls" field instead"#,
        ),
    ] {
        if annotations.has(key) {
            out.push(format!("{}: {message}", path.key(key)));
        }
    }
}

fn volumes(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let list = path.child("volumes");
    for (i, volume) in spec.list("volumes").iter().enumerate() {
        let at = list.index(i);
        for (field, shown, since) in [
            (
                "photonPersistentDisk",
                "photonPersistentDisk",
                "deprecated in v1.11, non-functional in v1.16+",
            ),
            (
                "gitRepo",
                "gitRepo",
                "deprecated in v1.11, and disabled by default in v1.33+",
            ),
            (
                "scaleIO",
                "scaleIO",
                "deprecated in v1.16, non-functional in v1.22+",
            ),
            (
                "flocker",
                "flocker",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "storageos",
                "storageOS",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "quobyte",
                "quobyte",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "glusterfs",
                "glusterfs",
                "deprecated in v1.25, non-functional in v1.26+",
            ),
        ] {
            if volume.has(field) {
                out.push(format!("{}: {since}", at.child(shown)));
            }
        }
        let template = volume.path(&["ephemeral", "volumeClaimTemplate"]);
        if !template.is_null() {
            let (outer, inner);
            outer = at.child("ephemeral");
            inner = outer.child("volumeClaimTemplate");
            out.extend(claim_spec::warnings(
                template.at("spec"),
                &inner.child("spec"),
            ));
        }
        for field in ["cephfs", "rbd"] {
            if volume.has(field) {
                let since = "deprecated in v1.28, non-functional in v1.31+";
                out.push(format!("{}: {since}", at.child(field)));
            }
        }
    }
}

fn duplicates(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let at = path.child(list);
        let mut taken = BTreeSet::new();
        for (i, item) in spec.list(list).iter().enumerate() {
            let text = item.text(field);
            if !taken.insert(text) {
                let at = at.index(i);
                let quoted = go::quote(text);
                out.push(format!("{}: duplicate {field} {quoted}", at.child(field)));
            }
        }
    }
    let list = path.child("imagePullSecrets");
    for (i, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        if secret.text("name").is_empty() {
            let at = list.index(i);
            out.push(format!("{}: invalid empty name \"\"", at.child("name")));
        }
    }
}

/// Bytes come in whole numbers.
fn fractional(list: &Value, name: &str, path: &Path<'_>, out: &mut Vec<String>) {
    if !list.has(name) {
        return;
    }
    let quantity = Quantity::of(list.at(name));
    if quantity.milli_value() % 1000 != 0 {
        let at = path.key(name);
        let quoted = go::quote(&quantity.to_string());
        out.push(format!(
            "{at}: fractional byte value {quoted} is invalid, must be an integer"
        ));
    }
}

fn container_resources(container: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let resources = path.child("resources");
    for name in ["memory", "ephemeral-storage"] {
        for half in ["limits", "requests"] {
            let list = container.at("resources").at(half);
            fractional(list, name, &resources.child(half), out);
        }
    }
}

fn non_functional_seccomp(annotations: &Value, key: &str, path: &Path<'_>, out: &mut Vec<String>) {
    if annotations.has(key) {
        let at = path.key(key);
        out.push(format!(
            "{at}: non-functional in v1.27+; use the \"seccompProfile\" field instead"
        ));
    }
}

fn app_armor(object: &Value, container: &str, path: &Path<'_>, out: &mut Vec<String>) {
    let key = format!("container.apparmor.security.beta.kubernetes.io/{container}");
    let annotations = object.path(&["metadata", "annotations"]);
    if !annotations.has(&key) {
        return;
    }
    let of_pod = object.path(&["spec", "securityContext", "appArmorProfile"]);
    let meant = super::prepare::app_armor_profile(annotations.text(&key));
    if of_pod.is_null() || meant.as_ref() != Some(of_pod) {
        let at = path.key(&key);
        out.push(format!(
            "{at}: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ));
    }
}

/// A variable that is set again without building on what it was.
fn variables(container: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let mut taken = BTreeSet::new();
    for (i, variable) in container.list("env").iter().enumerate() {
        let (name, value) = (variable.text("name"), variable.text("value"));
        if taken.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let builds = value.contains(&reference) && value != reference;
        if variable.has("valueFrom") || !builds {
            let at = path.index(i);
            let quoted = go::quote(name);
            out.push(format!(
                "{at}: hides previous definition of {quoted}, which may be dropped when using apply"
            ));
        }
    }
}

fn pod_affinity(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let affinity = path.child("affinity");
    for side in ["podAffinity", "podAntiAffinity"] {
        let own = spec.at("affinity").at(side);
        let at = affinity.child(side);
        let list = at.child(REQUIRED);
        for (i, term) in own.list(REQUIRED).iter().enumerate() {
            if !term.has("labelSelector") {
                let at = list.index(i);
                out.push(format!("{}: {NULL_SELECTOR}", at.child("labelSelector")));
            }
        }
        let list = at.child(PREFERRED);
        for (i, weighted) in own.list(PREFERRED).iter().enumerate() {
            if !weighted.at("podAffinityTerm").has("labelSelector") {
                let at = list.index(i);
                let at = at.child("podAffinityTerm");
                out.push(format!("{}: {NULL_SELECTOR}", at.child("labelSelector")));
            }
        }
    }
}

fn addresses(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    let config = path.child("dnsConfig");
    let list = config.child("nameservers");
    for (i, server) in spec.at("dnsConfig").list("nameservers").iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        out.extend(ip::warnings(&list.index(i), server));
    }
    let list = path.child("hostAliases");
    for (i, alias) in spec.list("hostAliases").iter().enumerate() {
        let at = list.index(i);
        out.extend(ip::warnings(&at.child("ip"), alias.text("ip")));
    }
}

#[cfg(test)]
mod tests;
