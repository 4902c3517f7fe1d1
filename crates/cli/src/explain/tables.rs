//! The tournament as tables.

use crate::output::{
    Align, BAD, Cell, FAINT, GOOD, HEAD, NOTE, Table, amount, count, join_sections, styled, wrap,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use stowplan_report::{Moment, NodeReport, Outcome, Report, Verdict, is_hopeless};

/// The whole tournament.
pub(super) fn render(report: &Report, wide: bool, width: Option<usize>) -> String {
    join_sections([
        head(report, width),
        scores(report, wide, width),
        rejections(report, wide, width),
        super::spread::render(report, wide, width),
        preemption(report, wide, width),
        conclusion(report, width),
        remedies(report, width),
    ])
}

/// What would make the pod fit; nothing if it does.
fn remedies(report: &Report, width: Option<usize>) -> String {
    let changes = report.what_would_help.as_deref();
    changes.map_or_else(String::new, |changes| {
        super::remedies::render(changes, report.changes_untried, width)
    })
}

/// Who the pod is.
pub(super) fn head(report: &Report, width: Option<usize>) -> String {
    let pod = &report.pod;
    let state = match (&pod.node, &pod.workload) {
        (Some(node), _) => format!("bound to {node}, asked as if it were not there yet"),
        (None, Some(workload)) => format!("one more pod of {workload}"),
        (None, None) => "pending".to_owned(),
    };
    let title = styled(HEAD, format_args!("{}/{}", pod.namespace, pod.name));
    let mut out = format!("{title}  {state}\n");
    let requests = pod.requests.iter();
    let requests: Vec<String> = requests
        .map(|(name, value)| format!("{name} {}", amount(name, *value)))
        .collect();
    let asks = if requests.is_empty() {
        "nothing".to_owned()
    } else {
        requests.join(", ")
    };
    lines(
        &mut out,
        &format!("priority {}, asks for {asks}", pod.priority),
        "",
        width,
    );
    if let Some(moment) = &report.moment {
        lines(&mut out, &when(moment), "", width);
    }
    out
}

/// When the question was asked, and what to know about that.
fn when(moment: &Moment) -> String {
    let tried = moment.last_attempt.as_deref();
    let tried = match (tried, moment.at_decision) {
        (Some(time), true) => format!("as it was decided at {time}"),
        (Some(time), false) => format!("last tried at {time}"),
        (None, _) => String::new(),
    };
    let parts = [tried.as_str(), &moment.note];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Writes a text in lines of the right length.
fn lines(out: &mut String, text: &str, indent: &str, width: Option<usize>) {
    let width = width.map_or(usize::MAX, |width| width.saturating_sub(indent.len()));
    for line in wrap(text, width) {
        let _ = writeln!(out, "{indent}{line}");
    }
}

/// How many feasible nodes are shown unless all are asked for.
const NODES_SHOWN: usize = 20;

/// Plugins have long names, and columns are narrow.
fn short(plugin: &str) -> String {
    match plugin {
        "TaintToleration" => "TAINTS",
        "NodeAffinity" => "AFFINITY",
        "NodeResourcesFit" => "FIT",
        "VolumeBinding" => "VOLUMES",
        "PodTopologySpread" => "SPREAD",
        "InterPodAffinity" => "INTERPOD",
        "DynamicResources" => "DEVICES",
        "NodeResourcesBalancedAllocation" => "BALANCED",
        "ImageLocality" => "IMAGES",
        "BinPacking" => "PACKING",
        other => return other.to_uppercase(),
    }
    .to_owned()
}

fn scores(report: &Report, wide: bool, width: Option<usize>) -> String {
    let mut nodes: Vec<&NodeReport> = report.nodes.iter().filter(|node| node.feasible).collect();
    nodes.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
    let Some(first) = nodes.first() else {
        return String::new();
    };
    let plugins = first.scores.iter().map(|score| {
        let title = if wide {
            score.plugin.to_string()
        } else {
            short(&score.plugin)
        };
        (title, Align::Right)
    });
    let columns = [
        ("NODE".to_owned(), Align::Left),
        ("TOTAL".to_owned(), Align::Right),
    ];
    let mut table = Table::new(columns.into_iter().chain(plugins));
    let shown = if wide {
        nodes.len()
    } else {
        nodes.len().min(NODES_SHOWN)
    };
    for node in &nodes[..shown] {
        let best = report.best.contains(&node.name);
        let style = if best { GOOD } else { anstyle::Style::new() };
        let total = node
            .total
            .map_or_else(|| "-".to_owned(), |total| total.to_string());
        let mut row = vec![
            Cell::styled(
                style,
                format!("{} {}", if best { '★' } else { ' ' }, node.name),
            ),
            Cell::styled(style, total),
        ];
        row.extend(node.scores.iter().map(|score| {
            let text = match (wide, score.raw) {
                (true, Some(raw)) => format!("{raw} → {}×{}", score.normalized, score.weight),
                (true, None) => format!("- → {}×{}", score.normalized, score.weight),
                (false, _) => format!("{}×{}", score.normalized, score.weight),
            };
            Cell::new(text)
        }));
        table.row(row);
    }
    let mut out = table.render(None);
    if shown < nodes.len() {
        let text = format!(
            "… and {} more nodes (-o wide shows all)",
            nodes.len() - shown
        );
        let _ = writeln!(out, "{}", styled(FAINT, text));
    }
    if let Some(policy) = &report.packing {
        let text = format!(
            "BinPacking ({}) takes the place of all scores: {}",
            policy,
            rule_of(policy)
        );
        for line in wrap(&text, width.unwrap_or(usize::MAX)) {
            let _ = writeln!(out, "{}", styled(FAINT, line));
        }
    }
    if !report.skipped_scores.is_empty() {
        let text = format!("nothing to score by: {}", report.skipped_scores.join(", "));
        for line in wrap(&text, width.unwrap_or(usize::MAX)) {
            let _ = writeln!(out, "{}", styled(FAINT, line));
        }
    }
    out
}

/// What the keys of a packing policy mean.
fn rule_of(policy: &str) -> &'static str {
    match policy {
        "BestFit" => "the least left over wins, in millionths of the node",
        "WorstFit" => "the most left over wins, in millionths of the node",
        _ => "the node that arrived first wins",
    }
}

/// Rejected nodes beyond this number are put together by what rejected them.
const REJECTED_SHOWN: usize = 20;

/// What rejected a node: first the one that decided, then all others that would have.
fn rejectors(node: &NodeReport) -> Vec<Verdict> {
    let decisive = node.rejected_by.iter().cloned();
    let others = node
        .filters
        .iter()
        .filter(|verdict| verdict.code != "Success" && node.rejected_by.as_ref() != Some(verdict));
    decisive.chain(others.cloned()).collect()
}

fn rejections(report: &Report, wide: bool, width: Option<usize>) -> String {
    let rejected: Vec<&NodeReport> = report.nodes.iter().filter(|node| !node.feasible).collect();
    if rejected.is_empty() || report.rejected_by.is_some() {
        return String::new();
    }
    let mut groups: Vec<(Vec<Verdict>, Vec<&str>)> = Vec::new();
    let mut at: BTreeMap<Vec<Verdict>, usize> = BTreeMap::new();
    let one_by_one = wide || rejected.len() <= REJECTED_SHOWN;
    for node in rejected {
        let verdicts = rejectors(node);
        let index = match at.get(&verdicts) {
            Some(index) if !one_by_one => *index,
            _ => {
                at.insert(verdicts.clone(), groups.len());
                groups.push((verdicts, Vec::new()));
                groups.len() - 1
            }
        };
        groups[index].1.push(&node.name);
    }
    let mut table = Table::prose([
        ("REJECTED", Align::Left),
        ("BY", Align::Left),
        ("REASON", Align::Left),
    ]);
    for (verdicts, nodes) in groups {
        for (i, verdict) in verdicts.iter().enumerate() {
            let names = if i == 0 {
                some_of(&nodes)
            } else {
                String::new()
            };
            let style = if i == 0 { BAD } else { FAINT };
            table.row([
                Cell::new(names),
                Cell::styled(style, who(verdict)),
                Cell::styled(style, verdict.reasons.join(", ")),
            ]);
        }
    }
    table.render(width)
}

fn who(verdict: &Verdict) -> &str {
    match &*verdict.plugin {
        "" => "PreFilter",
        plugin => plugin,
    }
}

fn some_of(nodes: &[&str]) -> String {
    match nodes {
        [one] => (*one).to_owned(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => String::new(),
    }
}

fn preemption(report: &Report, wide: bool, width: Option<usize>) -> String {
    let Some(summary) = &report.preemption else {
        return String::new();
    };
    if let Some(reason) = &summary.ineligible {
        return format!("{} {reason}\n", styled(HEAD, "PREEMPTION"));
    }
    let mut table = Table::prose([
        ("PREEMPTION", Align::Left),
        ("WOULD EVICT", Align::Left),
        ("PROTECTED", Align::Right),
        ("NOTE", Align::Left),
    ]);
    let mut tried: Vec<&NodeReport> = report
        .nodes
        .iter()
        .filter(|node| node.preemption.is_some())
        .collect();
    // The node that is taken first, then those where it would work.
    let rank = |node: &NodeReport| {
        let chosen = summary.node.as_ref() == Some(&node.name);
        let works = node
            .preemption
            .as_ref()
            .is_some_and(|tried| tried.rejected_by.is_none());
        (!chosen, !works)
    };
    tried.sort_by_key(|node| rank(node));
    let shown = if wide {
        tried.len()
    } else {
        tried.len().min(NODES_SHOWN)
    };
    for node in &tried[..shown] {
        let Some(outcome) = &node.preemption else {
            continue;
        };
        let chosen = summary.node.as_ref() == Some(&node.name);
        let note = match &outcome.rejected_by {
            Some(verdict) => verdict.reasons.join(", "),
            None if chosen => format!("taken ({})", rule(summary.decided_by.as_deref())),
            None => String::new(),
        };
        let protected = match (outcome.pdb_violations, &outcome.rejected_by) {
            (_, Some(_)) => String::new(),
            (violations, None) => violations.to_string(),
        };
        let style = if chosen { NOTE } else { anstyle::Style::new() };
        let victims = match outcome.victims.as_slice() {
            [] => "-".to_owned(),
            [one] => one.clone(),
            [first, others @ ..] if !wide => format!("{first} and {} more", others.len()),
            all => all.join(", "),
        };
        table.row([
            Cell::styled(style, node.name.clone()),
            Cell::styled(style, victims),
            protected.into(),
            Cell::styled(style, note),
        ]);
    }
    let hopeless = report
        .nodes
        .iter()
        .filter(|node| node.preemption.is_none() && !node.feasible);
    let hopeless = hopeless
        .filter(|node| node.rejected_by.as_ref().is_some_and(is_hopeless))
        .count();
    let mut out = if table.is_empty() {
        String::new()
    } else {
        table.render(width)
    };
    if shown < tried.len() {
        let text = format!(
            "… and {} more nodes (-o wide shows all)",
            tried.len() - shown
        );
        let _ = writeln!(out, "{}", styled(FAINT, text));
    }
    if hopeless > 0 {
        let text = format!("preemption cannot help on {}", count(hopeless, "node"));
        let _ = writeln!(out, "{}", styled(FAINT, text));
    }
    out
}

/// The rule that chose a node to evict pods from, in words.
pub(super) fn rule(decided_by: Option<&str>) -> &'static str {
    match decided_by {
        Some("only") => "the only one",
        Some("pdb") => "fewest protected pods",
        Some("highest_priority") => "least important victims",
        Some("sum_priorities") => "least sum of priorities",
        Some("num_victims") => "fewest victims",
        Some("latest_start") => "victims started last",
        _ => "first of equals",
    }
}

/// What comes of it.
pub(super) fn conclusion(report: &Report, width: Option<usize>) -> String {
    let mut out = String::new();
    let text = match report.outcome {
        Outcome::Fits => styled(GOOD, "fits") + &where_to(report),
        Outcome::FitsAfterPreemption => {
            let node = report
                .preemption
                .as_ref()
                .and_then(|preemption| preemption.node.clone());
            let node = node.unwrap_or_default();
            styled(NOTE, "fits nowhere") + &format!(" now, but on {node} once its victims are gone")
        }
        Outcome::FitsNowhere => styled(BAD, "fits nowhere"),
        Outcome::Gated => styled(BAD, "is not tried yet"),
        Outcome::Error => styled(BAD, "cannot be decided"),
    };
    lines(&mut out, &text, "", width);
    if let Some(verdict) = &report.rejected_by {
        lines(
            &mut out,
            &format!("{}: {}", who(verdict), verdict.reasons.join(", ")),
            "  ",
            width,
        );
    }
    if let Some(message) = &report.message {
        lines(&mut out, message, "  ", width);
    }
    out
}

/// How many of the best nodes are named in a sentence.
const NAMED_MAX: usize = 8;

fn where_to(report: &Report) -> String {
    let best = match report.best.as_slice() {
        [one] => format!("best is {one}"),
        many if many.len() > NAMED_MAX => format!(
            "{} are equally good: {} and {} more",
            many.len(),
            many[..NAMED_MAX].join(", "),
            many.len() - NAMED_MAX
        ),
        many => format!("{} are equally good: {}", many.len(), many.join(", ")),
    };
    let mut text = format!(
        " on {} of {}, {best}",
        report.feasible,
        count(report.total_nodes, "node")
    );
    if let Some(node) = &report.nominated_node {
        let _ = write!(text, ", which it was promised");
        debug_assert_eq!(report.best.first(), Some(node));
    } else if report.feasible == 1 {
        text.push_str(", which is taken without scoring");
    }
    if let Some(node) = &report.pod.node {
        let judged = if report.best.contains(node) {
            "is"
        } else {
            "is not"
        };
        let _ = write!(text, "; {node}, where it is, {judged} among the best");
    }
    text
}
