//! Looking at all nodes: how a class is opened.

use super::ask::Questions;
use super::best::Row;
use super::class::{Class, Profile, Scratch};
use super::columns::Columns;
use super::groups::{FITS, GroupId, Tag, VerdictId};
use super::incremental::Need;
use crate::NodeInfo;
use crate::cast::narrow;
use crate::framework::{
    Cx, NodePart, OUT_OF_RANGE, PluginStatus, Reads, Rule, UNKNOWN, has_nominated,
};
use stowplan_base::Sym;

/// What is found out about many nodes, most often all, one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    /// Of which nodes something is found out.
    pub(super) positions: Vec<u32>,
    /// What has to be found out about nodes with other pods, group by group.
    pub(super) needs: Vec<Need>,
    /// The first verdict of the filters that look at one node.
    pub(super) verdicts: Vec<VerdictId>,
    /// The scores that need no comparison; [`OUT_OF_RANGE`] if one is.
    pub(super) sums: Vec<i32>,
    /// Nodes with the same number look alike; [`APART`] if a node has to be looked at by itself.
    alike: Vec<u32>,
    /// The answer of a rule for each number, or [`UNKNOWN`].
    answers: Vec<VerdictId>,
    /// The group of each number, or [`UNKNOWN`].
    groups: Vec<GroupId>,
    /// Positions of nodes that have to be looked at by themselves.
    apart: Vec<u32>,
    /// What the rules read.
    parts: Vec<NodePart>,
    /// How often one of those that are alike was put into its group.
    pub(super) alike_looks: u64,
    /// How often each node was.
    pub(super) each_looks: u64,
}

/// The number of nodes that have to be looked at one by one.
const APART: u32 = u32::MAX;

impl Evaluation {
    /// The scores of a node that need no comparison; `None` if one is out of range.
    fn sum(&self, at: usize) -> Option<i32> {
        Some(self.sums[at]).filter(|sum| *sum != OUT_OF_RANGE)
    }
}

impl Class {
    /// Looks at all nodes, rule by rule, and gives each its row.
    pub(super) fn look_at_all(&mut self, profile: Profile<'_>, cx: Cx<'_>, scratch: &mut Scratch) {
        scratch.columns.catch_up(cx);
        let mut evaluation = std::mem::take(&mut scratch.evaluation);
        self.ask_all(profile, cx, scratch, &mut evaluation);
        self.rows.reserve(evaluation.verdicts.len());
        match self.tell_apart(profile, cx, &mut scratch.columns, &mut evaluation) {
            Some(most) => {
                evaluation.alike_looks += 1;
                self.group_alike(profile, cx, scratch, &mut evaluation, most);
            }
            None => {
                evaluation.each_looks += 1;
                self.group_each(profile, cx, scratch, &evaluation);
            }
        }
        scratch.evaluation = evaluation;
    }

    /// Asks the filters and the scores that look at one node. Filters that read no more of it than
    /// other nodes have too, and that come before all others, are asked once for nodes that are
    /// alike.
    fn ask_all(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
        evaluation: &mut Evaluation,
    ) {
        let Profile { framework, plan } = profile;
        let nodes = cx.cluster.nodes().len();
        evaluation.positions.clear();
        evaluation.positions.extend(0..narrow(nodes));
        evaluation.verdicts.clear();
        evaluation.verdicts.resize(nodes, FITS);
        let mut rules = plan.node_filters.as_slice();
        while let Some((rule, others)) = rules.split_first() {
            if plan.pod_filters.contains(rule)
                || !self.ask_once_for_alike(profile, cx, *rule, &mut scratch.columns, evaluation)
            {
                break;
            }
            rules = others;
        }
        let scores = match framework.packing() {
            Some(_) => &[],
            None => &plan.absolute_scores[..],
        };
        let questions = Questions {
            framework,
            cx,
            filters: rules,
            scores,
        };
        self.ask_one_by_one(questions, evaluation);
    }

    /// Asks a filter about nodes that none before it rejects, once for those that are alike to it;
    /// `false` if it cannot be said which those are.
    fn ask_once_for_alike(
        &mut self,
        Profile { framework, .. }: Profile<'_>,
        cx: Cx<'_>,
        rule: Rule,
        columns: &mut Columns,
        evaluation: &mut Evaluation,
    ) -> bool {
        let (cycle, pod, groups) = (&self.cycle, &self.example, &mut self.groups);
        let Some(reads) = framework.filter_reads(rule, cycle, pod) else {
            return false;
        };
        let Evaluation {
            alike,
            answers,
            verdicts,
            ..
        } = evaluation;
        columns.want(cx, reads.parts.iter().copied());
        alike.clear();
        alike.resize(verdicts.len(), 0);
        let Some(most) = columns.tell_apart(&reads.parts, alike, 1) else {
            return false;
        };
        let plugin = framework.name_of(rule.plugin);
        let reject = |status| groups.verdict_id(rule.order, PluginStatus { plugin, status });
        answers.clear();
        answers.resize(most, UNKNOWN);
        framework.filter_alike(rule, cx, (cycle, pod), (alike, answers), verdicts, reject);
        true
    }

    /// Numbers the nodes so that those with the same number belong to the same group, save for some
    /// that are put apart. Returns what the numbers are below; `None` if they cannot be told apart
    /// by what rules say they read.
    fn tell_apart(
        &self,
        Profile { framework, plan }: Profile<'_>,
        cx: Cx<'_>,
        columns: &mut Columns,
        evaluation: &mut Evaluation,
    ) -> Option<usize> {
        if framework.packing().is_some() || plan.pods_compare {
            return None;
        }
        let (cycle, pod) = (&self.cycle, &*self.example);
        let filters = plan.domain_filters.iter();
        let scores = plan.relative_scores.iter().chain(&plan.domain_scores);
        let reads = filters
            .map(|rule| framework.filter_reads(*rule, cycle, pod))
            .chain(scores.map(|plugin| framework.score_reads(*plugin, cycle, pod)));
        let (parts, apart) = (&mut evaluation.parts, &mut evaluation.apart);
        parts.clear();
        apart.clear();
        let position = |name: Sym| cx.cluster.node_position(name).map(narrow);
        let nominated = cx.underway.nominator.iter();
        apart.extend(nominated.filter_map(|(name, _)| position(name)));
        for reads in reads {
            let reads = reads?;
            apart.extend(reads.apart.iter().filter_map(|name| position(*name)));
            put_apart(cx, columns, &reads, apart);
            for part in reads.parts {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        if apart.len() * 4 > evaluation.verdicts.len() {
            return None;
        }
        columns.want(cx, parts.iter().copied());
        let alike = &mut evaluation.alike;
        alike.clone_from(&evaluation.verdicts);
        let most = columns.tell_apart(parts, alike, self.groups.verdicts().len() + 1)?;
        for at in &*apart {
            alike[*at as usize] = APART;
        }
        Some(most)
    }

    /// Puts nodes into groups, of which only one of those that are alike is looked at.
    fn group_alike(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
        evaluation: &mut Evaluation,
        most: usize,
    ) {
        evaluation.groups.clear();
        evaluation.groups.resize(most, UNKNOWN);
        for (at, node) in cx.cluster.nodes().iter().enumerate() {
            let (verdict, sum) = (evaluation.verdicts[at], evaluation.sum(at));
            let known = evaluation
                .groups
                .get(evaluation.alike[at] as usize)
                .copied();
            let (Some(known), Some(score)) = (known, sum) else {
                self.push_row();
                self.look(profile, cx, at, None, &mut scratch.node_scratch);
                continue;
            };
            let group = match known {
                UNKNOWN => {
                    let key = &mut scratch.node_scratch.key;
                    match verdict {
                        FITS => self.key_of_open(profile, cx, node, sum, key),
                        verdict => self.key_of_rejected(profile, node, verdict, key),
                    };
                    let group = self.groups.intern(key);
                    evaluation.groups[evaluation.alike[at] as usize] = group;
                    group
                }
                known => known,
            };
            self.rows.push(Row { score, group });
            self.groups.list[group as usize].members += 1;
        }
    }

    /// Puts nodes into groups, each by itself.
    fn group_each(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
        evaluation: &Evaluation,
    ) {
        for (at, node) in cx.cluster.nodes().iter().enumerate() {
            self.push_row();
            if has_nominated(cx, &self.example, node) {
                self.look(profile, cx, at, None, &mut scratch.node_scratch);
                continue;
            }
            let key = &mut scratch.node_scratch.key;
            let score = match evaluation.verdicts[at] {
                FITS => self.key_of_open(profile, cx, node, evaluation.sum(at), key),
                verdict => self.key_of_rejected(profile, node, verdict, key),
            };
            self.set_row(at, score, &scratch.node_scratch.key);
        }
    }

    /// The key of the group of a node that one of the filters which look at one node rejects.
    fn key_of_rejected(
        &self,
        Profile { framework, plan }: Profile<'_>,
        node: &NodeInfo,
        verdict: VerdictId,
        key: &mut Vec<u64>,
    ) -> i32 {
        key.clear();
        key.push(Tag::Rejected(verdict).pack());
        let order = self.groups.verdict(verdict).order;
        for rule in plan.domain_filters.iter().filter(|rule| rule.order < order) {
            framework.filter_group_key(*rule, &self.cycle, node, key);
        }
        0
    }

    /// The key of the group of a node that they all accept, and the score that concerns it alone.
    fn key_of_open(
        &self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        node: &NodeInfo,
        score: Option<i32>,
        key: &mut Vec<u64>,
    ) -> i32 {
        let Profile { framework, plan } = profile;
        key.clear();
        key.push(Tag::Open.pack());
        for rule in &plan.domain_filters {
            framework.filter_group_key(*rule, &self.cycle, node, key);
        }
        self.score_group_keys(profile, cx, node, Some(score), key)
    }
}

/// Notes the positions of nodes with labels by which they are to be looked at one by one.
fn put_apart(cx: Cx<'_>, columns: &mut Columns, reads: &Reads, apart: &mut Vec<u32>) {
    let labels = &reads.apart_by_label;
    for (i, (key, _)) in labels.iter().enumerate() {
        if labels[..i].iter().any(|(before, _)| before == key) {
            continue;
        }
        let part = NodePart::Label(*key);
        columns.want(cx, std::iter::once(part));
        let Some(column) = columns.get(part) else {
            continue;
        };
        let mut is_apart = vec![false; column.numbers()];
        for (_, value) in labels.iter().filter(|(other, _)| other == key) {
            if let Some(number) = column.number_of(*value) {
                is_apart[number as usize] = true;
            }
        }
        let numbers = (0..).zip(&column.values);
        let found = numbers.filter(|(_, number)| is_apart[**number as usize]);
        apart.extend(found.map(|(at, _)| at));
    }
}
