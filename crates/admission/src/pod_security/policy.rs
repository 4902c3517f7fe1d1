//! The policy that a namespace's labels ask for.

use serde_json::Value;
use std::fmt;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};

/// How strict, from nothing at all upwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// Which release's idea of the level: a minor version of Kubernetes 1, or the newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Version {
    Minor(u32),
    Latest,
}

/// A level as a release understood it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

/// What is refused and what is warned of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) warn: LevelVersion,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })?;
        match self.version {
            Version::Latest => f.write_str(":latest"),
            Version::Minor(minor) => write!(f, ":v1.{minor}"),
        }
    }
}

fn parse_level(text: &str) -> Option<Level> {
    match text {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

fn parse_version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(Version::Latest);
    }
    let minor = text.strip_prefix("v1.")?;
    let digits = minor.bytes().all(|b| b.is_ascii_digit());
    let padded = minor.len() > 1 && minor.starts_with('0');
    match digits && !padded {
        // Go's int is wide; no release comes near.
        true => minor
            .parse::<u64>()
            .ok()
            .map(|minor| Version::Minor(u32::try_from(minor).unwrap_or(u32::MAX))),
        false => None,
    }
}

const ENFORCE: [&str; 2] = [
    "pod-security.kubernetes.io/enforce",
    "pod-security.kubernetes.io/enforce-version",
];
const AUDIT: [&str; 2] = [
    "pod-security.kubernetes.io/audit",
    "pod-security.kubernetes.io/audit-version",
];
const WARN: [&str; 2] = [
    "pod-security.kubernetes.io/warn",
    "pod-security.kubernetes.io/warn-version",
];

/// One mode's two labels: the level and version to use, and what is wrong with them.
struct Mode {
    level: Option<Result<Level, ()>>,
    version: Option<Version>,
}

impl Mode {
    /// By the labels of these names: that of the level, and that of its version.
    fn of(labels: &Value, [key, version]: [&str; 2], faults: &mut ErrorList) -> Self {
        let mut fault = |key: &str, value: &str, detail: &str| {
            let metadata = Path::new("metadata");
            let labels = metadata.child("labels");
            faults.push(Error::invalid(&labels.key(key), value, detail));
        };
        let level = labels.at(key).as_str().map(|text| {
            parse_level(text).ok_or_else(|| {
                fault(key, text, "must be one of privileged, baseline, restricted");
            })
        });
        let version = labels.at(version).as_str().map(|text| {
            parse_version(text).unwrap_or_else(|| {
                fault(version, text, "must be \"latest\" or \"v1.x\"");
                Version::Latest
            })
        });
        Self { level, version }
    }

    fn version(&self) -> Version {
        self.version.unwrap_or(Version::Latest)
    }
}

impl Policy {
    /// The policy in a namespace's labels, and what is wrong with these. A bad level enforces the
    /// strictest and warns of nothing.
    pub(super) fn of(labels: &Value) -> (Self, ErrorList) {
        let mut faults = ErrorList::new();
        let enforce = Mode::of(labels, ENFORCE, &mut faults);
        // What is audited has no effect here, but its labels have to be right.
        Mode::of(labels, AUDIT, &mut faults);
        let warn = Mode::of(labels, WARN, &mut faults);
        let enforced = LevelVersion {
            level: match enforce.level {
                None => Level::Privileged,
                Some(level) => level.unwrap_or(Level::Restricted),
            },
            version: enforce.version(),
        };
        let mut warned = LevelVersion {
            level: match warn.level {
                None => Level::Privileged,
                Some(level) => level.unwrap_or(Level::Privileged),
            },
            version: warn.version(),
        };
        // Who enforces is also warned, so that workloads tell of it.
        if let (None, Some(Ok(level))) = (warn.level, enforce.level)
            && level > warned.level
        {
            warned.level = level;
            if warn.version.is_none() {
                warned.version = enforced.version;
            }
        }
        let policy = Self {
            enforce: enforced,
            warn: warned,
        };
        (policy, faults)
    }
}
