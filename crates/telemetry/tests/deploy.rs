//! The rules, the board and the chart in `deploy/`.

use serde_yaml_ng::{Deserializer, Value};
use std::collections::BTreeSet;
use std::path::PathBuf;
use stowplan_telemetry::{SchedulerMetrics, own_metric_names};

fn read(path: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("../../deploy").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(text: &str) -> Vec<Value> {
    use serde::Deserialize;
    let documents = Deserializer::from_str(text).map(|d| Value::deserialize(d).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// The metrics that an expression names, with the labels that it asks them for.
fn selectors(expr: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    for (at, _) in expr.match_indices('{') {
        let before = &expr[..at];
        let name = &before[before.trim_end_matches(is_name).len()..];
        let inside = expr[at + 1..].split('}').next().unwrap();
        let labels = inside.split(',').map(|matcher| {
            let matcher = matcher.trim();
            &matcher[..matcher.find(|c| !is_name(c)).unwrap_or(matcher.len())]
        });
        found.push((name, labels.filter(|label| !label.is_empty()).collect()));
    }
    found
}

/// What is wrong with an expression.
fn problems(expr: &str) -> Vec<String> {
    let descs = SchedulerMetrics::default().descs();
    let names: BTreeSet<&str> = own_metric_names().into_iter().collect();
    let mut problems = Vec::new();
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        if expr.matches(open).count() != expr.matches(close).count() {
            problems.push(format!("{open} and {close} do not match"));
        }
    }
    let selectors = selectors(expr);
    if selectors.is_empty() {
        problems.push("names no metric".to_owned());
    }
    for (name, labels) in selectors {
        let series = ["_bucket", "_sum", "_count"].iter();
        let base = series
            .filter_map(|s| name.strip_suffix(s))
            .find(|n| names.contains(n));
        let known = base.unwrap_or(name);
        if name != "up" && !names.contains(known) {
            problems.push(format!("there is no metric {name}"));
        }
        let Some(desc) = descs.iter().find(|desc| desc.name == known) else {
            continue;
        };
        if desc.kind.as_str() == "histogram" && base.is_none() {
            problems.push(format!("{name} is a histogram"));
        }
        for label in labels {
            let is_given = ["job", "instance", "le"].contains(&label);
            if !is_given && !desc.labels.contains(&label) {
                problems.push(format!("{name} has no label {label}"));
            }
        }
    }
    problems
}

#[test]
fn mistakes_in_expressions_are_found() {
    let check = |expr: &str, expected: &[&str]| assert_eq!(problems(expr), expected, "{expr}");
    check(
        "rate(scheduler_schedule_attempts_total{result=\"error\"}[5m])",
        &[],
    );
    check(
        "scheduler_nonsense{} > 1",
        &["there is no metric scheduler_nonsense"],
    );
    check(
        "sum(scheduler_pending_pods{plugin=\"x\"}",
        &[
            "( and ) do not match",
            "scheduler_pending_pods has no label plugin",
        ],
    );
    check(
        "scheduler_pod_scheduling_attempts{}",
        &["scheduler_pod_scheduling_attempts is a histogram"],
    );
    check("vector(1)", &["names no metric"]);
}

#[test]
fn alerts_are_complete_and_ask_for_metrics_that_exist() {
    let rules = documents(&read("alerts.yaml")).remove(0);
    let mut names = BTreeSet::new();
    for group in rules["groups"].as_sequence().unwrap() {
        assert!(group["name"].is_string());
        for rule in group["rules"].as_sequence().unwrap() {
            let name = rule["alert"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            let none: Vec<String> = Vec::new();
            assert_eq!(problems(rule["expr"].as_str().unwrap()), none, "{name}");
            let span = rule["for"].as_str().unwrap();
            let (number, unit) = span.split_at(span.len() - 1);
            assert!(
                number.parse::<u32>().is_ok() && "smh".contains(unit),
                "{name}: {span}"
            );
            let severity = rule["labels"]["severity"].as_str().unwrap();
            assert!(
                ["critical", "warning", "info"].contains(&severity),
                "{name}"
            );
            for text in ["summary", "description"] {
                let text = rule["annotations"][text].as_str().unwrap();
                assert!(text.ends_with('.'), "{name}: {text}");
                assert_eq!(
                    text.matches("{{").count(),
                    text.matches("}}").count(),
                    "{name}"
                );
            }
        }
    }
    for needed in [
        "SchedulerDown",
        "PodPendingTooLong",
        "SchedulingBacklog",
        "PreemptionStorm",
        "SchedulingSlow",
        "SchedulingErrors",
    ] {
        assert!(names.contains(needed), "{needed}");
    }
}

#[test]
fn the_board_asks_for_metrics_that_exist() {
    let board: serde_json::Value = serde_json::from_str(&read("grafana/scheduler.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let none: Vec<String> = Vec::new();
            assert_eq!(
                problems(target["expr"].as_str().unwrap()),
                none,
                "{}",
                panel["title"]
            );
        }
    }
}

/// A value of `values.yaml`, by its path.
fn value<'a>(values: &'a Value, path: &str) -> &'a Value {
    let path = path.strip_prefix(".Values.").unwrap();
    let found = path.split('.').fold(values, |value, key| &value[key]);
    assert!(!found.is_null(), "values.yaml has no {path}");
    found
}

/// Renders the few things that the chart asks of Helm.
fn render(template: &str, values: &Value) -> String {
    let mut out = String::new();
    let mut is_skipping = false;
    for line in template.lines() {
        match line.trim() {
            line if line.starts_with("{{- range ") => is_skipping = true,
            "{{- end }}" => is_skipping = false,
            _ if is_skipping => {}
            _ => out.push_str(&render_line(line, values)),
        }
    }
    out
}

fn render_line(line: &str, values: &Value) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        let (action, after) = after.split_once("}}").unwrap();
        let mut steps = action.trim_start_matches('-').split('|').map(str::trim);
        let path = steps.next().unwrap();
        let indent = steps.find_map(|step| step.strip_prefix("nindent "));
        match (path, indent) {
            (".Release.Namespace", _) => out.push_str(&format!("{before}kube-system")),
            (path, None) => {
                let value = serde_yaml_ng::to_string(value(values, path)).unwrap();
                out.push_str(&format!("{before}{}", value.trim()));
            }
            (path, Some(indent)) => {
                // JSON is YAML, and its own indentation.
                let json = serde_json::to_string(value(values, path)).unwrap();
                let indent = " ".repeat(indent.parse().unwrap());
                out.push_str(&format!("{indent}{json}"));
            }
        }
        rest = after;
    }
    out + rest + "\n"
}

/// Configuration within configuration, so that its form does not matter.
fn opened(mut document: Value) -> Value {
    if let Some(text) = document["data"]["config.yaml"].as_str().map(str::to_owned) {
        document["data"]["config.yaml"] = documents(&text).remove(0);
    }
    document
}

#[test]
fn the_chart_as_it_is_gives_the_plain_manifests() {
    let values = documents(&read("chart/values.yaml")).remove(0);
    for file in ["config.yaml", "deployment.yaml", "rbac.yaml"] {
        let rendered = render(&read(&format!("chart/templates/{file}")), &values);
        let chart: Vec<_> = documents(&rendered).into_iter().map(opened).collect();
        let plain = read(&format!("manifests/{file}"));
        let plain: Vec<_> = documents(&plain).into_iter().map(opened).collect();
        assert_eq!(chart, plain, "{file}");
    }
}
