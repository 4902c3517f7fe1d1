//! PreFilter.

use super::Framework;
use crate::framework::builder::code;
use crate::framework::cycle::State;
use crate::framework::{
    AnyPlugin, Code, Cx, CycleState, PluginStatus, Point, PreFilterResult, Slot, Status,
};
use crate::model::Pod;
use std::collections::BTreeSet;
use stowplan_base::Sym;

/// What PreFilter came to.
pub struct PreFilterOutcome {
    /// What the plugins left for Filter.
    pub cycle: CycleState,
    /// The plugin that rejected the pod, if one did; empty for the framework itself.
    pub rejected: Option<PluginStatus>,
    /// The only nodes that may be asked, if PreFilter narrowed them.
    pub nodes: Option<BTreeSet<Sym>>,
    /// The plugins that narrowed them.
    pub narrowed_by: BTreeSet<&'static str>,
}

impl Framework {
    /// Runs PreFilter; an error of a plugin is `Err`.
    pub fn run_pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> Result<PreFilterOutcome, PluginStatus> {
        let mut outcome = PreFilterOutcome {
            cycle: CycleState::new(self.plugins.len()),
            rejected: None,
            nodes: None,
            narrowed_by: BTreeSet::new(),
        };
        for (i, plugin) in self.at(Point::PreFilter) {
            let name = plugin.name();
            let (state, nodes) = match code(&plugin.pre_filter).pre_filter(cx, pod) {
                PreFilterResult::Skip => {
                    outcome.cycle.filter[i] = Slot::Skipped;
                    continue;
                }
                PreFilterResult::Rejected(status) => {
                    outcome.cycle.filter[i] = Slot::Rejected;
                    let code = status.code;
                    let status = PluginStatus {
                        plugin: name,
                        status,
                    };
                    match code {
                        // Preemption may help later, and it needs every plugin's state.
                        Code::Unschedulable => outcome.rejected = Some(status),
                        Code::UnschedulableAndUnresolvable => {
                            outcome.rejected = Some(status);
                            outcome.narrowed_by.clear();
                            return Ok(outcome);
                        }
                        // Only Permit may leave a pod pending.
                        Code::Error | Code::Pending => {
                            let status = Status {
                                code: Code::Error,
                                ..status.status
                            };
                            return Err(PluginStatus::at("PreFilter", name, status, cx.cluster));
                        }
                    }
                    continue;
                }
                PreFilterResult::Ready(state) => (state, None),
                PreFilterResult::Narrowed(state, nodes) => (state, Some(nodes)),
            };
            outcome.cycle.filter[i] = Slot::Ready(state);
            if let Some(nodes) = nodes {
                outcome.narrow(name, nodes);
                if outcome.nodes.as_ref().is_some_and(BTreeSet::is_empty) {
                    outcome.rejected = Some(outcome.empty_intersection());
                    return Ok(outcome);
                }
            }
        }
        self.prepare_unprepared(cx, pod, &mut outcome.cycle);
        Ok(outcome)
    }

    /// Filter plugins whose PreFilter does not run still need something to work with.
    fn prepare_unprepared(&self, cx: Cx<'_>, pod: &Pod, cycle: &mut CycleState) {
        for (i, plugin) in self.at(Point::Filter) {
            if matches!(cycle.filter[i], Slot::Absent)
                && !self.enabled[Point::PreFilter as usize].contains(&i)
            {
                cycle.filter[i] = match unprepared(plugin, cx, pod) {
                    Ok(state) => Slot::Ready(state),
                    Err(status) => Slot::Broken(status),
                };
            }
        }
    }

    /// The plugins whose PreFilter had nothing to check.
    pub fn skipped_filters(&self, cycle: &CycleState) -> Vec<&'static str> {
        self.at(Point::PreFilter)
            .filter(|(i, _)| cycle.filter[*i].is_skipped())
            .map(|(_, plugin)| plugin.name())
            .collect()
    }
}

/// What Filter works with where PreFilter does not run.
pub(super) fn unprepared(
    plugin: &AnyPlugin,
    cx: Cx<'_>,
    pod: &Pod,
) -> Result<Box<dyn State>, Status> {
    match &plugin.pre_filter {
        Some(pre_filter) => pre_filter.pre_filter_disabled(cx, pod),
        None => Ok(code(&plugin.filter).default_state()),
    }
}

impl PreFilterOutcome {
    fn narrow(&mut self, plugin: &'static str, nodes: Vec<Sym>) {
        self.narrowed_by.insert(plugin);
        let nodes: BTreeSet<Sym> = nodes.into_iter().collect();
        self.nodes = Some(match self.nodes.take() {
            Some(before) => before.intersection(&nodes).copied().collect(),
            None => nodes,
        });
    }

    fn empty_intersection(&self) -> PluginStatus {
        let plugins: Vec<_> = self.narrowed_by.iter().copied().collect();
        let text = match plugins[..] {
            [one] => format!("node(s) didn't satisfy plugin {one}"),
            _ => format!(
                "node(s) didn't satisfy plugin(s) [{}] simultaneously",
                plugins.join(" ")
            ),
        };
        PluginStatus {
            plugin: "",
            status: Status::made(Code::UnschedulableAndUnresolvable, text),
        }
    }
}
