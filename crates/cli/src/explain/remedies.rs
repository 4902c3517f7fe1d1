//! What would make the pod fit.

use crate::output::{self, HEAD, styled, wrap};
use std::fmt::Write as _;
use stowplan_report::Change;

/// The changes, one line each, and how many more were not tried.
pub(super) fn render(changes: &[Change], untried: usize, width: Option<usize>) -> String {
    let mut out = format!("{}\n", styled(HEAD, "WHAT WOULD MAKE IT FIT"));
    match (changes, untried) {
        ([], 0) => out.push_str("no single change that is known\n"),
        ([], _) => out.push_str("none of the changes that were tried\n"),
        _ => {}
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
    if untried > 0 {
        let more = output::count(untried, "more change");
        let _ = writeln!(out, "{more} could be thought of, and were not tried");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_cut_says_so() {
        let lines = |changes: &[Change], untried| {
            let text = render(changes, untried, None);
            let (_, rest) = text.split_once('\n').unwrap();
            rest.to_owned()
        };
        let change = Change {
            kind: "Uncordon".into(),
            change: "uncordon n1".to_owned(),
            nodes: 1,
            pieces: Vec::new(),
        };
        assert_eq!(lines(&[], 0), "no single change that is known\n");
        assert_eq!(
            lines(&[], 84),
            "none of the changes that were tried\n\
             84 more changes could be thought of, and were not tried\n"
        );
        assert_eq!(
            lines(&[change], 84),
            "- uncordon n1\n84 more changes could be thought of, and were not tried\n"
        );
    }
}
