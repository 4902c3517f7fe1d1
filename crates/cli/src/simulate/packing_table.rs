//! Packing policies for people.

use crate::output::{Align, BAD, Cell, FAINT, GOOD, Table, styled, wrap};
use std::fmt::Write;
use stowplan_sim::SimulationReport;

/// What came of packing policies, a row each.
pub(super) fn render(outcomes: &[SimulationReport], width: Option<usize>) -> String {
    let mut table = Table::new([
        ("PACKING", Align::Left),
        ("NODES USED", Align::Right),
        ("LOWER BOUND", Align::Left),
        ("PENDING", Align::Right),
        ("CPU", Align::Right),
        ("MEMORY", Align::Right),
    ]);
    let fewest = outcomes
        .iter()
        .filter_map(|outcome| Some((outcome.pending.len(), outcome.packing.as_ref()?.nodes_used)))
        .min();
    for outcome in outcomes {
        let Some(used) = &outcome.packing else {
            continue;
        };
        let pending = outcome.pending.len();
        let best = Some((pending, used.nodes_used)) == fewest;
        let bound = match &used.bound_by {
            Some(resource) => format!("{} ({resource})", used.lower_bound),
            None => used.lower_bound.to_string(),
        };
        table.row([
            used.policy.clone().into(),
            Cell::styled(
                if best { GOOD } else { anstyle::Style::new() },
                format!("{} of {}", used.nodes_used, outcome.nodes.len()),
            ),
            bound.into(),
            Cell::styled(if pending > 0 { BAD } else { GOOD }, pending.to_string()),
            percent(used.cpu).into(),
            percent(used.memory).into(),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut out = table.render(None);
    let note = "NODES USED: those with more than DaemonSets' pods; CPU, MEMORY: of these nodes";
    for line in wrap(note, width.unwrap_or(usize::MAX)) {
        let _ = writeln!(out, "{}", styled(FAINT, line));
    }
    out
}

fn percent((asked, all): (i64, i64)) -> String {
    match all {
        ..=0 => "-".to_owned(),
        all => format!("{:.0}%", asked as f64 / all as f64 * 100.0),
    }
}
