//! Which checks make up a level, release by release.

use super::policy::{Level, LevelVersion, Version};
use super::{baseline, profiles, restricted};
use crate::pods::containers;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use stowplan_apimachinery::View;

/// Something that a pod may not have.
#[derive(Debug)]
pub(super) struct Violation {
    /// In a few words.
    pub(super) reason: String,
    /// Who does it, with which values.
    pub(super) detail: String,
}

impl Violation {
    pub(super) fn new(reason: impl Into<String>, detail: impl Into<String>) -> Option<Self> {
        Some(Self {
            reason: reason.into(),
            detail: detail.into(),
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.is_empty() {
            true => f.write_str(&self.reason),
            false => write!(f, "{} ({})", self.reason, self.detail),
        }
    }
}

/// What a check looks at: metadata and spec of a pod or a template, and the release.
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
    /// The minor version of the policy.
    pub(super) minor: u32,
}

impl<'a> Pod<'a> {
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> {
        containers(self.spec)
    }

    /// `spec.securityContext`.
    pub(super) fn context(&self) -> &'a Value {
        self.spec.at("securityContext")
    }

    /// From 1.25 on nothing is asked of Windows pods that cannot be set there.
    pub(super) fn is_exempt_windows(&self) -> bool {
        self.minor >= 25 && self.spec.at("os").text("name") == "windows"
    }

    /// From 1.35 on root in a user namespace of its own counts as nobody.
    pub(super) fn has_own_users(&self) -> bool {
        self.minor >= 35 && self.spec.at("hostUsers").as_bool() == Some(false)
    }

    /// The names of the containers whose security context is so.
    pub(super) fn named(&self, is_so: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        let so = self.containers().filter(|c| is_so(c.at("securityContext")));
        so.map(|c| c.text("name")).collect()
    }
}

type Check = fn(&Pod<'_>) -> Option<Violation>;

/// One check: since when, and in its place at the restricted level since when, if ever.
struct Row {
    check: Check,
    since: u32,
    replaced_since: Option<u32>,
}

const fn row(check: Check, since: u32, replaced_since: Option<u32>) -> Row {
    Row {
        check,
        since,
        replaced_since,
    }
}

/// In the order of upstream's check ids, which is the order of the messages.
const BASELINE: [Row; 11] = [
    row(profiles::app_armor, 0, None),
    row(baseline::capabilities, 0, Some(22)),
    row(baseline::host_namespaces, 0, None),
    row(baseline::host_path_volumes, 0, Some(0)),
    row(baseline::host_ports, 0, None),
    row(baseline::host_probes, 34, None),
    row(baseline::privileged, 0, None),
    row(baseline::proc_mount, 0, Some(35)),
    row(profiles::se_linux, 0, None),
    row(profiles::seccomp_baseline, 0, Some(19)),
    row(baseline::sysctls, 0, None),
];

const WINDOWS_HOST_PROCESS: Row = row(baseline::windows_host_process, 0, None);

const RESTRICTED: [Row; 7] = [
    row(restricted::privilege_escalation, 8, None),
    row(restricted::capabilities, 22, None),
    row(restricted::proc_mount, 35, None),
    row(restricted::volumes, 0, None),
    row(restricted::run_as_non_root, 0, None),
    row(restricted::run_as_user, 23, None),
    row(profiles::seccomp_restricted, 19, None),
];

/// The last release that changed a check; later ones are the same.
const NEWEST: u32 = 35;

/// What a pod does that a policy does not allow.
pub(super) fn evaluate(policy: LevelVersion, metadata: &Value, spec: &Value) -> Vec<Violation> {
    let minor = match policy.version {
        Version::Minor(minor) => minor.min(NEWEST),
        Version::Latest => NEWEST,
    };
    let pod = Pod {
        metadata,
        spec,
        minor,
    };
    let strict = policy.level == Level::Restricted;
    let replaced = |row: &Row| strict && row.replaced_since.is_some_and(|since| since <= minor);
    let common = BASELINE.iter().chain([&WINDOWS_HOST_PROCESS]);
    let rows = common
        .filter(|row| policy.level != Level::Privileged && !replaced(row))
        .chain(RESTRICTED.iter().filter(|_| strict));
    rows.filter(|row| row.since <= minor)
        .filter_map(|row| (row.check)(&pod))
        .collect()
}

/// `"a", "b"`
pub(super) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<&str> = items.into_iter().collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("\"{}\"", items.join("\", \"")),
    }
}

/// `quoted` for a set.
pub(super) fn quoted_set(items: &BTreeSet<String>) -> String {
    quoted(items.iter().map(String::as_str))
}

/// One word for one thing, another for several.
pub(super) fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// `containers "a", "b"`
pub(super) fn these_containers(names: &[&str]) -> String {
    let word = plural("container", "containers", names.len());
    format!("{word} {}", quoted(names.iter().copied()))
}

/// `pod and container "a"`: those who set something that they may not.
pub(super) fn setters(pod: bool, names: &[&str]) -> Option<String> {
    match (pod, names.is_empty()) {
        (false, true) => None,
        (true, true) => Some("pod".to_owned()),
        (false, false) => Some(these_containers(names)),
        (true, false) => Some(format!("pod and {}", these_containers(names))),
    }
}
