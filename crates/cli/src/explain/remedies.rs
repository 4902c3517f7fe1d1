//! What would make the pod fit.

use crate::output::{self, HEAD, styled, wrap};
use std::fmt::Write as _;
use stowplan_report::Change;

/// The changes, one line each.
pub(super) fn render(changes: &[Change], width: Option<usize>) -> String {
    let mut out = format!("{}\n", styled(HEAD, "WHAT WOULD MAKE IT FIT"));
    if changes.is_empty() {
        out.push_str("no single change that is known\n");
    }
    for change in changes {
        let text = match change.nodes {
            1 => change.change.clone(),
            nodes => format!("{} ({})", change.change, output::count(nodes, "node")),
        };
        let width = width.map_or(usize::MAX, |width| width.saturating_sub(2));
        for (at, line) in wrap(&text, width).into_iter().enumerate() {
            let bullet = if at == 0 { "- " } else { "  " };
            let _ = writeln!(out, "{bullet}{line}");
        }
    }
    out
}
