//! Filter and PostFilter.

use super::dry_run::has_nominated;
use super::{DryRun, DryRunSpace, Framework};
use crate::NodeInfo;
use crate::framework::builder::code;
use crate::framework::cycle::State;
use crate::framework::{
    AnyPlugin, Code, Cx, CycleState, Fit, Nomination, PluginStatus, Point, PostFilterCx,
    PostFilterResult, Reason, Reasons, Slot, Status,
};
use crate::model::Pod;

impl Framework {
    /// The first filter that rejects the node.
    pub fn run_filters(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), PluginStatus> {
        for (i, plugin) in self.at(Point::Filter) {
            if let Err(status) = run_filter(plugin, &cycle.filter[i], cx, pod, node) {
                return Err(PluginStatus {
                    plugin: plugin.name(),
                    status,
                });
            }
        }
        Ok(())
    }

    /// The verdict of every filter on the node, without stopping at the first that rejects it.
    /// Skipped filters are left out.
    pub fn run_all_filters(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Vec<(&'static str, Fit)> {
        self.at(Point::Filter)
            .filter(|(i, _)| !cycle.filter[*i].is_skipped())
            .map(|(i, plugin)| {
                (
                    plugin.name(),
                    run_filter(plugin, &cycle.filter[i], cx, pod, node),
                )
            })
            .collect()
    }

    /// The first filter that rejects the node, with and without the pods nominated to it. See
    /// [`DryRun::fits_on`].
    pub fn run_filters_with_nominated_pods(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), PluginStatus> {
        if !has_nominated(cx, pod, node) {
            return self.run_filters(cx, cycle, pod, node);
        }
        DryRun::new(self, cx, cycle, pod, &mut DryRunSpace::default()).fits_on(node)
    }

    /// Whether anybody has something to say when a pod fits nowhere.
    pub fn has_post_filters(&self) -> bool {
        !self.enabled[Point::PostFilter as usize].is_empty()
    }

    /// Runs PostFilter until somebody succeeds, fails or says that nothing can be done.
    pub fn run_post_filters(&self, cx: &mut PostFilterCx<'_>, pod: &Pod) -> PostFilterResult {
        let cycle = cx.cycle;
        let mut nomination = Nomination::Keep;
        let mut preemption = None;
        let mut reasons: Vec<Reason> = Vec::new();
        for (i, plugin) in self.at(Point::PostFilter) {
            let result = code(&plugin.post_filter).post_filter(cx, &cycle.filter[i], pod);
            let Err(status) = &result.status else {
                return result;
            };
            match status.code {
                Code::UnschedulableAndUnresolvable => return result,
                Code::Error => {
                    return PostFilterResult {
                        nomination: Nomination::Keep,
                        ..result
                    };
                }
                Code::Unschedulable | Code::Pending => {}
            }
            if result.nomination != Nomination::Keep {
                nomination = result.nomination;
            }
            reasons.extend_from_slice(status.reasons());
            preemption = result.preemption.or(preemption);
        }
        PostFilterResult {
            status: Err(Status {
                code: Code::Unschedulable,
                reasons: Reasons::Many(reasons.into()),
            }),
            nomination,
            preemption,
        }
    }
}

pub(super) fn run_filter(
    plugin: &AnyPlugin,
    slot: &Slot<Box<dyn State>>,
    cx: Cx<'_>,
    pod: &Pod,
    node: &NodeInfo,
) -> Fit {
    let fit = match slot {
        Slot::Skipped | Slot::Resting(_) => Ok(()),
        Slot::Ready(state) => code(&plugin.filter).filter(cx, &**state, pod, node),
        Slot::Broken(status) => Err(status.clone()),
        Slot::Absent | Slot::Rejected => Err(Status::error("PreFilter did not run")),
    };
    fit.map_err(|status| blame(plugin, status, cx))
}

/// A filter's verdict; an error says whose it is.
pub(super) fn blame(plugin: &AnyPlugin, status: Status, cx: Cx<'_>) -> Status {
    match status.code {
        Code::Error => Status::error(format!(
            "running {:?} filter plugin: {}",
            plugin.name(),
            status.message(cx.cluster)
        )),
        _ => status,
    }
}
