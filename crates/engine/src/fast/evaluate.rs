//! From what is seen of groups to verdicts and scores.

use super::class::{Class, Profile, Scratch, unpack_raw};
use super::groups::{FITS, Groups, NEVER, Tag, VerdictId};
use super::layout::Layout;
use crate::cast::score_sum;
use crate::framework::{Cx, CycleState, DryRun, Framework, MAX_NODE_SCORE, PluginStatus, Range};
use crate::model::Pod;
use stowplan_base::Sym;

/// A score is out of its range: an error that only the plain path tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutOfRange;

impl Class {
    /// Gives every group its verdict and its bonus, if anything changed.
    pub(super) fn evaluate(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Result<(), OutOfRange> {
        if !self.stale {
            return Ok(());
        }
        let framework = profile.framework;
        // What is evaluated alone depends on more than is watched.
        let mut alone = false;
        let mut dry_run = DryRun::new(
            framework,
            cx,
            &self.cycle,
            pod,
            &mut scratch.node_scratch.space,
        );
        for at in 0..self.groups.list.len() {
            let group = &self.groups.list[at];
            if group.members == 0 {
                continue;
            }
            let verdict = match group.tag() {
                Tag::Alone(node) => {
                    alone = true;
                    judge_alone(&mut self.groups, framework, cx, node, &mut dry_run)
                }
                _ => judge(&mut self.groups, framework, &self.layout, &self.cycle, at),
            };
            self.groups.list[at].verdict = verdict;
        }
        let odd = |class: &Self| {
            let mut groups = class.groups.list.iter();
            groups.any(|group| group.is_feasible() && group.is_odd())
        };
        if odd(self) {
            return Err(OutOfRange);
        }
        self.weigh(profile);
        self.score(profile, cx, scratch)?;
        self.stale = alone;
        Ok(())
    }

    /// Tells domain scores which nodes are feasible.
    pub(super) fn weigh(&mut self, Profile { framework, .. }: Profile<'_>) {
        for (plugin, words) in &self.layout.scores {
            let groups = self.groups.list.iter();
            let mut feasible = groups
                .filter(|group| group.is_feasible())
                .map(|group| (&group.key[words.clone()], group.members as usize));
            framework.weigh(*plugin, &mut self.cycle, &mut feasible);
        }
    }

    /// Gives every group its bonus: the scores that its nodes have in common.
    pub(super) fn score(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), OutOfRange> {
        let Profile { framework, .. } = profile;
        let (groups, cycle, pod) = (&self.groups, &self.cycle, &*self.example);
        let bonuses = &mut scratch.bonuses;
        let ranges = &mut self.ranges;
        ranges.clear();
        bonuses.clear();
        bonuses.extend(
            groups
                .list
                .iter()
                .map(|group| if group.is_feasible() { 0 } else { NEVER }),
        );
        for (plugin, at) in &self.layout.raws {
            let raws = &mut scratch.raws;
            raws.clear();
            raws.extend(
                groups
                    .list
                    .iter()
                    .map(|group| group.is_feasible().then(|| unpack_raw(group.key[*at]))?),
            );
            ranges.push(add(profile, *plugin, cycle, raws, bonuses)?);
        }
        for (plugin, words) in &self.layout.scores {
            let raws = &mut scratch.raws;
            raws.clear();
            raws.extend(groups.list.iter().map(|group| {
                let raw = || framework.raw(*plugin, cx, cycle, pod, &group.key[words.clone()]);
                group.is_feasible().then(raw)?
            }));
            ranges.push(add(profile, *plugin, cycle, raws, bonuses)?);
        }
        if self.groups.bonus != *bonuses {
            std::mem::swap(&mut self.groups.bonus, bonuses);
            self.tree.touch_all();
        }
        Ok(())
    }
}

/// The verdict on a group: that of the first filter that rejects it.
fn judge(
    groups: &mut Groups,
    framework: &Framework,
    layout: &Layout,
    cycle: &CycleState,
    at: usize,
) -> VerdictId {
    let group = &groups.list[at];
    let (before, verdict) = match group.tag() {
        Tag::Rejected(verdict) => (groups.verdict(verdict).order, verdict),
        Tag::Open | Tag::Unseen | Tag::Alone(_) => (usize::MAX, FITS),
    };
    // A row that is yet to be looked at has no more than a tag.
    let seen = layout.filters.iter();
    let rejected = seen
        .filter(|(rule, _)| rule.order < before)
        .find_map(|(rule, words)| {
            let seen = group.key.get(words.clone())?;
            let status = framework.admit(*rule, cycle, seen).err()?;
            Some((*rule, status))
        });
    match rejected {
        None => verdict,
        Some((rule, status)) => {
            let plugin = framework.name_of(rule.plugin);
            groups.verdict_id(rule.order, PluginStatus { plugin, status })
        }
    }
}

/// The verdict on a node that pods are nominated to.
fn judge_alone(
    groups: &mut Groups,
    framework: &Framework,
    cx: Cx<'_>,
    node: u32,
    dry_run: &mut DryRun<'_>,
) -> VerdictId {
    let Some(node) = cx.cluster.node(Sym::from_number(node)) else {
        return FITS;
    };
    match dry_run.fits_on(node) {
        Ok(()) => FITS,
        Err(rejected) => {
            let order = framework.filter_order(rejected.plugin);
            groups.verdict_id(order, rejected)
        }
    }
}

/// Adds the weighted scores of one plugin to the bonuses of the groups; returns over which range
/// they were compared.
fn add(
    Profile { framework, .. }: Profile<'_>,
    plugin: usize,
    cycle: &CycleState,
    raws: &[Option<i64>],
    bonuses: &mut [i32],
) -> Result<Range, OutOfRange> {
    let scored = || raws.iter().flatten().copied();
    let over = Range {
        min: scored().min().unwrap_or(0),
        max: scored().max().unwrap_or(0),
    };
    let weight = framework.weight(plugin);
    for (raw, bonus) in raws.iter().zip(bonuses) {
        if let Some(raw) = raw {
            let score = framework.normalize(plugin, cycle, *raw, over);
            if !(0..=MAX_NODE_SCORE).contains(&score) {
                return Err(OutOfRange);
            }
            *bonus += score_sum(score * weight);
        }
    }
    Ok(over)
}
