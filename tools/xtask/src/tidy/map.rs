//! The table of crates in ARCHITECTURE.md: who may use whom, and what is pure.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How far a crate keeps away from the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purity {
    /// Values and containers only.
    Core,
    /// Values and JSON: no I/O, no clock, no async, no logging.
    Json,
    /// It may touch the outside.
    None,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) purity: Purity,
    /// Names of packages.
    pub(super) may_use: BTreeSet<String>,
}

/// The rows by folder, such as `crates/base`.
#[derive(Debug)]
pub(super) struct Map(BTreeMap<String, Row>);

impl Map {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join("ARCHITECTURE.md");
        let text = std::fs::read_to_string(&path).context("ARCHITECTURE.md")?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut rows = BTreeMap::new();
        for line in text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", folder, _, purity, may_use, ""] = cells[..] else {
                continue;
            };
            let folder = folder.trim_matches('`');
            if !folder.starts_with("crates/") && !folder.starts_with("tools/") {
                continue;
            }
            let row = Row {
                purity: match purity {
                    "core" => Purity::Core,
                    "JSON" => Purity::Json,
                    "–" => Purity::None,
                    other => bail!("{folder}: {other:?} is no purity: write core, JSON or –"),
                },
                may_use: may_use
                    .split(", ")
                    .filter(|name| *name != "–")
                    .map(package)
                    .collect(),
            };
            rows.insert(folder.to_owned(), row);
        }
        if rows.is_empty() {
            bail!("ARCHITECTURE.md has no table of crates");
        }
        Ok(Self(rows))
    }

    /// The row of a package.
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.0
            .iter()
            .find(|(folder, _)| package_of(folder) == name)
            .map(|(_, row)| row)
    }

    /// The purity of a source file.
    pub(super) fn purity(&self, file: &str) -> Purity {
        let mut parts = file.splitn(4, '/');
        let (Some(top), Some(folder), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            return Purity::None;
        };
        let row = self.0.get(&format!("{top}/{folder}"));
        row.map_or(Purity::None, |row| row.purity)
    }

    /// Crates that the table does not name, and rows without a crate.
    pub(super) fn problems(&self, packages: &BTreeSet<&str>) -> Vec<String> {
        let rows: BTreeSet<String> = self.0.keys().map(|folder| package_of(folder)).collect();
        let missing = packages
            .iter()
            .filter(|name| !rows.contains(**name))
            .map(|name| format!("{name} is missing in the table of ARCHITECTURE.md"));
        let stale = rows
            .iter()
            .filter(|name| !packages.contains(name.as_str()))
            .map(|name| format!("ARCHITECTURE.md names {name}, which does not exist"));
        missing.chain(stale).collect()
    }
}

fn package_of(folder: &str) -> String {
    package(folder.rsplit('/').next().unwrap_or(folder))
}

fn package(name: &str) -> String {
    match name {
        "xtask" => name.to_owned(),
        name => format!("stowplan-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
| crate | what it is | pure | may use |
|---|---|---|---|
| `crates/base` | names | core | – |
| `crates/kinds` | kinds | JSON | base, schema |
| `tools/xtask` | chores | – | – |
";

    #[test]
    fn the_table_is_read() {
        let map = Map::parse(TABLE).unwrap();
        let kinds = map.row("stowplan-kinds").unwrap();
        assert_eq!(kinds.purity, Purity::Json);
        assert!(kinds.may_use.contains("stowplan-base"));
        assert!(map.row("xtask").unwrap().may_use.is_empty());
        assert_eq!(map.purity("crates/base/src/a/b.rs"), Purity::Core);
        assert_eq!(map.purity("crates/base/tests/a.rs"), Purity::None);
        assert_eq!(map.purity("crates/unknown/src/a.rs"), Purity::None);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_problems() {
        let map = Map::parse(TABLE).unwrap();
        let packages = BTreeSet::from(["stowplan-base", "stowplan-new", "xtask"]);
        let problems = map.problems(&packages);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn a_purity_that_nobody_knows_is_an_error() {
        assert!(Map::parse("| `crates/base` | names | a bit | – |").is_err());
        assert!(Map::parse("no table").is_err());
    }
}
