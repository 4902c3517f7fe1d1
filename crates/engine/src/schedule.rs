//! One scheduling attempt, from PreFilter to the best set of nodes. Upstream's `schedulePod`.

use crate::NodeInfo;
use crate::framework::PreemptionReport;
use crate::framework::{
    Code, Cx, CycleState, Diagnosis, Framework, Nomination, PluginStatus, PostFilterCx,
    PostFilterResult, ScoreTable, Status,
};
use crate::model::Pod;
use std::collections::BTreeSet;
use stowplan_base::Sym;

/// The nodes that passed the filters, and why the others did not.
pub struct Feasibility {
    /// What the plugins remember of the pod.
    pub cycle: CycleState,
    /// The plugin that rejected the pod in PreFilter, if one did.
    pub pre_filter: Option<PluginStatus>,
    /// The only nodes that were asked, if PreFilter narrowed them; by name, existing or not.
    pub narrowed_to: Option<Vec<Sym>>,
    /// The node that the pod is nominated to, if it (still) has room for it.
    pub nominated: Option<usize>,
    /// Positions of the nodes that passed, ascending.
    pub feasible: Vec<usize>,
    /// Why the others did not.
    pub diagnosis: Diagnosis,
}

/// What an attempt came to.
#[allow(clippy::large_enum_variant)] // Made once per attempt and taken apart at once.
pub enum Attempt {
    /// The pod can be placed.
    Placed(Placement),
    /// It fits nowhere now.
    Unschedulable {
        /// Why, node by node.
        diagnosis: Diagnosis,
        /// What PostFilter did to the nomination.
        nomination: Nomination,
        /// What preemption tried.
        preemption: Option<PreemptionReport>,
    },
    /// Something broke.
    Error(PluginStatus),
}

/// Where a pod can be placed best.
pub struct Placement {
    /// What the plugins remember of the pod, for Reserve and PreBind.
    pub cycle: CycleState,
    /// Positions of all nodes with the greatest total, ascending. Any of them is right.
    pub best: Vec<usize>,
}

/// How many nodes are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// As many as the decision needs: none but the nominated one, if that has room.
    Decision,
    /// All of them.
    Everything,
}

/// Runs PreFilter and Filter.
///
/// `Err` is an internal error of a plugin.
pub fn find_feasible(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    coverage: Coverage,
) -> Result<Feasibility, PluginStatus> {
    let outcome = framework.run_pre_filter(cx, pod)?;
    let mut found = Feasibility {
        cycle: outcome.cycle,
        pre_filter: outcome.rejected,
        narrowed_to: outcome
            .nodes
            .as_ref()
            .map(|names| names.iter().copied().collect()),
        nominated: None,
        feasible: Vec::new(),
        diagnosis: Diagnosis::new(cx.cluster.nodes().len()),
    };
    found.diagnosis.unschedulable_plugins = outcome.narrowed_by;
    if let Some(rejected) = &found.pre_filter {
        found.diagnosis.pre_filter_message = rejected.status.message(cx.cluster);
        found.diagnosis.statuses.set_absent(rejected.clone());
        found.diagnosis.add_plugin_status(rejected);
        return Ok(found);
    }
    ask_nominated_node(framework, cx, pod, &mut found);
    if let (Coverage::Decision, Some(at)) = (coverage, found.nominated) {
        found.feasible.push(at);
        return Ok(found);
    }
    if outcome.nodes.is_some() {
        found
            .diagnosis
            .statuses
            .set_absent(outside(&found.diagnosis.unschedulable_plugins));
    }
    let asked = |node: &NodeInfo| {
        outcome
            .nodes
            .as_ref()
            .is_none_or(|names| names.contains(&node.node.name))
    };
    for (at, node) in cx
        .cluster
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| asked(node))
    {
        match framework.run_filters_with_nominated_pods(cx, &found.cycle, pod, node) {
            Ok(()) => found.feasible.push(at),
            Err(error) if error.status.code == Code::Error => return Err(error),
            Err(rejected) => {
                found.diagnosis.add_plugin_status(&rejected);
                found.diagnosis.statuses.set(at, rejected);
            }
        }
    }
    Ok(found)
}

/// The node that the pod is nominated to is asked first, even where PreFilter narrowed the nodes to
/// others; whoever rejects it counts among those who narrowed them. An error there is no verdict.
fn ask_nominated_node(framework: &Framework, cx: Cx<'_>, pod: &Pod, found: &mut Feasibility) {
    let Some(at) = pod
        .nominated_node_name
        .and_then(|name| cx.cluster.node_position(name))
    else {
        return;
    };
    let node = &cx.cluster.nodes()[at];
    match framework.run_filters_with_nominated_pods(cx, &found.cycle, pod, node) {
        Ok(()) => found.nominated = Some(at),
        Err(error) if error.status.code == Code::Error => {}
        Err(rejected) => {
            found.diagnosis.add_plugin_status(&rejected);
            found.diagnosis.statuses.set(at, rejected);
        }
    }
}

/// The verdict on nodes that PreFilter ruled out.
fn outside(plugins: &BTreeSet<&'static str>) -> PluginStatus {
    let plugins: Vec<_> = plugins.iter().copied().collect();
    PluginStatus {
        plugin: "",
        status: Status::made(
            Code::UnschedulableAndUnresolvable,
            format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" ")),
        ),
    }
}

/// Scores the nodes at these positions.
pub fn score(
    framework: &Framework,
    cx: Cx<'_>,
    cycle: &mut CycleState,
    pod: &Pod,
    feasible: &[usize],
) -> Result<ScoreTable, PluginStatus> {
    let nodes: Vec<&NodeInfo> = feasible.iter().map(|&at| &cx.cluster.nodes()[at]).collect();
    framework.run_pre_score(cx, cycle, pod, &nodes)?;
    framework.run_scores(cx, cycle, pod, &nodes)
}

/// Positions in `feasible` with the greatest total.
pub fn best_of(feasible: &[usize], table: &ScoreTable) -> Vec<usize> {
    let greatest = table.totals.iter().max();
    feasible
        .iter()
        .zip(&table.totals)
        .filter(|(_, total)| Some(*total) == greatest)
        .map(|(at, _)| *at)
        .collect()
}

/// One whole attempt. There must be at least one node.
pub fn schedule_pod(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Attempt {
    let mut found = match find_feasible(framework, cx, pod, Coverage::Decision) {
        Ok(found) => found,
        Err(error) => return Attempt::Error(error),
    };
    match found.feasible[..] {
        [] => fits_nowhere(framework, cx, found, pod),
        [only] => Attempt::Placed(Placement {
            cycle: found.cycle,
            best: vec![only],
        }),
        _ => match score(framework, cx, &mut found.cycle, pod, &found.feasible) {
            Ok(table) => Attempt::Placed(Placement {
                cycle: found.cycle,
                best: best_of(&found.feasible, &table),
            }),
            Err(error) => Attempt::Error(error),
        },
    }
}

fn fits_nowhere(framework: &Framework, cx: Cx<'_>, mut found: Feasibility, pod: &Pod) -> Attempt {
    let result = run_post_filters(framework, cx, &mut found, pod);
    let (nomination, preemption) = match result {
        Some(result) => (result.nomination, result.preemption),
        None => (Nomination::Set(None), None),
    };
    Attempt::Unschedulable {
        diagnosis: found.diagnosis,
        nomination,
        preemption,
    }
}

/// Runs PostFilter, if the profile has any, and keeps its message in the diagnosis.
pub(crate) fn run_post_filters(
    framework: &Framework,
    cx: Cx<'_>,
    found: &mut Feasibility,
    pod: &Pod,
) -> Option<PostFilterResult> {
    if !framework.has_post_filters() {
        return None;
    }
    let diagnosis = &mut found.diagnosis;
    let mut post_filter = PostFilterCx {
        cx,
        framework,
        cycle: &found.cycle,
        statuses: &diagnosis.statuses,
        kept: None,
    };
    let result = framework.run_post_filters(&mut post_filter, pod);
    if let Err(status) = &result.status {
        diagnosis.post_filter_message = status.message(cx.cluster);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NodeSelector, NodeSelectorTerm, Requirement};
    use crate::plugins::registry::default_framework;
    use crate::testing::World;
    use stowplan_base::sym;

    /// Nodes `a` and `b` with room for one cpu, and a pod that is nominated to `a`.
    fn nominated_to_a() -> (World, Pod) {
        let mut world = World::default();
        for name in ["a", "b"] {
            let mut node = world.node(name, &[]);
            world.set_allocatable(&mut node, &[("cpu", "1")]);
            world.add_node(node);
        }
        let mut pod = world.pod("default/new", &[]);
        pod.nominated_node_name = Some(world.sym("a"));
        (world, pod)
    }

    #[test]
    fn semantic_29_a_nominated_node_that_passes_is_taken() {
        let (mut world, pod) = nominated_to_a();
        let mut busy = world.pod("default/busy", &[]);
        world.set_requests(&mut busy, &[("cpu", "900m")]);
        world.add_pod(busy, "a");
        let Attempt::Placed(placement) = schedule_pod(&default_framework(), world.cx(), &pod)
        else {
            panic!("the pod fits");
        };
        assert_eq!(placement.best, [0], "though b is emptier");
    }

    #[test]
    fn a_nominated_node_is_asked_even_outside_the_nodes_that_pre_filter_left() {
        let (mut world, mut pod) = nominated_to_a();
        let only_b = NodeSelectorTerm {
            fields: [Requirement::equals(sym::METADATA_NAME, world.sym("b"))].into(),
            ..NodeSelectorTerm::default()
        };
        pod.node_affinity.required = Some(NodeSelector {
            terms: [only_b].into(),
        });
        world.set_requests(&mut pod, &[("cpu", "2")]);
        let found = find_feasible(&default_framework(), world.cx(), &pod, Coverage::Everything)
            .unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(found.nominated, None);
        assert_eq!(
            found.diagnosis.message(&world.snapshot),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node \
             affinity/selector."
        );
    }
}
