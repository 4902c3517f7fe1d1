//! Reports for people: a table on a terminal, a page of Markdown.

use crate::output::{Align, BAD, Cell, FAINT, GOOD, Table, styled};
use std::fmt::Write;
use stowplan_bench::{Machine, Report};

/// A column of the table.
struct Column {
    title: &'static str,
    /// Whether it is shown on narrow terminals too.
    essential: bool,
    text: fn(&Report) -> String,
}

const COLUMNS: &[Column] = &[
    Column {
        title: "nodes",
        essential: false,
        text: |r| thousands(r.nodes as f64),
    },
    Column {
        title: "pods",
        essential: false,
        text: |r| thousands(r.pods as f64),
    },
    Column {
        title: "decisions/s",
        essential: true,
        text: |r| amount(r.decisions_per_s),
    },
    Column {
        title: "p50 µs",
        essential: true,
        text: |r| amount(r.p50_us),
    },
    Column {
        title: "p99 µs",
        essential: true,
        text: |r| amount(r.p99_us),
    },
    Column {
        title: "plain/s",
        essential: false,
        text: |r| amount(r.plain_decisions_per_s),
    },
    Column {
        title: "ratio",
        essential: false,
        text: |r| amount(r.ratio),
    },
    Column {
        title: "allocs",
        essential: false,
        text: |r| amount(r.allocs_per_decision),
    },
    Column {
        title: "rss MiB",
        essential: false,
        text: |r| r.peak_rss_mib.map_or("-".to_owned(), thousands),
    },
    Column {
        title: "churn",
        essential: false,
        text: |r| count(r.churn_ops),
    },
    Column {
        title: "preempted",
        essential: false,
        text: |r| count(r.preempted),
    },
    Column {
        title: "pending",
        essential: false,
        text: |r| count(r.unschedulable),
    },
];

/// The table, and below it what does not fit into it. Without room for all columns only the
/// essential ones are shown.
pub(super) fn render(reports: &[Report], width: Option<usize>) -> String {
    let all = with_columns(reports, |_| true);
    let widest = |text: &str| {
        let plain = anstream::adapter::strip_str(text).to_string();
        plain.lines().map(|line| line.chars().count()).max()
    };
    let fits = width.is_none_or(|width| widest(&all) <= Some(width));
    let mut out = match fits {
        true => all,
        false => with_columns(reports, |column| column.essential),
    };
    for note in reports.iter().flat_map(notes) {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn with_columns(reports: &[Report], shown: impl Fn(&Column) -> bool) -> String {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| shown(column)).collect();
    let titles = columns
        .iter()
        .map(|column| (head(column.title), Align::Right));
    let mut table = Table::new(
        [("WORKLOAD".to_owned(), Align::Left)]
            .into_iter()
            .chain(titles),
    );
    for report in reports {
        let cells = columns.iter().map(|column| {
            let text = (column.text)(report);
            match column.title {
                "decisions/s" => Cell::styled(GOOD, text),
                "pending" if report.unschedulable > 0 => Cell::styled(BAD, text),
                _ => Cell::new(text),
            }
        });
        table.row(
            [Cell::from(report.workload.clone())]
                .into_iter()
                .chain(cells),
        );
    }
    table.render(None)
}

/// Units stay as they are.
fn head(title: &str) -> String {
    match title.split_once(' ') {
        Some((name, unit)) => format!("{} {unit}", name.to_uppercase()),
        None => title.to_uppercase(),
    }
}

/// What is to be said besides figures.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.unschedulable > 0 {
        let text = format!(
            "{}: {} of {} measured pods stay pending",
            report.workload, report.unschedulable, report.pods
        );
        notes.push(styled(BAD, text));
    }
    notes.extend(background(report).map(|text| styled(FAINT, text)));
    notes
}

/// How pods in the background fared.
fn background(report: &Report) -> Option<String> {
    let decisions = report.background_decisions?;
    Some(format!(
        "{}: in the background {} pods, {} decisions at {}/s, {} scheduled",
        report.workload,
        report.background_pods.unwrap_or_default(),
        decisions,
        amount(report.background_decisions_per_s),
        report.background_scheduled.unwrap_or_default(),
    ))
}

/// A report in one line.
pub(super) fn line(report: &Report) -> String {
    let ratio = match report.ratio {
        Some(_) => format!(" {} times the plain path,", amount(report.ratio)),
        None => String::new(),
    };
    format!(
        "{}: {} decisions/s,{ratio} {} of {} pods scheduled",
        report.workload,
        amount(report.decisions_per_s),
        report.scheduled,
        report.pods,
    )
}

const ABOUT: &str = "\
The engine alone, on one thread, every node scored; no API server. A decision is one measured pod
bound, and everything that the engine does counts: taking in the pod (and its claims), bringing what
it keeps up to date, filtering and scoring, preempting and taking in the evictions, and taking in
the bound pod. `p50` and `p99` are of the time per decision; what churn costs is charged to the
decision that waits for it. `plain/s` is the same workload on the plain path, sampled from its
middle for two seconds; `allocs` is allocations per decision; `rss MiB` the peak of the process, one per
workload.

Measured pods arrive in bursts of 1,000, those that have to preempt in bursts of 100. What
scheduler_perf paces by the clock is counted: one churn operation per 50 measured pods, one
deletion per 5. In workloads with pods in the background, the time for those counts too, and how they
fared stands below the table.
";

/// A page of Markdown.
pub(super) fn markdown(reports: &[Report], date: &str, command: &str) -> String {
    let mut out = format!(
        "# Performance\n\nMeasured on {date} with stowplan {} on {} by:\n\n```sh\n{command}\n```\n\n{ABOUT}\n",
        env!("CARGO_PKG_VERSION"),
        Machine::this(),
    );
    let titles: Vec<_> = COLUMNS.iter().map(|column| column.title).collect();
    let _ = writeln!(out, "| workload | {} |", titles.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(titles.len()));
    for report in reports {
        let cells: Vec<_> = COLUMNS.iter().map(|column| (column.text)(report)).collect();
        let _ = writeln!(out, "| {} | {} |", report.workload, cells.join(" | "));
    }
    for (i, note) in reports.iter().filter_map(background).enumerate() {
        let _ = writeln!(out, "{}- {note}", if i == 0 { "\n" } else { "" });
    }
    out
}

fn count(count: usize) -> String {
    match count {
        0 => "-".to_owned(),
        count => thousands(count as f64),
    }
}

/// With about three digits that mean something.
fn amount(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 100.0 => thousands(value),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(0.0) => "0".to_owned(),
        Some(value) => format!("{value:.2}"),
    }
}

/// A whole number, its digits in groups of three.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn reports() -> Vec<Report> {
        let mut basic = Report {
            workload: "SchedulingBasic/5000Nodes_10000Pods".to_owned(),
            nodes: 5000,
            pods: 10_000,
            decisions_per_s: Some(312_345.6),
            p50_us: Some(3.214),
            p99_us: Some(17.01),
            allocs_per_decision: Some(0.0),
            peak_rss_mib: Some(81.4),
            scheduled: 10_000,
            ..Report::default()
        };
        basic.set_plain(Some(2500.0));
        let background = Report {
            workload: "Unschedulable/5kNodes".to_owned(),
            nodes: 5000,
            pods: 100,
            churn_ops: 2,
            scheduled: 99,
            unschedulable: 1,
            background_pods: Some(2),
            background_decisions: Some(3),
            background_scheduled: Some(0),
            background_decisions_per_s: Some(40_000.0),
            ..Report::default()
        };
        vec![basic, background]
    }

    fn plain(width: Option<usize>) -> String {
        anstream::adapter::strip_str(&render(&reports(), width)).to_string()
    }

    #[test]
    fn a_table() {
        expect![[r#"
            WORKLOAD                             NODES    PODS  DECISIONS/S  P50 µs  P99 µs  PLAIN/S  RATIO  ALLOCS  RSS MiB  CHURN  PREEMPTED  PENDING
            SchedulingBasic/5000Nodes_10000Pods  5,000  10,000      312,346    3.21    17.0    2,500    125       0       81      -          -        -
            Unschedulable/5kNodes                5,000     100            -       -       -        -      -       -        -      2          -        1
            Unschedulable/5kNodes: 1 of 100 measured pods stay pending
            Unschedulable/5kNodes: in the background 2 pods, 3 decisions at 40,000/s, 0 scheduled
        "#]].assert_eq(&plain(None));
        expect![[r#"
            WORKLOAD                             DECISIONS/S  P50 µs  P99 µs
            SchedulingBasic/5000Nodes_10000Pods      312,346    3.21    17.0
            Unschedulable/5kNodes                          -       -       -
            Unschedulable/5kNodes: 1 of 100 measured pods stay pending
            Unschedulable/5kNodes: in the background 2 pods, 3 decisions at 40,000/s, 0 scheduled
        "#]]
        .assert_eq(&plain(Some(80)));
    }

    #[test]
    fn a_page() {
        let page = markdown(&reports(), "2026-01-02", "stowplan bench --markdown");
        let rows: Vec<_> = page.lines().filter(|l| l.starts_with(['|', '-'])).collect();
        expect![[r#"
            | workload | nodes | pods | decisions/s | p50 µs | p99 µs | plain/s | ratio | allocs | rss MiB | churn | preempted | pending |
            |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
            | SchedulingBasic/5000Nodes_10000Pods | 5,000 | 10,000 | 312,346 | 3.21 | 17.0 | 2,500 | 125 | 0 | 81 | - | - | - |
            | Unschedulable/5kNodes | 5,000 | 100 | - | - | - | - | - | - | - | 2 | - | 1 |
            - Unschedulable/5kNodes: in the background 2 pods, 3 decisions at 40,000/s, 0 scheduled"#]].assert_eq(&rows.join("\n"));
        assert!(page.starts_with("# Performance\n\nMeasured on 2026-01-02 with stowplan "));
    }

    #[test]
    fn numbers() {
        for (value, text) in [
            (0.0, "0"),
            (0.123, "0.12"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1_234_567.8, "1,234,568"),
        ] {
            assert_eq!(amount(Some(value)), text);
        }
        assert_eq!(thousands(100.0), "100");
    }
}
