//! Checks on `cargo metadata`.

use super::map::{Map, Purity};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What crates of the purity `core` may use from outside: containers.
const CONTAINERS: &[&str] = &["hashbrown", "smallvec"];

/// What crates of the purity `JSON` must not use: runtimes, HTTP, clients, logs.
const RUNTIMES: &[&str] = &[
    "axum",
    "futures",
    "http",
    "hyper",
    "hyper-util",
    "kube",
    "redb",
    "rustls",
    "socket2",
    "tokio",
    "tokio-rustls",
    "tower",
    "tracing",
];

/// Licences that go with ours.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that may occur in several versions, and why.
const DUPLICATES: &[(&str, &str)] = &[
    (
        "base64",
        "0.22 comes with k8s-openapi; rcgen and we are one version ahead",
    ),
    (
        "bit-vec",
        "0.10 comes with the crate cel, which is in tests only",
    ),
    (
        "bitflags",
        "1.x comes with defmt, an optional feature of jiff that is never built",
    ),
    (
        "getrandom",
        "0.2 comes with ring, 0.4 with proptest, which is in tests only",
    ),
    ("hashbrown", "0.16 comes with kube's runtime"),
    (
        "syn",
        "2.x comes with derive macros of x509-parser and tracing, which run in the compiler only",
    ),
];

/// The parts of `cargo metadata` that are looked at.
pub(super) struct Metadata {
    packages: Vec<Package>,
}

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    ours: bool,
    /// Names of normal (not dev, not build) dependencies.
    dependencies: BTreeSet<String>,
}

impl Metadata {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args([
                "metadata",
                "--format-version=1",
                "--locked",
                "--filter-platform=x86_64-unknown-linux-gnu",
            ])
            .current_dir(root)
            .output()
            .context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!(
                "cargo metadata: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let json: Value = serde_json::from_slice(&output.stdout)?;
        let built = built(&json);
        let packages = json["packages"].as_array().context("packages")?;
        let packages = packages
            .iter()
            .filter(|p| p["id"].as_str().is_some_and(|id| built.contains(id)));
        Ok(Self {
            packages: packages.map(Package::read).collect(),
        })
    }

    pub(super) fn boundary_problems(&self, map: &Map) -> Vec<String> {
        let ours: BTreeSet<&str> = self
            .packages
            .iter()
            .filter(|package| package.ours)
            .map(|package| package.name.as_str())
            .collect();
        let mut problems = map.problems(&ours);
        for package in self.packages.iter().filter(|p| p.ours) {
            let Some(row) = map.row(&package.name) else {
                continue;
            };
            for dependency in &package.dependencies {
                let name = &package.name;
                if ours.contains(dependency.as_str()) {
                    if !row.may_use.contains(dependency) {
                        problems.push(format!(
                            "{name} must not use {dependency} (see ARCHITECTURE.md)"
                        ));
                    }
                } else if !may_come_from_outside(row.purity, dependency) {
                    problems.push(format!("{name} is pure and must not use {dependency}"));
                }
            }
        }
        problems
    }

    pub(super) fn licence_problems(&self) -> Vec<String> {
        let bad = |package: &&Package| !package.licence.as_deref().is_some_and(acceptable);
        self.packages
            .iter()
            .filter(bad)
            .map(|p| {
                let licence = p.licence.as_deref().unwrap_or("none");
                format!(
                    "{} {}: licence {licence:?} is not on the list",
                    p.name, p.version
                )
            })
            .collect()
    }

    pub(super) fn duplicate_problems(&self) -> Vec<String> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in &self.packages {
            versions
                .entry(&package.name)
                .or_default()
                .insert(&package.version);
        }
        let known = |name: &str| DUPLICATES.iter().any(|(known, _)| *known == name);
        versions
            .iter()
            .filter(|(name, versions)| versions.len() > 1 && !known(name))
            .map(|(name, versions)| format!("{name} is built in several versions: {versions:?}"))
            .collect()
    }
}

fn may_come_from_outside(purity: Purity, dependency: &str) -> bool {
    match purity {
        Purity::Core => CONTAINERS.contains(&dependency),
        Purity::Json => !RUNTIMES.contains(&dependency),
        Purity::None => true,
    }
}

/// The ids of all packages that a workspace member leads to. The lock file knows more: what
/// optional features that nobody turns on would pull in.
fn built(metadata: &Value) -> BTreeSet<&str> {
    fn strings(list: &Value) -> impl Iterator<Item = &str> {
        list.as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten();
    let edges: BTreeMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, &node["dependencies"])))
        .collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = strings(&metadata["workspace_members"]).collect();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(edges.get(id).into_iter().flat_map(|list| strings(list)));
        }
    }
    reached
}

impl Package {
    fn read(json: &Value) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            version: text("version"),
            licence: json["license"].as_str().map(str::to_owned),
            ours: json["source"].is_null(),
            dependencies: json["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
                .collect(),
        }
    }
}

/// Whether an SPDX expression can be satisfied from the list. Understands `OR`, `AND`, `/` and
/// parentheses around alternatives.
fn acceptable(expression: &str) -> bool {
    let listed = |licence: &str| LICENCES.contains(&licence.trim().trim_matches(['(', ')']));
    expression
        .split(" AND ")
        .all(|part| part.replace('/', " OR ").split(" OR ").any(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spdx_expressions() {
        assert!(acceptable("MIT OR Apache-2.0"));
        assert!(acceptable("MIT/Apache-2.0"));
        assert!(acceptable("GPL-3.0 OR MIT"));
        assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!acceptable("GPL-3.0"));
        assert!(!acceptable("MIT AND GPL-3.0"));
    }
}
