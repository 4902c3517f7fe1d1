use crate::stowplan;
use expect_test::expect_file;
use std::fmt::Write;

/// The fields of a report, in order.
const FIELDS: [&str; 14] = [
    "workload",
    "nodes",
    "pods",
    "decisions_per_s",
    "p50_us",
    "p99_us",
    "plain_decisions_per_s",
    "ratio",
    "allocs_per_decision",
    "peak_rss_mib",
    "churn_ops",
    "scheduled",
    "unschedulable",
    "preempted",
];

/// What does not depend on the machine: sizes and counts.
fn counts(reports: &str) -> String {
    let mut out = String::new();
    for line in reports.lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for field in [
            "decisions_per_s",
            "p50_us",
            "p99_us",
            "plain_decisions_per_s",
        ] {
            let figure = report[field].as_f64().expect("a figure");
            assert!(figure > 0.0, "{line}");
        }
        assert_eq!(report["unschedulable"], 0, "{line}");
        assert_eq!(report["scheduled"], report["pods"], "{line}");
        let count = |field: &str| report.get(field).map_or("-".to_owned(), |v| v.to_string());
        let _ = writeln!(
            out,
            "{} nodes={} pods={} churn_ops={} preempted={} background={}/{}",
            report["workload"].as_str().expect("a name"),
            count("nodes"),
            count("pods"),
            count("churn_ops"),
            count("preempted"),
            count("background_scheduled"),
            count("background_pods"),
        );
    }
    out
}

/// Every workload, from its first node to its last pod, at a small part of its size.
#[test]
fn every_workload_places_all_its_pods() {
    let upstream = "Unschedulable *Preferred* Scheduling* Preemption* Topology* Default* Mixed*";
    let run = stowplan(&format!(
        "bench --json --scale 0.02 {upstream} ManyTemplates OneOfAKind"
    ));
    assert_eq!(run.status, 0, "{}", run.all());
    let large = stowplan("bench --json --scale 0.0005 Scale/");
    assert_eq!(large.status, 0, "{}", large.all());
    let listed = stowplan("bench --list").stdout;
    let reports = run.stdout + &large.stdout;
    assert_eq!(reports.lines().count(), listed.lines().count() - 1);
    expect_file!["golden/bench.txt"].assert_eq(&counts(&reports));
}

#[test]
fn a_report_has_these_fields() {
    let fields = |args: &str| -> Vec<String> {
        let run = stowplan(&format!("bench --json --in-process --scale 0.01 {args}"));
        assert_eq!(run.status, 0, "{}", run.all());
        assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
        // Parsing would sort them.
        let objects = run.stdout.trim_end().trim_matches(['{', '}']);
        let keys = objects.split(',').filter_map(|pair| pair.split(':').next());
        keys.map(|key| key.trim_matches('"').to_owned()).collect()
    };
    assert_eq!(fields("SchedulingBasic/5000Nodes_10000Pods"), FIELDS);
    let background = [
        "background_pods",
        "background_decisions",
        "background_scheduled",
        "background_decisions_per_s",
    ];
    let all: Vec<_> = FIELDS.into_iter().chain(background).collect();
    assert_eq!(fields("PreemptionAsync"), all);
}

#[test]
fn one_seed_one_run() {
    let run = |args: &str| counts(&stowplan(&format!("bench --json --scale 0.01 {args}")).stdout);
    assert_eq!(run("PreemptionBasic"), run("PreemptionBasic --in-process"));
}

#[test]
fn unknown_names_are_an_error() {
    let run = stowplan("bench SchedulingBasic Nonsense");
    assert_eq!(run.status, 1);
    assert_eq!(
        run.stderr,
        "error: no workload is named \"Nonsense\": `stowplan bench --list` shows all\n"
    );
    assert_eq!(stowplan("bench --scale 0").status, 2);
    assert_eq!(stowplan("bench --scale 2").status, 2);
    assert_eq!(stowplan("bench --json --markdown").status, 2);
}

#[test]
fn for_people() {
    let args = "--scale 0.01 SchedulingBasic/5000Nodes_10000Pods";
    let table = stowplan(&format!("bench {args}"));
    assert_eq!(table.status, 0);
    assert!(table.stdout.starts_with("WORKLOAD "), "{}", table.stdout);
    assert!(
        table.stderr.contains("100 of 100 pods scheduled"),
        "{}",
        table.stderr
    );
    let page = stowplan(&format!("bench --markdown --date 2026-01-02 {args}")).stdout;
    assert!(
        page.contains("Measured on 2026-01-02 with stowplan"),
        "{page}"
    );
    let command = "stowplan bench --markdown --scale 0.01 SchedulingBasic/5000Nodes_10000Pods";
    assert!(page.contains(command), "{page}");
    assert!(
        page.contains("| SchedulingBasic/5000Nodes_10000Pods | 50 | 100 |"),
        "{page}"
    );
}

/// The server is started, loaded, listed, watched and stopped, at a small part of the size.
#[test]
fn every_figure_of_the_server_is_measured() {
    let run = stowplan("bench server --json --scale 0.002");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    let mut names = String::new();
    for line in run.stdout.lines() {
        let figure: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(figure["value"].as_f64().is_some_and(|v| v > 0.0), "{line}");
        let _ = writeln!(
            names,
            "{} ({})",
            figure["figure"].as_str().expect("a name"),
            figure["unit"].as_str().expect("a unit"),
        );
    }
    expect_file!["golden/bench_server.txt"].assert_eq(&names);
}
