//! How the pods of a spread constraint stand, domain by domain.

use crate::output::{Align, BAD, Cell, FAINT, HEAD, NOTE, Table, count, styled, wrap};
use std::fmt::Write as _;
use stowplan_report::{Report, Spread, SpreadDomain};

/// So many domains are shown; of more, only those that the answer depends on.
const DOMAINS_SHOWN: usize = 12;

/// A section for every topology spread constraint of the pod's own.
pub(super) fn render(report: &Report, wide: bool, width: Option<usize>) -> String {
    let sections = report.spread.iter();
    let sections: Vec<String> = sections
        .map(|spread| section(spread, wide, width))
        .collect();
    sections.join("\n")
}

fn section(spread: &Spread, wide: bool, width: Option<usize>) -> String {
    let mut out = String::new();
    let mut rule = format!(
        "over {}: maxSkew {}, ",
        spread.topology_key, spread.max_skew
    );
    if spread.min_domains > 1 {
        let _ = write!(rule, "minDomains {}, ", spread.min_domains);
    }
    rule += &spread.when_unsatisfiable;
    lines(
        &mut out,
        &format!("{} {rule}", styled(HEAD, "SPREAD")),
        width,
    );
    out += &domains(spread, wide, width);
    lines(&mut out, &minimum(spread), width);
    if let Some(drift) = spread.drift {
        let text = format!(
            "the pods have drifted apart by {drift}, though maxSkew is {}: nobody moves pods that run",
            spread.max_skew
        );
        lines(&mut out, &styled(NOTE, text), width);
    }
    out
}

fn domains(spread: &Spread, wide: bool, width: Option<usize>) -> String {
    let mut table = Table::prose([
        ("DOMAIN", Align::Left),
        ("PODS", Align::Right),
        ("NODES", Align::Right),
        ("SKEW", Align::Right),
        ("NOTE", Align::Left),
    ]);
    let all = wide || spread.domains.len() <= DOMAINS_SHOWN;
    let shown = if all {
        spread.domains.len()
    } else {
        DOMAINS_SHOWN
    };
    for domain in &spread.domains[..shown] {
        let is_full = spread.is_too_full(domain);
        let style = if is_full { BAD } else { anstyle::Style::new() };
        table.row([
            Cell::new(domain.name.clone()),
            domain.pods.to_string().into(),
            domain.nodes.to_string().into(),
            Cell::styled(style, domain.skew.to_string()),
            Cell::styled(FAINT, note(spread, domain)),
        ]);
    }
    let mut out = table.render(width);
    if shown < spread.domains.len() {
        let more = count(spread.domains.len() - shown, "more domain");
        let text = styled(FAINT, format!("… and {more} (-o wide shows all)"));
        let _ = writeln!(out, "{text}");
    }
    out
}

fn note(spread: &Spread, domain: &SpreadDomain) -> String {
    let mut parts = Vec::new();
    if spread.is_too_full(domain) {
        parts.push(format!("above maxSkew {}", spread.max_skew));
    }
    match (&domain.taint, domain.counts) {
        (Some(taint), true) => parts.push(format!(
            "tainted {taint}, but it counts: nodeTaintsPolicy is {}",
            spread.node_taints_policy
        )),
        (Some(taint), false) => parts.push(format!(
            "tainted {taint}, and does not count: nodeTaintsPolicy is {}",
            spread.node_taints_policy
        )),
        (None, false) => parts.push("does not count: no node there is one for the pod".to_owned()),
        (None, true) => {}
    }
    parts.join("; ")
}

/// What every domain is compared with, and why it is that.
fn minimum(spread: &Spread) -> String {
    let (minimum, least) = (spread.minimum, spread.min_domains);
    let domains = |number: usize| match number {
        1 => "1 domain counts".to_owned(),
        number => format!("{number} domains count"),
    };
    let Some(emptiest) = spread.emptiest() else {
        return match spread.counted_domains {
            0 => format!("the minimum is {minimum}: no domain counts"),
            counted => format!(
                "the minimum is {minimum}: {}, and minDomains is {least}",
                domains(counted)
            ),
        };
    };
    let mut text = format!("the minimum is {minimum}, that of {}", emptiest.name);
    let without = spread.counted_domains - spread.tainted().count();
    let few = i64::try_from(without).unwrap_or(i64::MAX) < least;
    if emptiest.taint.is_some() && few {
        let tainted: Vec<&str> = spread
            .tainted()
            .map(|domain| domain.name.as_str())
            .collect();
        let _ = write!(
            text,
            "; without {} only {}, and minDomains {least} would keep it at 0",
            tainted.join(" and "),
            match without {
                1 => "1 domain would count".to_owned(),
                number => format!("{number} domains would count"),
            },
        );
    }
    text
}

fn lines(out: &mut String, text: &str, width: Option<usize>) {
    for line in wrap(text, width.unwrap_or(usize::MAX)) {
        let _ = writeln!(out, "{line}");
    }
}
