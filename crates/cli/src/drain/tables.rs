//! What draining would come to, for people.

use crate::output::{
    Align, BAD, Cell, FAINT, GOOD, NOTE, Table, count, join_sections, styled, wrap,
};
use anstyle::Style;
use std::fmt::Write;
use stowplan_base::Duration;
use stowplan_sim::drain::{DrainReport, DrainedPod, Fate};

/// The whole answer: what kubectl would say, every pod, who has to make room, and a last line.
pub(super) fn render(report: &DrainReport, width: Option<usize>) -> String {
    join_sections([
        told(report, width),
        pods(report, width),
        preempted(report, width),
        summary(report, width),
    ])
}

fn lines(out: &mut String, style: Style, text: &str, width: Option<usize>) {
    for line in wrap(text, width.unwrap_or(usize::MAX)) {
        let _ = writeln!(out, "{}", styled(style, line));
    }
}

fn told(report: &DrainReport, width: Option<usize>) -> String {
    let mut out = String::new();
    for error in &report.errors {
        lines(&mut out, BAD, error, width);
    }
    for warning in &report.warnings {
        lines(&mut out, NOTE, warning, width);
    }
    out
}

fn pods(report: &DrainReport, width: Option<usize>) -> String {
    if report.pods.is_empty() {
        return String::new();
    }
    let several = report.nodes.len() > 1;
    let mut columns = vec![("POD", Align::Left)];
    if several {
        columns.push(("FROM", Align::Left));
    }
    columns.extend([
        ("GOES TO", Align::Left),
        ("WHEN", Align::Left),
        ("WHY", Align::Left),
    ]);
    let mut table = Table::prose(columns);
    for pod in &report.pods {
        let (style, to) = goes_to(pod);
        let mut row = vec![Cell::new(pod.title())];
        if several {
            row.push(Cell::new(pod.from.clone()));
        }
        row.extend([
            Cell::styled(style, to),
            Cell::new(when(pod)),
            Cell::new(why(report, pod)),
        ]);
        table.row(row);
    }
    table.render(width)
}

fn goes_to(pod: &DrainedPod) -> (Style, String) {
    match (pod.fate, &pod.to) {
        (Fate::Moves, Some(node)) => (GOOD, node.clone()),
        (Fate::Moves | Fate::Pending, _) => (BAD, "nowhere".to_owned()),
        (Fate::Lost, _) => (NOTE, "is lost".to_owned()),
        (Fate::Removed, _) => (FAINT, "is removed".to_owned()),
        (Fate::Skipped, _) => (FAINT, "stays".to_owned()),
        (Fate::Blocked | Fate::Failed | Fate::Refused | Fate::NotReached, _) => {
            (BAD, "stays".to_owned())
        }
    }
}

/// When it is evicted, and when its replacement is ready.
fn when(pod: &DrainedPod) -> String {
    match (pod.fate, pod.evicted_after, pod.ready_after) {
        (_, Some(evicted), Some(ready)) => format!("{evicted} → {ready}"),
        (Fate::Pending, Some(evicted), None) => format!("{evicted} → never"),
        (_, Some(evicted), None) => evicted.to_string(),
        (Fate::Blocked, None, _) => "never".to_owned(),
        _ => String::new(),
    }
}

fn why(report: &DrainReport, pod: &DrainedPod) -> String {
    let mut parts = Vec::new();
    if let Some(wait) = &pod.waits {
        let (budget, reason) = (&wait.budget, &wait.reason);
        parts.push(match wait.span {
            Some(span) => format!("waits {span} for the budget {budget}: {reason}"),
            None => format!("the budget {budget} blocks for ever: {reason}"),
        });
    }
    let victims = report.preempted.iter().filter(|v| v.by == pod.title());
    let victims: Vec<&str> = victims.map(|victim| victim.pod.as_str()).collect();
    if !victims.is_empty() {
        parts.push(format!("preempts {}", victims.join(", ")));
    }
    if !pod.message.is_empty() {
        parts.push(pod.message.clone());
    }
    parts.join("; ")
}

fn preempted(report: &DrainReport, width: Option<usize>) -> String {
    if report.preempted.is_empty() {
        return String::new();
    }
    let mut table = Table::prose([
        ("PREEMPTED", Align::Left),
        ("FROM", Align::Left),
        ("GOES TO", Align::Left),
        ("WHY", Align::Left),
    ]);
    for victim in &report.preempted {
        let (style, to) = match (&victim.to, &victim.pending) {
            (Some(node), _) => (GOOD, node.as_str()),
            (None, Some(_)) => (BAD, "nowhere"),
            (None, None) => (NOTE, "is lost"),
        };
        table.row([
            victim.pod.clone().into(),
            victim.from.clone().into(),
            Cell::styled(style, to),
            victim.pending.clone().unwrap_or_default().into(),
        ]);
    }
    table.render(width)
}

fn summary(report: &DrainReport, width: Option<usize>) -> String {
    let mut parts = vec![match (report.errors.is_empty(), report.takes) {
        (false, _) => styled(BAD, "would not begin") + " as things are",
        (true, Some(takes)) => format!("would take about {takes}"),
        (true, None) => styled(BAD, "would never end"),
    }];
    let pending = report.count(Fate::Pending);
    let displaced = report
        .preempted
        .iter()
        .filter(|v| v.pending.is_some())
        .count();
    let has = |count: usize| if count == 1 { "has" } else { "have" };
    let mut say = |number: usize, thing: &str, verb: &str, one: &str, many: &str| {
        if number > 0 {
            let is = if number == 1 { one } else { many };
            parts.push(format!("{} {is}{verb}", count(number, thing)));
        }
    };
    say(report.count(Fate::Refused), "pod", "refused", "is ", "are ");
    say(pending, "pod", " nowhere to go", has(pending), has(pending));
    say(
        displaced,
        "pod",
        " to make room and stays pending",
        "has",
        "have",
    );
    say(report.count(Fate::Lost), "pod", "lost", "is ", "are ");
    say(
        report.blocking_budgets.len(),
        "budget",
        "",
        "blocks",
        "block",
    );
    say(report.count(Fate::Failed), "eviction", "", "fails", "fail");
    say(
        report.count(Fate::NotReached),
        "pod",
        "never reached",
        "is ",
        "are ",
    );
    let mut out = String::new();
    lines(&mut out, Style::new(), &parts.join("; "), width);
    if report.pods.iter().any(|pod| pod.evicted_after.is_some()) {
        lines(&mut out, FAINT, &assumptions(report), width);
    }
    out
}

fn assumptions(report: &DrainReport) -> String {
    let startup = report.assumptions.startup;
    let grace = match report.assumptions.grace_period {
        Some(Duration::ZERO) => "end at once".to_owned(),
        Some(grace) => format!("take {grace} to end"),
        None => "take their whole grace period to end".to_owned(),
    };
    format!("taken for granted: pods {grace}, and {startup} to become ready (--startup)")
}
