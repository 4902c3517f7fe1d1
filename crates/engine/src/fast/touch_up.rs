//! Bringing the rows of nodes up to date where something changed.

use super::ask::Questions;
use super::class::{Class, Profile, Scratch, Sheet};
use super::groups::{FITS, Tag, VerdictId};
use super::looks::Looks;
use super::marks::Mark;
use crate::framework::{Cx, Plan, has_nominated};

impl Class {
    /// Looks again at the nodes that are marked. Most of them lost or got pods that no domain
    /// counts: such nodes are asked about together, rule by rule.
    pub(super) fn look_at_marked(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
    ) {
        let Scratch {
            looks,
            marks,
            sheet,
            ..
        } = scratch;
        let Profile { framework, plan } = profile;
        let compares = plan.pods_compare || framework.packing().is_some();
        looks.positions.clear();
        marks.sort();
        while let Some((at, mark)) = marks.take() {
            if at as usize >= self.rows.len() {
                continue;
            }
            match self.need_of(plan, cx, at as usize, mark, compares) {
                Need::Nothing => {}
                Need::Pods => looks.positions.push(at),
                Need::Everything => self.look(profile, cx, at as usize, None, sheet),
            }
        }
        self.touch_up(profile, cx, sheet, looks);
    }

    /// What has to be found out about a marked node; `compares` says that nodes are compared by the
    /// pods on them.
    fn need_of(&self, plan: &Plan, cx: Cx<'_>, at: usize, mark: Mark, compares: bool) -> Need {
        let group = &self.groups.list[self.rows[at].group as usize];
        if mark == Mark::All || has_nominated(cx, &self.example, &cx.cluster.nodes()[at]) {
            return Need::Everything;
        }
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
    fn touch_up(&mut self, profile: Profile<'_>, cx: Cx<'_>, sheet: &mut Sheet, looks: &mut Looks) {
        let Profile { framework, plan } = profile;
        if looks.positions.is_empty() {
            return;
        }
        if looks.positions.len() * 8 > self.rows.len() {
            // Of so many, following each costs more than finding the best anew.
            self.tree.touch_all();
        }
        looks.verdicts.clear();
        looks.verdicts.resize(looks.positions.len(), FITS);
        let questions = Questions {
            framework,
            cx,
            filters: &plan.pod_filters,
            scores: &plan.absolute_scores,
        };
        self.ask_one_by_one(questions, looks);
        let answers = looks.verdicts.iter().zip(&looks.sums);
        for (at, answer) in looks.positions.iter().zip(answers) {
            let at = *at as usize;
            let group = self.rows[at].group;
            match (self.groups.list[group as usize].tag(), answer) {
                (Tag::Open, (&FITS, Some(score))) => self.replace_row(at, *score, group),
                (Tag::Rejected(before), (&now, _)) if self.still(plan, before, now) => {}
                _ => self.look(profile, cx, at, None, sheet),
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
enum Need {
    Nothing,
    /// What rules say that look at the pods on it: most often the same verdict.
    Pods,
    Everything,
}
