//! The checks of the baseline level: no known way out of a container.

use super::checks::{Pod, Violation, plural, quoted, quoted_set, setters, these_containers};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The capabilities that a container adds beyond the allowed ones.
pub(super) fn added<'a>(context: &'a Value, allowed: &[&str]) -> Vec<&'a str> {
    let added = context.at("capabilities").list("add").iter();
    let names = added.filter_map(Value::as_str);
    names.filter(|name| !allowed.contains(name)).collect()
}

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.named(|context| !added(context, &DEFAULT_CAPABILITIES).is_empty());
    if bad.is_empty() {
        return None;
    }
    let all = pod.containers().map(|c| c.at("securityContext"));
    let values: BTreeSet<&str> = all
        .flat_map(|context| added(context, &DEFAULT_CAPABILITIES))
        .collect();
    Violation::new(
        "non-default capabilities",
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            these_containers(&bad),
            quoted(values)
        ),
    )
}

pub(super) fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let used: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| pod.spec.flag(field))
        .map(|field| format!("{field}=true"))
        .collect();
    match used.is_empty() {
        true => None,
        false => Violation::new("host namespaces", used.join(", ")),
    }
}

pub(super) fn host_path_volumes(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec.list("volumes").iter();
    let names: Vec<&str> = volumes
        .filter(|volume| volume.has("hostPath"))
        .map(|volume| volume.text("name"))
        .collect();
    if names.is_empty() {
        return None;
    }
    let word = plural("volume", "volumes", names.len());
    Violation::new("hostPath volumes", format!("{word} {}", quoted(names)))
}

pub(super) fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let mut ports = BTreeSet::new();
    let mut bad = Vec::new();
    for container in pod.containers() {
        let used = container.list("ports").iter();
        let used: Vec<String> = used
            .filter_map(|port| port.int("hostPort").filter(|number| *number != 0))
            .map(|number| number.to_string())
            .collect();
        if !used.is_empty() {
            bad.push(container.text("name"));
            ports.extend(used);
        }
    }
    if bad.is_empty() {
        return None;
    }
    let list: Vec<&str> = ports.iter().map(String::as_str).collect();
    Violation::new(
        "hostPort",
        format!(
            "{} {} {} {}",
            these_containers(&bad),
            plural("uses", "use", bad.len()),
            plural("hostPort", "hostPorts", ports.len()),
            list.join(", ")
        ),
    )
}

/// The hosts that a probe or a lifecycle handler names.
fn hosts(handler: &Value) -> impl Iterator<Item = &str> {
    let named = ["httpGet", "tcpSocket"].map(|kind| handler.at(kind).text("host"));
    named.into_iter().filter(|host| !host.is_empty())
}

pub(super) fn host_probes(pod: &Pod<'_>) -> Option<Violation> {
    let mut bad = BTreeSet::new();
    let mut forbidden = BTreeSet::new();
    for container in pod.containers() {
        let lifecycle = container.at("lifecycle");
        let handlers = [
            container.at("livenessProbe"),
            container.at("readinessProbe"),
            container.at("startupProbe"),
            lifecycle.at("postStart"),
            lifecycle.at("preStop"),
        ];
        for host in handlers.into_iter().flat_map(hosts) {
            bad.insert(container.text("name"));
            forbidden.insert(host);
        }
    }
    if bad.is_empty() {
        return None;
    }
    let bad: Vec<&str> = bad.into_iter().collect();
    let hosts = plural(
        "probe or lifecycle host",
        "probe or lifecycle hosts",
        forbidden.len(),
    );
    Violation::new(
        "probe or lifecycle host",
        format!(
            "{} {} {hosts} {}",
            these_containers(&bad),
            plural("uses", "use", bad.len()),
            quoted(forbidden)
        ),
    )
}

pub(super) fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.named(|context| context.flag("privileged"));
    match bad.is_empty() {
        true => None,
        false => Violation::new(
            "privileged",
            format!(
                "{} must not set securityContext.privileged=true",
                these_containers(&bad)
            ),
        ),
    }
}

/// Since 1.35 pods with users of their own may see all of `/proc`.
pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    match pod.has_own_users() {
        true => None,
        false => masked_proc(pod),
    }
}

pub(super) fn masked_proc(pod: &Pod<'_>) -> Option<Violation> {
    let unusual = |context: &Value| {
        let mount = context.at("procMount").as_str();
        mount.filter(|mount| *mount != "Default").map(str::to_owned)
    };
    let bad = pod.named(|context| unusual(context).is_some());
    if bad.is_empty() {
        return None;
    }
    let contexts = pod.containers().map(|c| c.at("securityContext"));
    let values: BTreeSet<String> = contexts.filter_map(unusual).collect();
    Violation::new(
        "procMount",
        format!(
            "{} must not set securityContext.procMount to {}",
            these_containers(&bad),
            quoted_set(&values)
        ),
    )
}

/// Sysctls that cannot hurt others, and the release that first allowed each.
const SAFE_SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn sysctls(pod: &Pod<'_>) -> Option<Violation> {
    let is_safe = |name: &str| {
        let mut known = SAFE_SYSCTLS.iter();
        known.any(|(safe, since)| *safe == name && *since <= pod.minor)
    };
    let sysctls = pod.context().list("sysctls").iter();
    let bad: Vec<&str> = sysctls
        .map(|sysctl| sysctl.text("name"))
        .filter(|name| !is_safe(name))
        .collect();
    match bad.is_empty() {
        true => None,
        false => Violation::new("forbidden sysctls", bad.join(", ")),
    }
}

pub(super) fn windows_host_process(pod: &Pod<'_>) -> Option<Violation> {
    let is_host = |context: &Value| context.at("windowsOptions").flag("hostProcess");
    let who = setters(is_host(pod.context()), &pod.named(is_host))?;
    Violation::new(
        "hostProcess",
        format!("{who} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}
