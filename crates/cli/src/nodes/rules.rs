//! The file of rules: what pods do that do not say so themselves.

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use std::path::Path;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1::LabelSelector;
use stowplan_base::Quantity;
use stowplan_nodes::{Rule, Rules, Usage};

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(default)]
    selector: LabelSelector,
    namespace: Option<String>,
    start_after: Option<stowplan_config::Duration>,
    run_for: Option<stowplan_config::Duration>,
    exit_code: Option<i32>,
    usage: Option<WrittenUsage>,
}

/// How much pods use: amounts, or parts of what they request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenUsage {
    cpu: Option<String>,
    memory: Option<String>,
    fraction: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    period: Option<stowplan_config::Duration>,
}

/// Reads a file of rules.
pub(super) fn read(file: &Path) -> Result<Rules> {
    let text = std::fs::read_to_string(file);
    let text = text.with_context(|| format!("--rules: cannot read {}", file.display()))?;
    parse(&text).with_context(|| format!("--rules: {}", file.display()))
}

fn parse(text: &str) -> Result<Rules> {
    let document = serde_yaml_ng::Deserializer::from_str(text);
    let written: Vec<Written> = serde_path_to_error::deserialize(document)
        .map_err(|error| anyhow!("{}: {}", error.path(), error.inner()))?;
    let rules = written.into_iter().enumerate().map(|(at, written)| {
        let span = |given: Option<stowplan_config::Duration>| {
            given.map(|span| stowplan_base::Duration::from_nanos(span.as_nanos()))
        };
        let usage = written.usage.map(usage).transpose();
        Ok(Rule {
            selector: written.selector,
            namespace: written.namespace,
            start_after: span(written.start_after),
            run_for: span(written.run_for),
            exit_code: written.exit_code,
            usage: usage.with_context(|| format!("[{at}].usage"))?,
        })
    });
    Ok(Rules::new(rules.collect::<Result<_>>()?))
}

fn usage(written: WrittenUsage) -> Result<Usage> {
    let amount = |field: &str, given: &str| {
        let read: Result<Quantity, _> = given.parse();
        read.map_err(|_| anyhow!("{field}: {given:?} is not a quantity, expected for example 250m"))
    };
    match written {
        WrittenUsage {
            cpu: Some(cpu),
            memory: Some(memory),
            fraction: None,
            low: None,
            high: None,
            period: None,
        } => Ok(Usage::Constant {
            cpu_m: amount("cpu", &cpu)?.milli_value(),
            memory: amount("memory", &memory)?.value(),
        }),
        WrittenUsage {
            cpu: None,
            memory: None,
            fraction: Some(part),
            low: None,
            high: None,
            period: None,
        } => Ok(Usage::Fraction(part)),
        WrittenUsage {
            cpu: None,
            memory: None,
            fraction: None,
            low: Some(low),
            high: Some(high),
            period: Some(period),
        } => Ok(Usage::Sine {
            low,
            high,
            period: stowplan_base::Duration::from_nanos(period.as_nanos()),
        }),
        _ => bail!("expected cpu and memory, or fraction, or low, high and period"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_mistakes_are_named() {
        let text = "
- selector: {matchLabels: {app: batch}}
  runFor: 5m
  usage: {cpu: 250m, memory: 128Mi}
- usage: {low: 0.1, high: 0.9, period: 10m}
";
        assert!(parse(text).is_ok());
        for (wrong, said) in [
            ("- runfor: 5m", "runfor"),
            ("- runFor: soon", "runFor"),
            ("- usage: {cpu: 1}", "[0].usage"),
            ("- usage: {cpu: much, memory: 1Gi}", "[0].usage"),
            ("runFor: 5m", "sequence"),
        ] {
            let error = format!("{:#}", parse(wrong).expect_err(wrong));
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
