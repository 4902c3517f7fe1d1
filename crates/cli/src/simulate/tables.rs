//! The outcome for people.

use super::packing_table;
use crate::output::{
    Align, BAD, Cell, FAINT, GOOD, HEAD, NOTE, Table, amount, bar, count, join_sections, styled,
    wrap,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use stowplan_sim::{PodName, SimulationReport, Use};

/// The whole outcome: placements, preemptions, what stays pending, nodes, and a last line.
pub(super) fn render(outcome: &SimulationReport, wide: bool, width: Option<usize>) -> String {
    join_sections([
        placements(outcome, wide, width),
        preemptions(outcome, width),
        pending(outcome, wide, width),
        nodes(outcome, wide, width),
        packing_table::render(std::slice::from_ref(outcome), width),
        summary(outcome),
    ])
}

fn full_name(pod: &PodName) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn placements(outcome: &SimulationReport, wide: bool, width: Option<usize>) -> String {
    if outcome.placed.is_empty() {
        return String::new();
    }
    let mut columns = vec![
        ("NAMESPACE", Align::Left),
        ("POD", Align::Left),
        ("PRIORITY", Align::Right),
        ("NODE", Align::Left),
    ];
    if wide {
        columns.extend([("ATTEMPTS", Align::Right), ("REQUESTS", Align::Left)]);
    }
    let mut table = match wide {
        true => Table::prose(columns),
        false => Table::new(columns),
    };
    for placed in &outcome.placed {
        let mut row: Vec<Cell> = vec![
            placed.pod.namespace.clone().into(),
            placed.pod.name.clone().into(),
            placed.pod.priority.to_string().into(),
            Cell::styled(GOOD, placed.node.clone()),
        ];
        if wide {
            let requests = placed.requests.iter();
            let requests: Vec<String> = requests
                .map(|(name, value)| format!("{name} {}", amount(name, *value)))
                .collect();
            row.extend([
                placed.attempts.to_string().into(),
                requests.join(", ").into(),
            ]);
        }
        table.row(row);
    }
    table.render(width)
}

fn preemptions(outcome: &SimulationReport, width: Option<usize>) -> String {
    if outcome.preemptions.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        ("PREEMPTED", Align::Left),
        ("PRIORITY", Align::Right),
        ("FROM", Align::Left),
        ("BY", Align::Left),
    ]);
    for preemption in &outcome.preemptions {
        for victim in &preemption.victims {
            let by = format!(
                "{} (priority {})",
                full_name(&preemption.preemptor),
                preemption.preemptor.priority
            );
            table.row([
                Cell::styled(NOTE, full_name(victim)),
                victim.priority.to_string().into(),
                preemption.node.clone().into(),
                by.into(),
            ]);
        }
    }
    table.render(width)
}

/// Pods with the same message stand together, for the replicas of a workload share theirs.
fn pending(outcome: &SimulationReport, wide: bool, width: Option<usize>) -> String {
    let mut groups: Vec<(&str, &str, Vec<String>)> = Vec::new();
    let mut at: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pending in &outcome.pending {
        let index = *at
            .entry((pending.reason, &pending.message))
            .or_insert(groups.len());
        if index == groups.len() {
            groups.push((pending.reason, &pending.message, Vec::new()));
        }
        groups[index].2.push(full_name(&pending.pod));
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut out = styled(HEAD, "PENDING") + "\n";
    for (reason, message, pods) in groups {
        let names = some_of(&pods, wide);
        for line in wrap(&names, width.unwrap_or(usize::MAX)) {
            let _ = writeln!(out, "{}", styled(BAD, line));
        }
        let text = match reason {
            "Unschedulable" => message.to_owned(),
            reason => format!("{reason}: {message}"),
        };
        for line in wrap(&text, width.map_or(usize::MAX, |width| width - 2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// How many pods with one message are named.
const NAMED: usize = 8;

fn some_of(pods: &[String], all: bool) -> String {
    let named = if all {
        pods.len()
    } else {
        pods.len().min(NAMED)
    };
    let list = pods[..named].join(", ");
    match pods.len() - named {
        0 => list,
        others => format!("{list} and {others} more"),
    }
}

/// How many nodes are shown unless all are asked for.
const NODES_SHOWN: usize = 30;

fn nodes(outcome: &SimulationReport, wide: bool, width: Option<usize>) -> String {
    if outcome.nodes.is_empty() {
        return String::new();
    }
    let shown = match wide {
        true => outcome.nodes.len(),
        false => outcome.nodes.len().min(NODES_SHOWN),
    };
    let titles = outcome
        .resources
        .iter()
        .map(|name| title(name, &outcome.resources));
    let columns = [("NODE".to_owned(), Align::Left)].into_iter();
    let mut table = Table::new(columns.chain(titles.map(|title| (title, Align::Left))));
    let longest = outcome.nodes[..shown]
        .iter()
        .map(|node| node.name.len())
        .max()
        .unwrap_or(4)
        .max(4);
    let bars = bar_columns(outcome, wide.then_some(shown), longest, width);
    for node in &outcome.nodes[..shown] {
        let mut row: Vec<Cell> = vec![node.name.clone().into()];
        for (resource, used) in outcome.resources.iter().zip(&node.uses) {
            let mut text = bar(used.kept, used.now, used.allocatable, bars);
            if wide && used.allocatable > 0 {
                let _ = write!(text, " {FAINT}{}{FAINT:#}", amounts(resource, used));
            }
            row.push(text.into());
        }
        table.row(row);
    }
    let mut out = table.render(None);
    if shown < outcome.nodes.len() {
        let others = outcome.nodes.len() - shown;
        let _ = writeln!(
            out,
            "{}",
            styled(
                FAINT,
                format_args!("… and {others} more nodes (-o wide shows all)")
            )
        );
    }
    out
}

/// The resource's short name, unless another one has the same.
fn title(name: &str, all: &[String]) -> String {
    let short = |name: &str| name.rsplit('/').next().unwrap_or(name).to_uppercase();
    match all
        .iter()
        .filter(|other| short(other) == short(name))
        .count()
    {
        1 => short(name),
        _ => name.to_uppercase(),
    }
}

/// What is asked for and what there is.
fn amounts(resource: &str, used: &Use) -> String {
    let (now, all) = (
        amount(resource, used.now),
        amount(resource, used.allocatable),
    );
    format!("{now}/{all}")
}

/// A bar of fewer columns says nothing.
const SHORTEST_BAR: usize = 2;

/// How wide bars can be so that all of them fit side by side; 0 if they cannot. The amounts of the
/// first `with_amounts` nodes stand behind them.
fn bar_columns(
    outcome: &SimulationReport,
    with_amounts: Option<usize>,
    node: usize,
    width: Option<usize>,
) -> usize {
    let Some(width) = width else { return 10 };
    let widest_amounts = |(i, resource): (usize, &String)| {
        let nodes = outcome.nodes[..with_amounts?].iter();
        nodes
            .map(|node| &node.uses[i])
            .filter(|used| used.allocatable > 0)
            .map(|used| 1 + amounts(resource, used).len())
            .max()
    };
    // Each bar comes with two blanks and a percentage.
    let resources = outcome.resources.iter().enumerate();
    let taken: usize = resources
        .map(|resource| 7 + widest_amounts(resource).unwrap_or(0))
        .sum();
    let each = width.saturating_sub(node + taken) / outcome.resources.len().max(1);
    match each.min(20) {
        ..SHORTEST_BAR => 0,
        each => each,
    }
}

fn summary(outcome: &SimulationReport) -> String {
    let preempted: usize = outcome.preemptions.iter().map(|p| p.victims.len()).sum();
    let mut parts = vec![format!("{} placed", count(outcome.placed.len(), "pod"))];
    parts.push(match outcome.pending.len() {
        0 => styled(GOOD, "none pending"),
        pending => styled(BAD, format_args!("{pending} pending")),
    });
    if preempted > 0 {
        parts.push(styled(NOTE, format_args!("{preempted} preempted")));
    }
    format!(
        "{} on {}\n",
        parts.join(", "),
        count(outcome.nodes.len(), "node")
    )
}
