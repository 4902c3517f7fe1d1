//! An attempt as lines of text: whatever anybody can read from it.

use stowplan_base::Sym;
use stowplan_engine::explain::{Explanation, NodeVerdict};
use stowplan_engine::framework::PreemptionReport;
use stowplan_engine::framework::{Cx, Framework, Nomination, PluginStatus, PostFilterResult};
use stowplan_engine::model::Pod;
use stowplan_engine::schedule::{Attempt, Placement};

/// Everything about an attempt.
pub(super) fn render(
    attempt: &Attempt,
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
) -> Vec<String> {
    match attempt {
        Attempt::Placed(placement) => render_placement(placement, framework, cx, pod),
        Attempt::Error(status) => vec![format!("error: {}", render_status(status, cx))],
        Attempt::Unschedulable {
            diagnosis,
            nomination,
            preemption,
        } => {
            let mut lines = vec![
                "unschedulable".to_owned(),
                format!("message: {}", diagnosis.message(cx.cluster)),
                format!(
                    "unschedulable plugins: {:?}",
                    diagnosis.unschedulable_plugins
                ),
                format!("pending plugins: {:?}", diagnosis.pending_plugins),
                format!("PreFilter said: {}", diagnosis.pre_filter_message),
                format!("PostFilter said: {}", diagnosis.post_filter_message),
                format!("nomination: {}", render_nomination(*nomination, cx)),
            ];
            for (at, node) in cx.cluster.nodes().iter().enumerate() {
                let asked = if diagnosis.statuses.is_explicit(at) {
                    "asked"
                } else {
                    "not asked"
                };
                let status = render_status(diagnosis.statuses.get(at), cx);
                lines.push(format!("{} ({asked}): {status}", name(node.node.name, cx)));
            }
            match preemption {
                Some(report) => render_preemption(report, cx, &mut lines),
                None => lines.push("no preemption".to_owned()),
            }
            lines
        }
    }
}

/// The best nodes, and what Reserve makes of the first of them.
fn render_placement(
    placement: &Placement,
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
) -> Vec<String> {
    let node = |at: &usize| cx.cluster.nodes()[*at].node.name;
    let best = placement.best.iter().map(|at| name(node(at), cx));
    let mut lines = vec![format!("best: {}", best.collect::<Vec<_>>().join(" "))];
    if let (Some(first), false) = (placement.best.first(), pod.volumes.is_empty()) {
        let reserved = framework.run_reserve(cx, &placement.cycle, pod, node(first));
        lines.push(format!("reserve: {reserved:?}"));
    }
    lines
}

/// Everything about an explanation.
pub(super) fn render_explanation(explanation: &Explanation, cx: Cx<'_>) -> Vec<String> {
    // Taken apart so that a new field cannot be forgotten.
    let Explanation {
        pre_enqueue,
        error,
        pre_filter,
        narrowed_to,
        skipped_filters,
        nodes,
        feasible,
        skipped_scores,
        scores,
        score_error,
        nominated,
        best,
        post_filter,
        message,
    } = explanation;
    let status = |status: &Option<PluginStatus>| status.as_ref().map(|s| render_status(s, cx));
    let mut lines = vec![
        format!("held back: {:?}", status(pre_enqueue)),
        format!("error: {:?}", status(error)),
        format!("PreFilter rejects: {:?}", status(pre_filter)),
        format!("narrowed to: {narrowed_to:?}"),
        format!("skipped filters: {skipped_filters:?}"),
        format!("feasible: {feasible:?}"),
        format!("skipped scores: {skipped_scores:?}"),
        format!("totals: {:?}", scores.totals),
        format!("score error: {:?}", status(score_error)),
        format!("nominated: {nominated:?}"),
        format!("explained best: {best:?}"),
        format!("explained message: {message:?}"),
    ];
    lines.extend(scores.plugins.iter().map(|scores| format!("{scores:?}")));
    lines.extend(nodes.iter().map(|node| render_verdict(node, cx)));
    if let Some(PostFilterResult {
        status,
        nomination,
        preemption,
    }) = post_filter
    {
        lines.push(format!("PostFilter says {status:?}"));
        lines.push(format!(
            "it nominates {}",
            render_nomination(*nomination, cx)
        ));
        if let Some(report) = preemption {
            render_preemption(report, cx, &mut lines);
        }
    }
    lines
}

fn render_verdict(verdict: &NodeVerdict, cx: Cx<'_>) -> String {
    let NodeVerdict {
        node,
        rejected,
        asked,
        filters,
    } = verdict;
    let rejected = rejected.as_ref().map(|status| render_status(status, cx));
    format!(
        "{} explained (asked: {asked}): {rejected:?}, filters {filters:?}",
        name(*node, cx)
    )
}

fn render_status(status: &PluginStatus, cx: Cx<'_>) -> String {
    let reasons = status.status.reasons().iter().map(|r| r.render(cx.cluster));
    format!(
        "{:?} says {:?}: {:?}",
        status.plugin,
        status.status.code,
        reasons.collect::<Vec<_>>()
    )
}

fn render_nomination(nomination: Nomination, cx: Cx<'_>) -> String {
    match nomination {
        Nomination::Keep => "kept".to_owned(),
        Nomination::Set(None) => "cleared".to_owned(),
        Nomination::Set(Some(node)) => name(node, cx).to_owned(),
    }
}

fn render_preemption(report: &PreemptionReport, cx: Cx<'_>, lines: &mut Vec<String>) {
    lines.push(format!("preemption is ineligible: {:?}", report.ineligible));
    for candidate in &report.candidates {
        let victims: Vec<_> = candidate.victims.iter().map(|v| &*v.uid).collect();
        lines.push(format!(
            "candidate {} at {}: victims {victims:?}, {} of them protected",
            name(candidate.node, cx),
            candidate.position,
            candidate.pdb_violations
        ));
    }
    for (at, status) in &report.rejected {
        let node = name(cx.cluster.nodes()[*at].node.name, cx);
        lines.push(format!(
            "no candidate {node}: {}",
            render_status(status, cx)
        ));
    }
    lines.push(format!(
        "best candidates: {:?}, decided by {:?}",
        report.best, report.decided_by
    ));
}

fn name(sym: Sym, cx: Cx<'_>) -> &str {
    cx.cluster.names.text(sym)
}

/// The lines in which two attempts differ, `-` for the plain path and `+` for the fast one.
pub(super) fn difference(plain: &[String], fast: &[String]) -> Option<String> {
    if plain == fast {
        return None;
    }
    let only = |sign, these: &[String], those: &[String]| -> Vec<String> {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .map(|line| format!("{sign} {line}"))
            .collect()
    };
    let lines = [only('-', plain, fast), only('+', fast, plain)].concat();
    if lines.is_empty() {
        return Some(format!("- {plain:#?}\n+ {fast:#?}"));
    }
    Some(lines.join("\n"))
}
