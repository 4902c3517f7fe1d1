//! Pods that fit nowhere: why, and what can be done about it.

use super::best::Row;
use super::class::{Class, Scratch};
use super::groups::{FITS, Groups};
use super::kept_dry_runs::ClassDryRunsFor;
use super::{Classes, MOST_BYTES};
use crate::framework::{
    Cx, Diagnosis, Framework, NodeStatuses, Nomination, PluginStatus, PostFilterCx, Verdicts,
    message,
};
use crate::framework::{Detail, PreemptionReport};
use crate::model::Pod;
use crate::schedule::Attempt;
use std::collections::BTreeSet;

/// Dry runs may take up this part of what classes may, besides.
const TRIES_SHARE: usize = 8;

/// What follows for a pod that fits nowhere.
pub(crate) struct Refusal {
    /// The plugins that rejected it.
    pub(crate) unschedulable_plugins: BTreeSet<&'static str>,
    /// Those that will wake it themselves.
    pub(crate) pending_plugins: BTreeSet<&'static str>,
    /// The text of the PodScheduled condition.
    pub(crate) message: String,
    /// What PostFilter said.
    post_filter_message: String,
    /// What PostFilter did to the nomination.
    pub(crate) nomination: Nomination,
    /// What preemption came to.
    pub(crate) preemption: Option<PreemptionReport>,
}

impl Classes {
    /// What follows for the pod that was decided last and fits nowhere. Of preemption, only who is
    /// chosen is told.
    pub(crate) fn refuse(&mut self, framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Refusal {
        self.refuse_in_detail(framework, cx, pod, Detail::Choice)
    }

    /// As [`refuse`](Self::refuse), with everything about every node.
    pub(super) fn fits_nowhere(&mut self, framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Attempt {
        let refusal = self.refuse_in_detail(framework, cx, pod, Detail::Everything);
        let diagnosis = Diagnosis {
            statuses: self.classes[self.last].class.statuses(),
            unschedulable_plugins: refusal.unschedulable_plugins,
            pending_plugins: refusal.pending_plugins,
            pre_filter_message: String::new(),
            post_filter_message: refusal.post_filter_message,
        };
        debug_assert_eq!(refusal.message, diagnosis.message(cx.cluster));
        Attempt::Unschedulable {
            diagnosis,
            nomination: refusal.nomination,
            preemption: refusal.preemption,
        }
    }

    fn refuse_in_detail(
        &mut self,
        framework: &Framework,
        cx: Cx<'_>,
        pod: &Pod,
        detail: Detail,
    ) -> Refusal {
        let class = &mut self.classes[self.last].class;
        let tried_before = class.dry_runs.is_some();
        let refusal = class.refuse(framework, cx, pod, &mut self.scratch, detail);
        if !tried_before && class.dry_runs.is_some() {
            self.forget_other_tries();
        }
        refusal
    }

    /// Drops all dry runs but those of the class that was decided last, if they take up too much.
    fn forget_other_tries(&mut self) {
        let size = |class: &Class| {
            class
                .dry_runs
                .as_ref()
                .map_or(0, |dry_runs| dry_runs.size())
        };
        let sizes = self.classes.iter().map(|entry| size(&entry.class));
        let most = self.most_bytes.unwrap_or(MOST_BYTES) / TRIES_SHARE;
        if sizes.sum::<usize>() > most {
            let others = self.classes.iter_mut().enumerate();
            for (_, entry) in others.filter(|(at, _)| *at != self.last) {
                entry.class.dry_runs = None;
            }
        }
    }
}

/// What is kept about a class, when no node is feasible.
struct Rejections<'a> {
    groups: &'a Groups,
    rows: &'a [Row],
}

impl Verdicts for Rejections<'_> {
    fn get(&self, node: usize) -> &PluginStatus {
        let group = &self.groups.list[self.rows[node].group as usize];
        &self.groups.verdict(group.verdict).rejected
    }

    fn tally(&self, see: &mut dyn FnMut(&PluginStatus, usize)) {
        for group in self.groups.list.iter() {
            if group.members > 0 && group.verdict != FITS {
                let verdict = self.groups.verdict(group.verdict);
                see(&verdict.rejected, group.members as usize);
            }
        }
    }
}

impl Class {
    fn refuse(
        &mut self,
        framework: &Framework,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
        detail: Detail,
    ) -> Refusal {
        let rejections = Rejections {
            groups: &self.groups,
            rows: &self.rows,
        };
        let mut refusal = Refusal {
            unschedulable_plugins: BTreeSet::new(),
            pending_plugins: BTreeSet::new(),
            message: String::new(),
            post_filter_message: String::new(),
            nomination: Nomination::Set(None),
            preemption: None,
        };
        if framework.has_post_filters() {
            let mut kept = ClassDryRunsFor {
                dry_runs: &mut self.dry_runs,
                example: &self.example,
                scratch,
                detail,
            };
            let mut post_filter = PostFilterCx {
                cx,
                framework,
                cycle: &self.cycle,
                statuses: &rejections,
                kept: Some(&mut kept),
            };
            let result = framework.run_post_filters(&mut post_filter, pod);
            if let Err(status) = &result.status {
                refusal.post_filter_message = status.message(cx.cluster);
            }
            refusal.nomination = result.nomination;
            refusal.preemption = result.preemption;
        }
        refusal.message = message(&rejections, &refusal.post_filter_message, cx.cluster);
        let mut diagnosis = Diagnosis::new(0);
        rejections.tally(&mut |verdict, _| diagnosis.add_plugin_status(verdict));
        refusal.unschedulable_plugins = diagnosis.unschedulable_plugins;
        refusal.pending_plugins = diagnosis.pending_plugins;
        refusal
    }

    /// Why each node was rejected.
    pub(super) fn statuses(&self) -> NodeStatuses {
        let verdicts = self.groups.verdicts().iter();
        let verdicts = verdicts.map(|verdict| verdict.rejected.clone()).collect();
        let of_row = |row: &Row| self.groups.list[row.group as usize].verdict;
        NodeStatuses::of(verdicts, self.rows.iter().map(of_row).collect())
    }
}
