//! What became of the specs, as Ginkgo reports it.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How much of what a spec said is shown; all of it is in the log.
const LINES: usize = 40;

/// A spec that ran, or said itself why not.
pub(super) struct Outcome {
    /// Without `[sig-…]`.
    pub(super) name: String,
    /// `passed`, `failed`, `skipped`, `timedout`, …
    pub(super) state: String,
    took: Duration,
    why: String,
    /// What it said, if it failed.
    log: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, state, .. } = self;
        write!(f, "{state} {name} ({:.1} s)", self.took.as_secs_f64())?;
        if !self.why.is_empty() {
            write!(f, ": {}", self.why)?;
        }
        let lines: Vec<_> = self.log.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Suite {
    suite_succeeded: bool,
    spec_reports: Vec<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    #[serde(default)]
    leaf_node_text: String,
    leaf_node_type: String,
    state: String,
    /// In nanoseconds.
    run_time: u64,
    #[serde(default)]
    failure: Failure,
    #[serde(default)]
    captured_ginkgo_writer_output: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(default)]
    message: String,
}

/// Runs the specs' program and tells what became of each spec; log and report are in the folder.
pub(super) fn of(mut ginkgo: Command, suite: &[OsString], folder: &Path) -> Result<Vec<Outcome>> {
    let log = folder.join("specs.log");
    let report = folder.join("report.json");
    let file = std::fs::File::create(&log)?;
    eprintln!("the specs run for some minutes: {}", log.display());
    let status = ginkgo
        .arg("--output-dir")
        .arg(folder)
        .arg("--json-report=report.json")
        .args(suite)
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .context("cannot run the specs")?;
    let said = std::fs::read_to_string(&log)?;
    let text = std::fs::read(&report)
        .with_context(|| format!("the specs ended without a report ({status}):\n{said}"))?;
    read(&text)
}

fn read(report: &[u8]) -> Result<Vec<Outcome>> {
    let suites: Vec<Suite> = serde_json::from_slice(report).context("not a report")?;
    let mut outcomes = Vec::new();
    for suite in suites {
        let mut explained = suite.suite_succeeded;
        for report in suite.spec_reports {
            let why = report.failure.message;
            let passed = report.state == "passed";
            if report.leaf_node_type != "It" {
                if !passed {
                    bail!("{} {}: {why}", report.leaf_node_type, report.state);
                }
                continue;
            }
            // Ginkgo lists what the command line leaves out, too.
            if report.state == "skipped" && why.is_empty() {
                continue;
            }
            let log = match passed || report.state == "skipped" {
                true => String::new(),
                false => report.captured_ginkgo_writer_output,
            };
            explained |= !passed && report.state != "skipped";
            let mut words = report.container_hierarchy_texts.unwrap_or_default();
            words.push(report.leaf_node_text);
            let name = words.join(" ");
            outcomes.push(Outcome {
                name: without_sig(&name).to_owned(),
                state: report.state,
                took: Duration::from_nanos(report.run_time),
                why,
                log,
            });
        }
        if !explained {
            bail!("the suite failed, and no spec did");
        }
    }
    Ok(outcomes)
}

fn without_sig(name: &str) -> &str {
    let rest = name.strip_prefix("[sig-");
    rest.and_then(|rest| rest.split_once("] "))
        .map_or(name, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec(name: &str, state: &str, why: &str) -> Value {
        json!({
            "ContainerHierarchyTexts": ["[sig-scheduling] Scheduler [Serial]"],
            "LeafNodeText": name,
            "LeafNodeType": "It",
            "State": state,
            "RunTime": 1_500_000_000,
            "Failure": {"Message": why},
        })
    }

    fn outcomes(succeeded: bool, specs: &[Value]) -> Result<Vec<Outcome>> {
        let suite = json!({"SuiteSucceeded": succeeded, "SpecReports": specs});
        read(&serde_json::to_vec(&json!([suite])).unwrap())
    }

    #[test]
    fn specs_that_were_left_out_have_no_outcome() {
        let specs = [
            spec("one", "passed", ""),
            spec("two", "skipped", ""),
            spec("three", "skipped", "only one node"),
        ];
        let found = outcomes(true, &specs).unwrap();
        let names: Vec<_> = found.iter().map(|found| &*found.name).collect();
        assert_eq!(
            names,
            ["Scheduler [Serial] one", "Scheduler [Serial] three"]
        );
        let line = found[0].to_string();
        assert_eq!(line, "passed Scheduler [Serial] one (1.5 s)");
    }

    #[test]
    fn a_suite_that_did_not_start_is_no_success() {
        let setup = json!({
            "LeafNodeType": "SynchronizedBeforeSuite",
            "State": "failed",
            "RunTime": 1,
            "Failure": {"Message": "no nodes"},
        });
        let error = outcomes(false, &[setup]).err().unwrap();
        assert!(error.to_string().contains("no nodes"));
        outcomes(false, &[spec("one", "passed", "")]).err().unwrap();
        let failed = outcomes(false, &[spec("one", "failed", "no")]).unwrap();
        assert_eq!(failed[0].state, "failed");
    }
}
