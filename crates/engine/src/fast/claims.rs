//! Pods with rules in play that look at anything: those with volumes and claims.

use super::class::{Class, Profile, Scratch};
use super::columns::Columns;
use super::decide::Outcome;
use super::groups::{FITS, NEVER};
use crate::cast::narrow;
use crate::framework::{
    Code, Cx, DryRun, DryRunSpace, NodePart, NodesToCheck, PRE_FILTER_ONLY, Rule, has_nominated,
};
use crate::model::Pod;
use stowplan_base::Sym;

/// Nodes that such rules reject, beyond those that the class takes for infeasible.
#[derive(Clone, Debug, Default)]
pub(super) struct RuledOut {
    /// One bit per node.
    bits: Vec<u64>,
    /// Positions of those among them that the class takes for feasible.
    feasible: Vec<u32>,
    /// Per group, the place in the order of filters of the one that rejects it.
    rejected_at: Vec<usize>,
    /// Nodes with the same number are alike.
    alike: Vec<u32>,
    /// Verdicts on nodes that are alike.
    known: Vec<Known>,
    /// Such rules had a say, or the verdict on a node is not what the class takes it for.
    decides: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Not,
    Fits,
    Rejected,
}

/// A rule failed with an error.
struct Failed;

impl RuledOut {
    fn contains(&self, at: usize) -> bool {
        self.bits[at / 64] >> (at % 64) & 1 != 0
    }

    fn insert(&mut self, at: usize, is_feasible: bool) {
        self.bits[at / 64] |= 1 << (at % 64);
        if is_feasible {
            self.feasible.push(narrow(at));
        }
    }
}

/// The attempt of one pod.
#[derive(Clone, Copy)]
struct Asking<'a> {
    profile: Profile<'a>,
    cx: Cx<'a>,
    pod: &'a Pod,
}

impl Class {
    /// As [`decide_among_all`](Self::decide_among_all), with rules in play that look at anything:
    /// they are asked about the nodes that no rule before them rejects.
    pub(super) fn decide_with_claims(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Outcome {
        if !self.bring_up_to_date(profile, cx, pod, scratch) {
            return Outcome::Plain;
        }
        let asking = Asking { profile, cx, pod };
        if self.rule_out(asking, scratch).is_err() {
            return Outcome::Plain;
        }
        let ruled_out = &scratch.ruled_out;
        match self.groups.feasible() - ruled_out.feasible.len() {
            // Others rejected all nodes before.
            0 if !ruled_out.decides => Outcome::Nowhere,
            // The reasons are told by those who know the whole order of filters.
            0 => Outcome::Plain,
            _ if ruled_out.feasible.is_empty() => {
                match self.tree.best(&self.rows, &self.groups.bonus) {
                    Some((best, count)) => Outcome::Best(best, count),
                    None => Outcome::Plain,
                }
            }
            left => self.best_of_the_rest(profile, cx, scratch, left),
        }
    }

    /// Finds the nodes that such rules reject.
    fn rule_out(&self, asking: Asking<'_>, scratch: &mut Scratch) -> Result<(), Failed> {
        let Scratch {
            ruled_out: out,
            columns,
            node_scratch,
            ..
        } = scratch;
        let Profile { framework, plan } = asking.profile;
        out.decides = false;
        out.bits.clear();
        out.bits.resize(self.rows.len().div_ceil(64), 0);
        out.feasible.clear();
        out.rejected_at.clear();
        let groups = self.groups.list.iter();
        out.rejected_at
            .extend(groups.map(|group| match group.verdict {
                FITS => PRE_FILTER_ONLY,
                rejected => self.groups.verdict(rejected).order,
            }));
        self.ask_with_nominated(asking, out, &mut node_scratch.space)?;
        for rule in &plan.cluster_filters {
            if rule.order == PRE_FILTER_ONLY || !framework.filters(*rule, &self.cycle) {
                continue;
            }
            let groups = self.groups.list.iter().zip(&out.rejected_at);
            let mut left = groups.filter(|(group, _)| group.members > 0);
            if left.all(|(_, rejected_at)| *rejected_at <= rule.order) {
                continue;
            }
            out.decides = true;
            match framework.asks(*rule, asking.cx, &self.cycle, asking.pod) {
                NodesToCheck::All => {
                    for at in 0..self.rows.len() {
                        self.ask(asking, *rule, at, out)?;
                    }
                }
                NodesToCheck::These(positions) => {
                    for at in positions {
                        self.ask(asking, *rule, at as usize, out)?;
                    }
                }
                NodesToCheck::Alike { keys, need } => {
                    columns.catch_up(asking.cx);
                    let need = need.as_ref().map(|(key, values)| (*key, &**values));
                    self.ask_alike(asking, *rule, &keys, need, out, columns)?;
                }
            }
        }
        Ok(())
    }

    /// Nodes with nominated pods that count are asked by all filters, with and without them.
    fn ask_with_nominated(
        &self,
        asking: Asking<'_>,
        out: &mut RuledOut,
        space: &mut DryRunSpace,
    ) -> Result<(), Failed> {
        let Asking { profile, cx, pod } = asking;
        let mut dry_run = DryRun::new(profile.framework, cx, &self.cycle, pod, space);
        for (name, _) in cx.underway.nominator.iter() {
            let Some(at) = cx.cluster.node_position(name) else {
                continue;
            };
            let node = &cx.cluster.nodes()[at];
            if !has_nominated(cx, pod, node) {
                continue;
            }
            let kept = match self.groups.list[self.rows[at].group as usize].verdict {
                FITS => None,
                verdict => Some(&self.groups.verdict(verdict).rejected),
            };
            match dry_run.fits_on(node) {
                Ok(()) => out.decides |= kept.is_some(),
                Err(error) if error.status.code == Code::Error => return Err(Failed),
                Err(rejected) => {
                    out.decides |= kept != Some(&rejected);
                    self.insert(at, out);
                }
            }
        }
        Ok(())
    }

    fn insert(&self, at: usize, out: &mut RuledOut) {
        let group = &self.groups.list[self.rows[at].group as usize];
        out.insert(at, group.verdict == FITS);
    }

    /// Asks a rule about one node, unless a rule before it rejects that; returns whether it fits,
    /// if it was asked.
    fn ask(
        &self,
        Asking { profile, cx, pod }: Asking<'_>,
        rule: Rule,
        at: usize,
        out: &mut RuledOut,
    ) -> Result<Option<bool>, Failed> {
        if !self.has_to_ask(rule, at, out) {
            return Ok(None);
        }
        let node = &cx.cluster.nodes()[at];
        let rejected = profile
            .framework
            .first_rejection(&[rule], cx, &self.cycle, pod, node);
        match rejected {
            Ok(()) => Ok(Some(true)),
            Err((_, status)) if status.code == Code::Error => Err(Failed),
            Err(_) => {
                self.insert(at, out);
                Ok(Some(false))
            }
        }
    }

    fn has_to_ask(&self, rule: Rule, at: usize, out: &RuledOut) -> bool {
        out.rejected_at[self.rows[at].group as usize] > rule.order && !out.contains(at)
    }

    /// Asks a rule about one of those nodes that are alike by their labels.
    fn ask_alike(
        &self,
        asking: Asking<'_>,
        rule: Rule,
        keys: &[Sym],
        need: Option<(Sym, &[Sym])>,
        out: &mut RuledOut,
        columns: &mut Columns,
    ) -> Result<(), Failed> {
        let cx = asking.cx;
        let parts: Vec<_> = keys.iter().map(|key| NodePart::Label(*key)).collect();
        let needed = need.map(|(key, _)| NodePart::Label(key));
        columns.want(cx, parts.iter().copied().chain(needed));
        if let Some((key, values)) = need
            && let Some(column) = columns.get(NodePart::Label(key))
        {
            let numbers: Vec<u32> = values.iter().filter_map(|v| column.number_of(*v)).collect();
            for (at, number) in column.values.iter().enumerate() {
                if !numbers.contains(number) && self.has_to_ask(rule, at, out) {
                    self.insert(at, out);
                }
            }
        }
        out.alike.clear();
        out.alike.resize(self.rows.len(), 0);
        let most = columns.tell_apart(&parts, &mut out.alike, 1);
        out.known.clear();
        out.known.resize(most.unwrap_or(0), Known::Not);
        for at in 0..self.rows.len() {
            let alike = most.map(|_| out.alike[at] as usize);
            match alike.map_or(Known::Not, |alike| out.known[alike]) {
                Known::Fits => {}
                Known::Rejected if self.has_to_ask(rule, at, out) => self.insert(at, out),
                Known::Rejected => {}
                Known::Not => {
                    let fits = self.ask(asking, rule, at, out)?;
                    if let (Some(fits), Some(alike)) = (fits, alike) {
                        let known = if fits { Known::Fits } else { Known::Rejected };
                        out.known[alike] = known;
                    }
                }
            }
        }
        Ok(())
    }

    /// The best of fewer nodes than the class takes for feasible.
    fn best_of_the_rest(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
        left: usize,
    ) -> Outcome {
        let compares = !self.layout.raws.is_empty() || !self.layout.scores.is_empty();
        if left > 1 && compares {
            self.recount(&scratch.ruled_out.feasible, |members| members - 1);
            self.weigh(profile);
            let scored = self.score(profile, cx, scratch);
            self.recount(&scratch.ruled_out.feasible, |members| members + 1);
            self.stale = true;
            if scored.is_err() {
                return Outcome::Plain;
            }
        }
        let Scratch {
            feasible,
            ruled_out,
            ..
        } = scratch;
        feasible.clear();
        let mut best = NEVER / 2;
        for (at, row) in self.rows.iter().enumerate() {
            let total = row.total(&self.groups.bonus);
            if total < best || ruled_out.contains(at) {
                continue;
            }
            if total > best {
                best = total;
                feasible.clear();
            }
            feasible.push(narrow(at));
        }
        match feasible[..] {
            [] => Outcome::Plain,
            [only] => Outcome::Only(only as usize),
            _ => Outcome::Some,
        }
    }

    fn recount(&mut self, positions: &[u32], change: impl Fn(u32) -> u32) {
        for at in positions {
            let group = self.rows[*at as usize].group;
            let members = &mut self.groups.list[group as usize].members;
            *members = change(*members);
        }
    }
}
