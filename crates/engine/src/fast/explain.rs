//! Explanations, from what is kept.

use super::Classes;
use super::class::{Class, Profile, Scope, Scratch};
use super::groups::FITS;
use crate::explain::{Explanation, PreScored, Tournament, explain};
use crate::framework::{Cx, Diagnosis, Framework, InPlay};
use crate::model::Pod;
use crate::schedule::Feasibility;

impl Classes {
    /// The whole tournament of a pod, as [`explain`] plays it: verdicts as they are kept, scores
    /// from what is kept for them. There must be at least one node.
    pub fn explain(
        &mut self,
        framework: &Framework,
        cx: Cx<'_>,
        pod: &Pod,
        all_filters: bool,
    ) -> Explanation {
        let tournament = Tournament {
            framework,
            cx,
            pod,
            all_filters,
        };
        if let Some(held_back) = tournament.held_back() {
            return held_back;
        }
        let at = self.class_of(framework, cx, pod);
        let plan = self.plan.get_or_insert_with(|| framework.plan());
        let class = &mut self.classes[at].class;
        if !class.settle(Profile { framework, plan }, cx, pod, &mut self.scratch) {
            return explain(framework, cx, pod, all_filters);
        }
        let mut found = class.feasibility();
        let nominated = pod.nominated_node_name;
        found.nominated = nominated
            .and_then(|name| cx.cluster.node_position(name))
            .filter(|at| found.feasible.binary_search(at).is_ok());
        tournament.explain(found, PreScored::Kept)
    }
}

impl Class {
    /// Brings the verdicts on all nodes and the state of all scores up to date for the pod; returns
    /// whether that is all there is to its decision.
    fn settle(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> bool {
        if !matches!(self.scope, Scope::All) {
            return false;
        }
        let in_play = self.prepare_cluster_filters(profile, cx, pod);
        in_play == Some(InPlay::None) && self.bring_up_to_date(profile, cx, pod, scratch)
    }

    /// Which nodes are feasible, and why the others are not.
    fn feasibility(&self) -> Feasibility {
        let verdict = |row: &super::best::Row| self.groups.list[row.group as usize].verdict;
        let rows = self.rows.iter().enumerate();
        let feasible = rows.filter(|(_, row)| verdict(row) == FITS);
        let mut diagnosis = Diagnosis::new(0);
        diagnosis.statuses = self.statuses();
        for group in &self.groups.list {
            if group.members > 0 && group.verdict != FITS {
                diagnosis.add_plugin_status(&self.groups.verdict(group.verdict).rejected);
            }
        }
        Feasibility {
            cycle: self.cycle.clone(),
            pre_filter: None,
            narrowed_to: None,
            nominated: None,
            feasible: feasible.map(|(at, _)| at).collect(),
            diagnosis,
        }
    }
}
