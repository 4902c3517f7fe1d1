//! PodSecurity: what pods may do to their node, by the labels of their namespace.
//! Upstream: `k8s.io/pod-security-admission` v0.36.4.

mod baseline;
mod checks;
mod policy;
mod profiles;
mod restricted;

use crate::{Attributes, Operation};
use checks::Violation;
use policy::{Level, LevelVersion, Policy};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Status, View, go, meta};

/// More pods than this are not looked at when a namespace's policy changes.
const MAX_PODS: usize = 3000;

const IGNORED_SUBRESOURCES: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// Refuses, or returns warnings.
pub(crate) fn validate(
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
) -> Result<Vec<String>, Status> {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Ok(Vec::new());
    }
    let resource = (
        request.resource.group.as_str(),
        request.resource.resource.as_str(),
    );
    match resource {
        ("", "namespaces") => validate_namespace(request, cluster),
        ("", "pods") => validate_pod(request, cluster),
        _ => Ok(warn_of_template(request, cluster)),
    }
}

fn labels(object: &Value) -> &Value {
    object.at("metadata").at("labels")
}

/// Labels must make sense; pods that break a stricter policy are warned of.
fn validate_namespace(
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
) -> Result<Vec<String>, Status> {
    if !request.subresource.is_empty() {
        return Ok(Vec::new());
    }
    let (new, faults) = Policy::of(labels(request.object()));
    let invalid = || Err(Status::invalid(request.kind, request.name, &faults));
    if request.operation == Operation::Create {
        return match faults.is_empty() {
            true => Ok(Vec::new()),
            false => invalid(),
        };
    }
    let (old, old_faults) = Policy::of(labels(request.old()));
    if !faults.is_empty() && faults != old_faults {
        return invalid();
    }
    let relaxed =
        new.enforce.version == old.enforce.version && new.enforce.level <= old.enforce.level;
    if new.enforce == old.enforce || new.enforce.level == Level::Privileged || relaxed {
        return Ok(Vec::new());
    }
    let namespace = meta::name(request.object());
    Ok(warn_of_pods(namespace, cluster, new.enforce))
}

/// One warning per kind of violation among the pods that are there.
fn warn_of_pods(namespace: &str, cluster: &dyn Lookup, enforce: LevelVersion) -> Vec<String> {
    let checked = by_controller(namespace, cluster);
    let pods = checked.len();
    let mut checked = checked.into_iter();
    let mut seen: BTreeMap<String, (String, usize)> = BTreeMap::new();
    cluster.each("", "pods", namespace, &mut |pod| {
        if checked.next() != Some(true) {
            return;
        }
        let violations = checks::evaluate(enforce, pod.at("metadata"), pod.at("spec"));
        if violations.is_empty() {
            return;
        }
        let reasons: Vec<&str> = violations.iter().map(|v| v.reason.as_str()).collect();
        let name = meta::name(pod);
        let entry = seen
            .entry(reasons.join(", "))
            .or_insert_with(|| (name.to_owned(), 0));
        if name < entry.0.as_str() {
            name.clone_into(&mut entry.0);
        }
        entry.1 += 1;
    });
    let mut warnings = Vec::new();
    if pods > MAX_PODS {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MAX_PODS} of {pods} existing pods"
        ));
    }
    if !seen.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {} violate the new PodSecurity enforce level \"{enforce}\"",
            go::quote(namespace)
        ));
    }
    let told = seen.into_iter().map(|(reasons, (pod, count))| match count {
        1 => format!("{pod}: {reasons}"),
        2 => format!("{pod} (and 1 other pod): {reasons}"),
        _ => format!("{pod} (and {} other pods): {reasons}", count - 1),
    });
    let mut told: Vec<String> = told.collect();
    told.sort();
    warnings.extend(told);
    warnings
}

/// Which pods are checked: the first of each controller, then the others, which are likely the same.
fn by_controller(namespace: &str, cluster: &dyn Lookup) -> Vec<bool> {
    let mut controllers = BTreeSet::new();
    let mut is_first = Vec::new();
    cluster.each("", "pods", namespace, &mut |pod| {
        let mut owners = pod.at("metadata").list("ownerReferences").iter();
        let controller = owners.find(|owner| owner.flag("controller"));
        is_first
            .push(controller.is_none_or(|owner| controllers.insert(owner.text("uid").to_owned())));
    });
    let firsts = is_first.iter().filter(|first| **first).count();
    let (mut firsts, mut others) = (firsts.min(MAX_PODS), MAX_PODS.saturating_sub(firsts));
    let checked = is_first.into_iter().map(|first| {
        let left = if first { &mut firsts } else { &mut others };
        let checked = *left > 0;
        *left = left.saturating_sub(1);
        checked
    });
    checked.collect()
}

fn validate_pod(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<Vec<String>, Status> {
    if IGNORED_SUBRESOURCES.contains(&request.subresource) {
        return Ok(Vec::new());
    }
    let Some(namespace) = cluster.get("", "namespaces", "", request.namespace) else {
        let name = go::quote(request.namespace);
        return Err(Status::internal(format!(
            "failed to lookup namespace {name}"
        )));
    };
    let (policy, _) = Policy::of(labels(&namespace));
    let pod = request.object();
    if request.operation == Operation::Update && !is_significant(pod, request.old()) {
        return Ok(Vec::new());
    }
    let (metadata, spec) = (pod.at("metadata"), pod.at("spec"));
    let violations = checks::evaluate(policy.enforce, metadata, spec);
    if !violations.is_empty() {
        let why = format!(
            "violates PodSecurity \"{}\": {}",
            policy.enforce,
            details(&violations)
        );
        return Err(Status::forbidden(request.resource, request.name, why));
    }
    Ok(warn(policy.warn, metadata, spec).into_iter().collect())
}

fn warn_of_template(request: &Attributes<'_>, cluster: &dyn Lookup) -> Vec<String> {
    let Some(path) = template_of(request) else {
        return Vec::new();
    };
    let template = request.object().path(path);
    let Some(namespace) = cluster.get("", "namespaces", "", request.namespace) else {
        return Vec::new();
    };
    if template.is_null() || !request.subresource.is_empty() {
        return Vec::new();
    }
    let (policy, _) = Policy::of(labels(&namespace));
    let warning = warn(policy.warn, template.at("metadata"), template.at("spec"));
    warning.into_iter().collect()
}

/// Where a workload keeps its pod template.
fn template_of(request: &Attributes<'_>) -> Option<&'static [&'static str]> {
    let resource = (
        request.resource.group.as_str(),
        request.resource.resource.as_str(),
    );
    match resource {
        ("", "podtemplates") => Some(&["template"]),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some(&["spec", "template"]),
        ("batch", "cronjobs") => Some(&["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}

fn warn(policy: LevelVersion, metadata: &Value, spec: &Value) -> Option<String> {
    let violations = checks::evaluate(policy, metadata, spec);
    (!violations.is_empty()).then(|| {
        format!(
            "would violate PodSecurity \"{policy}\": {}",
            details(&violations)
        )
    })
}

fn details(violations: &[Violation]) -> String {
    let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Of an update only new containers and other images matter.
fn is_significant(pod: &Value, old: &Value) -> bool {
    let (new, old) = (pod.at("spec"), old.at("spec"));
    let image_changes = |new: &Value, old: &Value| new.text("image") != old.text("image");
    let changes = |field: &str| {
        let (new, old) = (new.list(field), old.list(field));
        let mut pairs = new.iter().zip(old);
        new.len() != old.len() || pairs.any(|(new, old)| image_changes(new, old))
    };
    let mut before: BTreeMap<&str, &Value> = BTreeMap::new();
    for container in old.list("ephemeralContainers") {
        before.entry(container.text("name")).or_insert(container);
    }
    let is_new = |container: &Value| {
        let before = before.get(container.text("name"));
        before.is_none_or(|before| image_changes(container, before))
    };
    changes("containers")
        || changes("initContainers")
        || new.list("ephemeralContainers").iter().any(is_new)
}

#[cfg(test)]
mod tests;
