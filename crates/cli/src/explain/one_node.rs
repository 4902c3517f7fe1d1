//! One node in detail: `--node`.

use super::tables::{conclusion, head, rule};
use crate::output::{Align, BAD, Cell, FAINT, GOOD, HEAD, Table, join_sections, styled};
use std::fmt::Write;
use stowplan_report::{NodeReport, Report};

/// Every filter, every score and what preemption tried on the one node of the report.
pub(super) fn render(report: &Report, width: Option<usize>) -> String {
    let Some(node) = report.nodes.first() else {
        return String::new();
    };
    join_sections([
        head(report, width),
        filters(report, node, width),
        super::spread::render(report, false, width),
        scores(report, node),
        preemption(report, node),
        conclusion(report, width),
    ])
}

fn filters(report: &Report, node: &NodeReport, width: Option<usize>) -> String {
    let mut out = match &node.rejected_by {
        Some(verdict) => format!(
            "{} {} by {}\n",
            styled(HEAD, &node.name),
            styled(BAD, "is rejected"),
            if verdict.plugin.is_empty() {
                "PreFilter"
            } else {
                &verdict.plugin
            }
        ),
        None => format!(
            "{} {}\n",
            styled(HEAD, &node.name),
            styled(GOOD, "is feasible")
        ),
    };
    if node.filters.is_empty() {
        // It was not asked: PreFilter had ruled it out.
        if let Some(verdict) = &node.rejected_by {
            let _ = writeln!(out, "  {}", verdict.reasons.join(", "));
        }
        return out;
    }
    let mut table = Table::prose([("FILTER", Align::Left), ("VERDICT", Align::Left)]);
    for verdict in &node.filters {
        let shown = match &*verdict.code {
            "Success" => Cell::styled(GOOD, "✓"),
            _ => Cell::styled(BAD, format!("✗ {}", verdict.reasons.join(", "))),
        };
        table.row([verdict.plugin.to_string().into(), shown]);
    }
    for plugin in &report.skipped_filters {
        table.row([
            Cell::styled(FAINT, plugin.to_string()),
            Cell::styled(FAINT, "nothing to check"),
        ]);
    }
    out + "\n" + &table.render(width)
}

fn scores(report: &Report, node: &NodeReport) -> String {
    let Some(total) = node.total else {
        return String::new();
    };
    let mut table = Table::new([
        ("SCORE", Align::Left),
        ("RAW", Align::Right),
        ("NORMALISED", Align::Right),
        ("WEIGHT", Align::Right),
        ("WEIGHTED", Align::Right),
    ]);
    for score in &node.scores {
        table.row([
            score.plugin.to_string().into(),
            score
                .raw
                .map_or_else(|| "-".to_owned(), |raw| raw.to_string())
                .into(),
            score.normalized.to_string().into(),
            score.weight.to_string().into(),
            score.weighted().to_string().into(),
        ]);
    }
    for plugin in &report.skipped_scores {
        let cells = ["-", "-", "-", "-"].map(|text| Cell::styled(FAINT, text));
        table.row(
            [Cell::styled(FAINT, plugin.to_string())]
                .into_iter()
                .chain(cells),
        );
    }
    let style = if report.best.contains(&node.name) {
        GOOD
    } else {
        HEAD
    };
    let total = [
        Cell::styled(style, "total"),
        Cell::default(),
        Cell::default(),
        Cell::default(),
    ]
    .into_iter()
    .chain([Cell::styled(style, total.to_string())]);
    table.row(total);
    table.render(None)
}

fn preemption(report: &Report, node: &NodeReport) -> String {
    let (Some(summary), Some(tried)) = (&report.preemption, &node.preemption) else {
        return String::new();
    };
    let mut out = styled(HEAD, "PREEMPTION") + "\n";
    match &tried.rejected_by {
        Some(verdict) => {
            let _ = writeln!(out, "  does not help: {}", verdict.reasons.join(", "));
        }
        None => {
            let _ = writeln!(out, "  would evict {}", tried.victims.join(", "));
            if tried.pdb_violations > 0 {
                let _ = writeln!(out, "  of which budgets protect {}", tried.pdb_violations);
            }
            if summary.node.as_ref() == Some(&node.name) {
                let _ = writeln!(
                    out,
                    "  and is what is done: {}",
                    rule(summary.decided_by.as_deref())
                );
            }
        }
    }
    out
}
