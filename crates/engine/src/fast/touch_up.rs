//! Bringing the rows of nodes up to date where something changed.

use super::ask::Questions;
use super::class::{Class, Profile, Scratch, Sheet};
use super::groups::{FITS, Group, Tag, VerdictId};
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
        self.find_needs(profile, marks.len(), &mut looks.needs);
        let known = !looks.needs.is_empty();
        // What a node needs cannot be foretold: all are written down, and those stay that ask for it.
        looks.positions.resize(marks.len(), 0);
        let mut count = 0;
        marks.sort();
        while let Some((at, mark)) = marks.take() {
            let Some(row) = self.rows.get(at as usize) else {
                continue;
            };
            let group = row.group as usize;
            let need = match mark {
                Mark::All => Need::Everything,
                _ if self.is_promised(cx, at) => Need::Everything,
                _ if known => looks.needs[group],
                _ => self.need_of(profile, &self.groups.list[group]),
            };
            looks.positions[count] = at;
            count += usize::from(need == Need::Pods);
            if need == Need::Everything {
                self.look(profile, cx, at as usize, None, sheet);
            }
        }
        looks.positions.truncate(count);
        self.touch_up(profile, cx, sheet, looks);
    }

    /// Whether a pod is nominated to a node that may stand in the way.
    #[inline]
    fn is_promised(&self, cx: Cx<'_>, at: u32) -> bool {
        let node = || &cx.cluster.nodes()[at as usize];
        !cx.nominator.is_empty() && has_nominated(cx, &self.example, node())
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
        let anew = self.tree.is_stale();
        for (at, answer) in looks.positions.iter().zip(answers) {
            let at = *at as usize;
            let group = self.rows[at].group;
            match (self.groups.list[group as usize].tag(), answer) {
                (Tag::Open, (&FITS, Some(score))) if anew => self.rows[at].score = *score,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Nothing,
    /// What rules say that look at the pods on it: most often the same verdict.
    Pods,
    Everything,
}
