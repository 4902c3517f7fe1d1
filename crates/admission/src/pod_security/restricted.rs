//! The checks of the restricted level: the best that is known for containers.

use super::baseline::{added, masked_proc};
use super::checks::{Pod, Violation, plural, quoted, setters, these_containers};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;

pub(super) fn privilege_escalation(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    let bad = pod.named(|context| context.at("allowPrivilegeEscalation").as_bool() != Some(false));
    match bad.is_empty() {
        true => None,
        false => Violation::new(
            "allowPrivilegeEscalation != false",
            format!(
                "{} must set securityContext.allowPrivilegeEscalation=false",
                these_containers(&bad)
            ),
        ),
    }
}

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    let allowed = ["NET_BIND_SERVICE"];
    let drops_all = |context: &Value| {
        let mut dropped = context.at("capabilities").list("drop").iter();
        dropped.any(|name| name == "ALL")
    };
    let mut faults = Vec::new();
    let keeping = pod.named(|context| !drops_all(context));
    if !keeping.is_empty() {
        faults.push(format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            these_containers(&keeping)
        ));
    }
    let adding = pod.named(|context| !added(context, &allowed).is_empty());
    if !adding.is_empty() {
        let contexts = pod.containers().map(|c| c.at("securityContext"));
        let values: BTreeSet<&str> = contexts.flat_map(|c| added(c, &allowed)).collect();
        faults.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            these_containers(&adding),
            quoted(values)
        ));
    }
    match faults.is_empty() {
        true => None,
        false => Violation::new("unrestricted capabilities", faults.join("; ")),
    }
}

pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    masked_proc(pod)
}

const ALLOWED_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// In the order in which upstream looks for them.
const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec.list("volumes").iter();
    let bad: Vec<&Value> = volumes
        .filter(|volume| !ALLOWED_VOLUMES.iter().any(|kind| volume.has(kind)))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let kind_of = |volume: &&Value| {
        let kind = OTHER_VOLUMES.iter().find(|kind| volume.has(kind));
        kind.copied().unwrap_or("unknown")
    };
    let kinds: BTreeSet<&str> = bad.iter().map(kind_of).collect();
    let of = plural(
        "restricted volume type",
        "restricted volume types",
        kinds.len(),
    );
    Violation::new(
        "restricted volume types",
        format!(
            "{} {} {} {of} {}",
            plural("volume", "volumes", bad.len()),
            quoted(bad.iter().map(|volume| volume.text("name"))),
            plural("uses", "use", bad.len()),
            quoted(kinds)
        ),
    )
}

pub(super) fn run_as_non_root(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    let value = |context: &Value| context.at("runAsNonRoot").as_bool();
    let of_pod = value(pod.context());
    let bad = pod.named(|context| value(context) == Some(false));
    if let Some(who) = setters(of_pod == Some(false), &bad) {
        let detail = format!("{who} must not set securityContext.runAsNonRoot=false");
        return Violation::new(reason, detail);
    }
    let silent = pod.named(|context| value(context).is_none());
    match of_pod == Some(true) || silent.is_empty() {
        true => None,
        false => Violation::new(
            reason,
            format!(
                "pod or {} must set securityContext.runAsNonRoot=true",
                these_containers(&silent)
            ),
        ),
    }
}

pub(super) fn run_as_user(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() {
        return None;
    }
    let is_root = |context: &Value| context.int("runAsUser") == Some(0);
    let who = setters(is_root(pod.context()), &pod.named(is_root))?;
    Violation::new("runAsUser=0", format!("{who} must not set runAsUser=0"))
}
