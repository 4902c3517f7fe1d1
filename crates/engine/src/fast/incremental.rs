//! Bringing the rows of nodes up to date where something changed.

use super::ask::Questions;
use super::class::{Class, NodeScratch, Profile, Scratch};
use super::full_evaluation::Evaluation;
use super::groups::{FITS, Group, Tag, VerdictId};
use super::marks::Mark;
use crate::framework::{Cx, OUT_OF_RANGE, Plan, has_nominated};

impl Class {
    /// Looks again at the nodes that are marked, and at those whose latest change has at least the
    /// number `since`. Most of them lost or got pods that no domain counts: such nodes are asked
    /// about together, rule by rule.
    pub(super) fn look_at_changed(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
        since: Option<u64>,
    ) {
        let Scratch {
            evaluation,
            marks,
            node_scratch,
            ..
        } = scratch;
        evaluation.positions.clear();
        if let Some(from) = since {
            list_changed(cx.cluster.log().nodes(), from, &mut evaluation.positions);
        }
        marks.sort();
        while let Some((at, mark)) = marks.take() {
            match mark {
                Mark::All if (at as usize) < self.rows.len() => {
                    self.look(profile, cx, at as usize, None, node_scratch);
                }
                Mark::Pods => evaluation.positions.push(at),
                _ => {}
            }
        }
        self.look_where_pods_matter(profile, cx, node_scratch, evaluation);
        self.update_rows(profile, cx, node_scratch, evaluation);
    }

    /// Of the nodes at the listed positions, on which other pods are, leaves those that have to be
    /// asked about for that, and looks at those for which that is not enough.
    fn look_where_pods_matter(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        node_scratch: &mut NodeScratch,
        evaluation: &mut Evaluation,
    ) {
        let listed = evaluation.positions.len();
        self.find_needs(profile, listed, &mut evaluation.needs);
        let known = !evaluation.needs.is_empty();
        let promises = !cx.underway.nominator.is_empty();
        // What a node needs cannot be foretold: all are written down, and those stay that ask for it.
        let mut count = 0;
        for i in 0..listed {
            let at = evaluation.positions[i];
            let Some(row) = self.rows.get(at as usize) else {
                continue;
            };
            let group = row.group as usize;
            let need = match known {
                _ if promises && self.is_promised(cx, at) => Need::Everything,
                true => evaluation.needs[group],
                false => self.need_of(profile, &self.groups.list[group]),
            };
            evaluation.positions[count] = at;
            count += usize::from(need == Need::Pods);
            if need == Need::Everything {
                self.look(profile, cx, at as usize, None, node_scratch);
            }
        }
        evaluation.positions.truncate(count);
    }

    /// Whether a pod is nominated to a node that may stand in the way.
    fn is_promised(&self, cx: Cx<'_>, at: u32) -> bool {
        has_nominated(cx, &self.example, &cx.cluster.nodes()[at as usize])
    }

    /// What the nodes of each group need if other pods are on them, should so many have to be looked
    /// at that it pays; else none.
    fn find_needs(&self, profile: Profile<'_>, marked: usize, needs: &mut Vec<Need>) {
        needs.clear();
        let groups = &self.groups.list;
        if marked > groups.len() {
            needs.extend(groups.iter().map(|group| self.need_of(profile, group)));
        }
    }

    /// What has to be found out about a node of this group if other pods are on it.
    fn need_of(&self, Profile { framework, plan }: Profile<'_>, group: &Group) -> Need {
        // Whether nodes are compared by the pods on them.
        let compares = plan.pods_compare || framework.packing().is_some();
        match group.tag() {
            Tag::Open if !group.is_odd() && !compares => Need::Pods,
            Tag::Rejected(verdict) => {
                // Whoever rejected it does not care for pods, nor does anybody before.
                let order = self.groups.verdict(verdict).order;
                let mut cares = plan.pod_filters.iter();
                match cares.all(|rule| order < rule.order) {
                    true => Need::Nothing,
                    false => Need::Pods,
                }
            }
            _ => Need::Everything,
        }
    }

    /// Brings rows up to date whose nodes are the same but for pods that no domain counts.
    fn update_rows(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        node_scratch: &mut NodeScratch,
        evaluation: &mut Evaluation,
    ) {
        let Profile { framework, plan } = profile;
        if evaluation.positions.is_empty() {
            return;
        }
        if evaluation.positions.len() * 8 > self.rows.len() {
            // Of so many, following each costs more than finding the best anew.
            self.tree.touch_all();
        }
        evaluation.verdicts.clear();
        evaluation.verdicts.resize(evaluation.positions.len(), FITS);
        let questions = Questions {
            framework,
            cx,
            filters: &plan.pod_filters,
            scores: &plan.absolute_scores,
        };
        self.ask_one_by_one(questions, evaluation);
        let answers = evaluation.verdicts.iter().zip(&evaluation.sums);
        let anew = self.tree.is_stale();
        for (at, answer) in evaluation.positions.iter().zip(answers) {
            let at = *at as usize;
            let group = self.rows[at].group;
            match (self.groups.list[group as usize].tag(), answer) {
                (_, (&FITS, &OUT_OF_RANGE)) => self.look(profile, cx, at, None, node_scratch),
                (Tag::Open, (&FITS, score)) if anew => self.rows[at].score = *score,
                (Tag::Open, (&FITS, score)) => self.replace_row(at, *score, group),
                (Tag::Rejected(before), (&now, _)) if self.still(plan, before, now) => {}
                _ => self.look(profile, cx, at, None, node_scratch),
            }
        }
    }

    /// Whether the verdict on a node is what it was, now that the rules that look at the pods on it
    /// say `now`.
    fn still(&self, plan: &Plan, before: VerdictId, now: VerdictId) -> bool {
        let order = self.groups.verdict(before).order;
        let looks_at_pods = || plan.pod_filters.iter().any(|rule| rule.order == order);
        now == before || now == FITS && !looks_at_pods()
    }
}

/// What has to be found out about a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Nothing,
    /// What rules say that look at the pods on it: most often the same verdict.
    Pods,
    Everything,
}

/// Lists the nodes whose latest change has at least this number.
fn list_changed(latest: &[u64], from: u64, positions: &mut Vec<u32>) {
    // Whether a node changed cannot be foretold: all are written down, and those stay that did.
    positions.resize(latest.len(), 0);
    let mut count = 0;
    for (at, number) in (0..).zip(latest) {
        positions[count] = at;
        count += usize::from(*number >= from);
    }
    positions.truncate(count);
}
