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
}

/// Metrics of which every series is compared: dashboards break them down.
const BROKEN_DOWN: [&str; 2] = [
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_goroutines",
];

/// Some that everybody looks at: where these are not read, nothing was compared.
const WELL_KNOWN: [&str; 2] = [
    "scheduler_pending_pods",
    "scheduler_schedule_attempts_total",
];

/// Every metric of kube-scheduler that is promised to stay is there, with its type and labels.
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
    if home.kind() == Kind::Embedded {
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

/// Asks for `/metrics` with the admin's token; the certificate is the scheduler's own.
async fn scrape(kubeconfig: &Path, port: u16) -> Result<BTreeMap<String, Shape>> {
    let file = kube::config::Kubeconfig::read_from(kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &Default::default()).await?;
    config.cluster_url = format!("https://127.0.0.1:{port}").parse()?;
    config.accept_invalid_certs = true;
    let client = kube::Client::try_from(config)?;
    let text = || async {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        Ok(Some(client.request_text(request).await?))
    };
    let text = wait("the scheduler's metrics", text).await?;
    parse(&text)
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
                shape.labels.extend(label_names(line));
                let is_broken_down = BROKEN_DOWN.contains(&family.unwrap_or(name));
                if is_broken_down && !name.ends_with("_bucket") {
                    let series = line
                        .split_once('{')
                        .and_then(|(_, rest)| rest.split_once('}'));
                    shape
                        .series
                        .extend(series.map(|(labels, _)| labels.to_owned()));
                }
            }
        }
    }
    Ok(shapes)
}

fn label_names(line: &str) -> Vec<String> {
    let Some((_, rest)) = line.split_once('{') else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let (mut name, mut quoted, mut escaped) = (String::new(), false, false);
    for c in rest.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '}' => break,
            '=' => names.push(std::mem::take(&mut name)),
            ',' => name.clear(),
            c => name.push(c),
        }
    }
    names.retain(|name| name != "le");
    names
}

/// What kube-scheduler has and we have not, or have otherwise. What Go's runtime, its client and
/// its server say of themselves is not the scheduler's; ALPHA metrics may be gone any day.
fn differences(ours: &BTreeMap<String, Shape>, theirs: &BTreeMap<String, Shape>) -> Vec<String> {
    let promised = |(name, shape): &(&String, &Shape)| {
        name.starts_with("scheduler_") && ["STABLE", "BETA"].contains(&shape.stability.as_str())
    };
    let wrong = |(name, shape): (&String, &Shape)| match ours.get(name) {
        None => Some(format!("{name}: missing")),
        Some(mine)
            if (&mine.kind, &mine.stability, &mine.labels)
                != (&shape.kind, &shape.stability, &shape.labels) =>
        {
            Some(format!("{name}: {mine:?}, kube-scheduler has {shape:?}"))
        }
        Some(mine) => {
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
        assert_eq!(label_names(line), ["result", "profile"]);
        assert_eq!(label_names("a 3"), [""; 0]);
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
}
