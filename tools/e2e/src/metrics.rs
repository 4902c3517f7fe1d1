//! The metrics of the scheduler beside those of kube-scheduler itself.

use crate::home::{Home, Kind};
use crate::world::wait;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use xtask::kubernetes::{self, Process, free_ports};

/// What a metric looks like.
#[derive(Clone, PartialEq, Debug, Default)]
struct Shape {
    kind: String,
    /// `STABLE`, `BETA` or `ALPHA`, as its help text begins.
    stability: String,
    labels: BTreeSet<String>,
    /// The labels of each series, of those metrics whose series are compared.
    series: BTreeSet<String>,
    /// The bounds of a histogram's buckets.
    bounds: BTreeSet<String>,
}

impl Shape {
    /// Whether the two are the same but for their series.
    fn is_like(&self, other: &Self) -> bool {
        (&self.kind, &self.stability) == (&other.kind, &other.stability)
            && (&self.labels, &self.bounds) == (&other.labels, &other.bounds)
    }
}

/// Metrics of which every series is compared: dashboards break them down.
const BROKEN_DOWN: [&str; 2] = [
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_goroutines",
];

/// Metrics that are promised to stay and that we have not, and why.
const ABSENT: [(&str, &str); 11] = [
    (
        "apiserver_validation_declarative_validation_mismatch_total",
        VALIDATION,
    ),
    (
        "apiserver_validation_declarative_validation_panic_total",
        VALIDATION,
    ),
    ("kubernetes_build_info", "it tells of a build of Kubernetes"),
    (
        "kubernetes_feature_enabled",
        "feature gates stand at their defaults",
    ),
    ("workqueue_adds_total", WORK_QUEUES),
    ("workqueue_depth", WORK_QUEUES),
    ("workqueue_longest_running_processor_seconds", WORK_QUEUES),
    ("workqueue_queue_duration_seconds", WORK_QUEUES),
    ("workqueue_retries_total", WORK_QUEUES),
    ("workqueue_unfinished_work_seconds", WORK_QUEUES),
    ("workqueue_work_duration_seconds", WORK_QUEUES),
];
const VALIDATION: &str = "objects are validated by the API server alone";
const WORK_QUEUES: &str = "there are none of client-go's work queues";

/// Some that everybody looks at: where these are not read, nothing was compared.
const WELL_KNOWN: [&str; 2] = [
    "scheduler_pending_pods",
    "scheduler_schedule_attempts_total",
];

/// Every metric of kube-scheduler that is promised to stay is there, with its type, labels and buckets.
pub(crate) async fn compared(home: &mut Home) -> Result<()> {
    let [port] = free_ports()?;
    let secure = format!("--secure-port={port}");
    let bind = "--bind-address=127.0.0.1";
    let ours = {
        let _scheduler = home.scheduler("metrics", &[&secure, bind])?;
        work(home, "ours").await?;
        scrape(home.kubeconfig(), port).await?
    };
    for name in WELL_KNOWN {
        ensure!(ours.contains_key(name), "there is no {name}");
    }
    if home.kind() != Kind::Real {
        return Ok(());
    }
    home.reset("metrics-theirs").await?;
    let [port] = free_ports()?;
    let program = kubernetes::build()?.join("kube-scheduler");
    let mut command = std::process::Command::new(program);
    for flag in [
        "kubeconfig",
        "authentication-kubeconfig",
        "authorization-kubeconfig",
    ] {
        command.arg(format!("--{flag}={}", home.kubeconfig().display()));
    }
    command.args([
        "--leader-elect=false",
        bind,
        &format!("--secure-port={port}"),
    ]);
    let _theirs = Process::start(&command, &home.folder().join("kube-scheduler.log"))?;
    work(home, "theirs").await?;
    let theirs = scrape(home.kubeconfig(), port).await?;
    for name in WELL_KNOWN {
        let shape = theirs.get(name);
        let is_stable = shape.is_some_and(|shape| shape.stability == "STABLE");
        ensure!(is_stable, "kube-scheduler tells {shape:?} of {name}");
    }
    let wrong = differences(&ours, &theirs);
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("metrics differ:\n{}", wrong.join("\n")),
    }
}

/// A pod that is bound and one that fits nowhere: what is counted only when it happens.
async fn work(home: &Home, node: &str) -> Result<()> {
    let world = &home.world;
    // One would not be scored.
    for node in [node, &format!("{node}-too")] {
        world.node(node, "2", json!({})).await?;
    }
    world.pod("small", "1", json!({})).await?;
    world.bound("small").await?;
    world.pod("large", "100", json!({})).await?;
    world.pending("large", "Unschedulable").await?;
    Ok(())
}

/// The shapes of a scheduler's metrics. The admin's token is shown; the certificate is the scheduler's own.
async fn scrape(kubeconfig: &Path, port: u16) -> Result<BTreeMap<String, Shape>> {
    let text = || async { text(kubeconfig, port).await.map(Some) };
    parse(&wait("the scheduler's metrics", text).await?)
}

/// What a scheduler says on `/metrics`.
pub(crate) async fn text(kubeconfig: &Path, port: u16) -> Result<String> {
    let file = kube::config::Kubeconfig::read_from(kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &Default::default()).await?;
    config.cluster_url = format!("https://127.0.0.1:{port}").parse()?;
    config.accept_invalid_certs = true;
    let client = kube::Client::try_from(config)?;
    let request = http::Request::get("/metrics").body(Vec::new())?;
    Ok(client.request_text(request).await?)
}

/// The shapes in a text of metrics.
fn parse(text: &str) -> Result<BTreeMap<String, Shape>> {
    let mut shapes: BTreeMap<String, Shape> = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').context("no help")?;
            let stability = help.strip_prefix('[').and_then(|help| help.split_once(']'));
            let shape = shapes.entry(name.to_owned()).or_default();
            stability
                .map_or("", |(word, _)| word)
                .clone_into(&mut shape.stability);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').context("no type")?;
            kind.clone_into(&mut shapes.entry(name.to_owned()).or_default().kind);
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|end| name.strip_suffix(end))
                .find(|family| shapes.contains_key(*family));
            if let Some(shape) = shapes.get_mut(family.unwrap_or(name)) {
                let is_broken_down = BROKEN_DOWN.contains(&family.unwrap_or(name));
                if is_broken_down && !name.ends_with("_bucket") {
                    let series = line
                        .split_once('{')
                        .and_then(|(_, rest)| rest.split_once('}'));
                    shape
                        .series
                        .extend(series.map(|(labels, _)| labels.to_owned()));
                }
                for (name, value) in labels(line) {
                    match name.as_str() {
                        "le" => shape.bounds.insert(value),
                        _ => shape.labels.insert(name),
                    };
                }
            }
        }
    }
    Ok(shapes)
}

/// The labels of a line, with their values as they are written.
fn labels(line: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = line.split_once('{') else {
        return Vec::new();
    };
    let mut labels = Vec::new();
    let (mut name, mut value) = (String::new(), String::new());
    let (mut quoted, mut escaped) = (false, false);
    for c in rest.chars() {
        match c {
            '"' if quoted && !escaped => {
                quoted = false;
                labels.push((std::mem::take(&mut name), std::mem::take(&mut value)));
            }
            c if quoted => {
                escaped = c == '\\' && !escaped;
                value.push(c);
            }
            '"' => quoted = true,
            '}' => break,
            '=' | ',' => {}
            c => name.push(c),
        }
    }
    labels
}

/// What kube-scheduler has and we have not, or have otherwise; what we have though it is said to be
/// absent. ALPHA metrics may be gone any day.
fn differences(ours: &BTreeMap<String, Shape>, theirs: &BTreeMap<String, Shape>) -> Vec<String> {
    let promised =
        |(_, shape): &(&String, &Shape)| ["STABLE", "BETA"].contains(&shape.stability.as_str());
    let absent = |name: &str| ABSENT.iter().find(|(absent, _)| *absent == name);
    let wrong = |(name, shape): (&String, &Shape)| match (ours.get(name), absent(name)) {
        (None, Some(_)) => None,
        (None, None) => Some(format!("{name}: missing")),
        (Some(_), Some((_, why))) => Some(format!("{name}: is there, though {why}")),
        (Some(mine), None) if !mine.is_like(shape) => {
            Some(format!("{name}: {mine:?}, kube-scheduler has {shape:?}"))
        }
        (Some(mine), None) => {
            let missing: Vec<_> = shape.series.difference(&mine.series).collect();
            (!missing.is_empty()).then(|| format!("{name}: there is no {missing:?}"))
        }
    };
    theirs.iter().filter(promised).filter_map(wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_around_quotes() {
        let line = r#"a_bucket{result="x,y=\"z}",le="0.1",profile="p"} 3"#;
        let names: Vec<_> = labels(line).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["result", "le", "profile"]);
        assert_eq!(labels(line)[0].1, r#"x,y=\"z}"#);
        assert_eq!(labels("a 3"), []);
    }

    #[test]
    fn a_missing_label_is_a_difference() {
        let parse = |text: &str| parse(text).unwrap();
        let head = "# HELP scheduler_x [BETA] Xs.\n# TYPE scheduler_x counter\n";
        let theirs = parse(&format!("{head}scheduler_x{{a=\"1\",b=\"2\"}} 1\n"));
        let ours = parse(&format!("{head}scheduler_x{{a=\"1\"}} 1\n"));
        assert_eq!(differences(&ours, &theirs).len(), 1);
        assert_eq!(differences(&theirs, &theirs).len(), 0);
        assert_eq!(differences(&parse(""), &theirs).len(), 1);
    }

    #[test]
    fn a_missing_series_of_what_is_broken_down_is_a_difference() {
        let name = BROKEN_DOWN[0];
        let text = |points: &[&str]| {
            let head = format!("# HELP {name} [STABLE] Xs.\n# TYPE {name} histogram\n");
            let lines = points
                .iter()
                .map(|point| format!("{name}_count{{extension_point=\"{point}\"}} 1\n"));
            head + &lines.collect::<String>()
        };
        let one = parse(&text(&["Filter"])).unwrap();
        let two = parse(&text(&["Filter", "Score"])).unwrap();
        assert_eq!(differences(&one, &two).len(), 1);
        assert_eq!(differences(&two, &one).len(), 0);
    }

    #[test]
    fn another_bucket_is_a_difference_and_so_is_a_metric_of_the_libraries() {
        let parse = |text: &str| parse(text).unwrap();
        let head = "# HELP x [STABLE] Xs.\n# TYPE x histogram\n";
        let theirs = parse(&format!(
            "{head}x_bucket{{le=\"0.1\"}} 1\nx_bucket{{le=\"+Inf\"}} 1\n"
        ));
        let ours = parse(&format!(
            "{head}x_bucket{{le=\"0.2\"}} 1\nx_bucket{{le=\"+Inf\"}} 1\n"
        ));
        assert_eq!(theirs["x"].bounds.len(), 2);
        assert_eq!(differences(&ours, &theirs).len(), 1);
        let library =
            "# HELP hidden_metrics_total [BETA] Xs.\n# TYPE hidden_metrics_total counter\n";
        assert_eq!(differences(&parse(""), &parse(library)).len(), 1);
        let gates = "# HELP kubernetes_feature_enabled [BETA] Xs.\n";
        assert_eq!(differences(&parse(""), &parse(gates)).len(), 0);
    }
}
