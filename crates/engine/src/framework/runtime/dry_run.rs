//! Dry runs: what would the filters say if pods came to a node, or left it?

use super::Framework;
use crate::NodeInfo;
use crate::framework::{Cx, CycleState, PluginStatus, Point, Scope, Slot};
use crate::model::Pod;
use std::sync::Arc;

/// A hypothetical change of one node's pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DryRunOp {
    /// As if the pod were there. Upstream's `AddPod`.
    Add,
    /// As if it were gone. Upstream's `RemovePod`.
    Remove,
}

/// Space for dry runs: who keeps it makes them without taking memory.
#[derive(Clone, Debug, Default)]
pub struct DryRunSpace {
    node: Option<NodeInfo>,
    with_nominated: Option<NodeInfo>,
}

/// Dry runs for one pod, on one node after the other.
///
/// The node is copied. What the plugins remember of the pod is copied with the first dry run, and only
/// if one of them has to follow dry runs; it is rolled back before the next node, dry run by dry run.
pub struct DryRun<'a> {
    framework: &'a Framework,
    cx: Cx<'a>,
    pod: &'a Pod,
    cycle: &'a CycleState,
    /// `cycle` as the dry runs made it.
    copy: Option<CycleState>,
    /// Some plugin has to follow dry runs.
    follows: bool,
    /// The dry runs that `copy` shows.
    made: Vec<(Arc<Pod>, DryRunOp)>,
    space: &'a mut DryRunSpace,
}

impl<'a> DryRun<'a> {
    /// No dry run was made yet. `cycle` is what PreFilter left for `pod`.
    pub fn new(
        framework: &'a Framework,
        cx: Cx<'a>,
        cycle: &'a CycleState,
        pod: &'a Pod,
        space: &'a mut DryRunSpace,
    ) -> Self {
        Self {
            framework,
            cx,
            pod,
            cycle,
            copy: None,
            follows: framework.follows_dry_run(cycle),
            made: Vec::new(),
            space,
        }
    }

    /// From now on dry runs are made on `node`, beginning with what is there.
    pub fn enter(&mut self, node: &NodeInfo) {
        if let (Some(copy), Some(left)) = (&mut self.copy, &self.space.node) {
            for (other, op) in self.made.drain(..).rev() {
                let undo = opposite(op);
                self.framework
                    .tell_dry_run(self.cx, copy, self.pod, &other, left, undo);
            }
        }
        fill(&mut self.space.node, node);
    }

    /// Adds `other` to the node, or takes it away.
    pub fn try_pod(&mut self, other: &Arc<Pod>, op: DryRunOp) {
        let Some(node) = &mut self.space.node else {
            return;
        };
        match op {
            DryRunOp::Add => node.add_pod(other.clone()),
            DryRunOp::Remove => node.remove_this_pod(other),
        }
        if self.follows {
            let copy = self.copy.get_or_insert_with(|| self.cycle.for_dry_run());
            self.framework
                .tell_dry_run(self.cx, copy, self.pod, other, node, op);
            self.made.push((other.clone(), op));
        }
    }

    /// The first filter that rejects the node as the dry runs made it, with and without the pods
    /// nominated to it.
    pub fn fits(&mut self) -> Result<(), PluginStatus> {
        let Some(node) = self.space.node.take() else {
            return Ok(());
        };
        let fits = self.fits_on(&node);
        self.space.node = Some(node);
        fits
    }

    /// The first filter that rejects `node`, with and without the pods nominated to it.
    ///
    /// Nominated pods of equal or higher priority count as present in a first pass; if all filters
    /// pass, they must also pass without them, for affinity may lean on a pod that never comes.
    pub fn fits_on(&mut self, node: &NodeInfo) -> Result<(), PluginStatus> {
        let Self {
            framework, cx, pod, ..
        } = *self;
        if has_nominated(cx, pod, node) {
            self.fits_with_nominated(node)?;
        }
        let cycle = self.copy.as_ref().unwrap_or(self.cycle);
        framework.run_filters(cx, cycle, pod, node)
    }

    fn fits_with_nominated(&mut self, node: &NodeInfo) -> Result<(), PluginStatus> {
        let Self {
            framework, cx, pod, ..
        } = *self;
        // Not by taking them away again: two pods that hold one host port free it when one goes.
        let with = fill(&mut self.space.with_nominated, node);
        for other in nominated(cx, pod, node) {
            with.add_pod(other.clone());
            if self.follows {
                let copy = self.copy.get_or_insert_with(|| self.cycle.for_dry_run());
                framework.tell_dry_run(cx, copy, pod, other, with, DryRunOp::Add);
            }
        }
        let cycle = self.copy.as_ref().unwrap_or(self.cycle);
        let fits = framework.run_filters(cx, cycle, pod, with);
        if let Some(copy) = &mut self.copy {
            for other in nominated(cx, pod, node) {
                framework.tell_dry_run(cx, copy, pod, other, node, DryRunOp::Remove);
            }
        }
        fits
    }
}

fn fill<'a>(space: &'a mut Option<NodeInfo>, node: &NodeInfo) -> &'a mut NodeInfo {
    match space {
        Some(space) => {
            space.clone_from(node);
            space
        }
        None => space.insert(node.clone()),
    }
}

fn opposite(op: DryRunOp) -> DryRunOp {
    match op {
        DryRunOp::Add => DryRunOp::Remove,
        DryRunOp::Remove => DryRunOp::Add,
    }
}

/// The pods nominated to the node that `pod` has to reckon with.
fn nominated<'a>(
    cx: Cx<'a>,
    pod: &'a Pod,
    node: &NodeInfo,
) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a> {
    let counts = |other: &&Arc<Pod>| other.priority >= pod.priority && other.uid != pod.uid;
    let pods = cx.underway.nominator.pods_on(node.node.name).iter();
    pods.filter(counts)
}

/// Whether pods are nominated to the node that `pod` has to reckon with.
pub(crate) fn has_nominated(cx: Cx<'_>, pod: &Pod, node: &NodeInfo) -> bool {
    !cx.underway.nominator.is_empty() && nominated(cx, pod, node).next().is_some()
}

impl Framework {
    /// Whether some plugin has to be told of dry runs: those that look at no more than the node see
    /// them there.
    pub(crate) fn follows_dry_run(&self, cycle: &CycleState) -> bool {
        self.at(Point::PreFilter).any(|(i, plugin)| {
            plugin.pre_filter_extensions.is_some() && matches!(cycle.filter[i], Slot::Ready(_))
        })
    }

    /// Whether a filter in play may tell pods apart that look alike, or see what no change of their
    /// nodes tells: such must be asked for each pod anew. Those that have a PreFilter
    /// [follow dry runs](Self::follows_dry_run) as well.
    pub(crate) fn asks_for_each_pod(&self, cycle: &CycleState) -> bool {
        self.at(Point::Filter).any(|(i, plugin)| {
            matches!(plugin.filter_scope(), Scope::Domains | Scope::Cluster)
                && matches!(cycle.filter[i], Slot::Ready(_))
        })
    }

    fn tell_dry_run(
        &self,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
        op: DryRunOp,
    ) {
        for (i, plugin) in self.at(Point::PreFilter) {
            if let (Some(extensions), Slot::Ready(state)) =
                (&plugin.pre_filter_extensions, &mut cycle.filter[i])
            {
                match op {
                    DryRunOp::Add => extensions.add_pod(cx, &mut **state, pod, other, node),
                    DryRunOp::Remove => extensions.remove_pod(cx, &mut **state, pod, other, node),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::PluginArgs;
    use crate::framework::{Plugins, expand};
    use crate::model::{AffinityTerm, HostPort, PodAffinity, Protocol, Selector};
    use crate::plugins::registry::{default_framework, in_tree};
    use crate::testing::World;

    /// Nodes `a` and `b` in one zone, with `web` on `a`.
    fn one_zone() -> World {
        let mut world = World::default();
        for name in ["a", "b"] {
            let mut node = world.node(name, &[("zone", "z")]);
            world.set_allocatable(&mut node, &[]);
            world.add_node(node);
        }
        let mut web = world.pod("ns/web", &[("app", "web")]);
        web.host_ports = [PORT].into();
        world.add_pod(web, "a");
        world
    }

    const PORT: HostPort = HostPort {
        ip: None,
        protocol: Protocol::Tcp,
        port: 80,
    };

    fn check(world: &World, pod: &Pod, ask: impl FnOnce(&mut DryRun<'_>, &[NodeInfo])) {
        let framework = default_framework();
        let Ok(outcome) = framework.run_pre_filter(world.cx(), pod) else {
            panic!("no plugin breaks");
        };
        let mut space = DryRunSpace::default();
        let mut dry_run = DryRun::new(&framework, world.cx(), &outcome.cycle, pod, &mut space);
        ask(&mut dry_run, world.snapshot.nodes());
    }

    #[test]
    fn a_filter_that_was_not_prepared_is_asked_for_each_pod() {
        let mut world = one_zone();
        let pod = world.pod("ns/p", &[]);
        let mut plugins = Plugins::default_plugins();
        let not_prepared = plugins.at_mut(Point::PreFilter);
        not_prepared.disabled.push("VolumeZone".to_owned());
        let args = PluginArgs::default();
        let framework = expand("p", &plugins, &args, &in_tree()).unwrap();
        for (framework, expected) in [(framework, true), (default_framework(), false)] {
            let Ok(outcome) = framework.run_pre_filter(world.cx(), &pod) else {
                panic!("no plugin breaks");
            };
            assert_eq!(framework.asks_for_each_pod(&outcome.cycle), expected);
        }
    }

    #[test]
    fn a_dry_run_on_one_node_is_rolled_back_before_the_next() {
        let mut world = one_zone();
        let mut pod = world.pod("ns/shy", &[]);
        let term = AffinityTerm {
            namespaces: [pod.namespace].into(),
            namespace_selector: Selector::Nothing,
            selector: world.selector(&[("app", "web")]),
            topology_key: world.sym("zone"),
        };
        pod.pod_anti_affinity = Some(PodAffinity {
            required: [term].into(),
            preferred: Box::default(),
        });
        check(&world, &pod, |dry_run, nodes| {
            let web = &nodes[0].pods[0];
            dry_run.enter(&nodes[0]);
            assert!(dry_run.fits().is_err());
            dry_run.try_pod(web, DryRunOp::Remove);
            assert!(dry_run.fits().is_ok());
            dry_run.try_pod(web, DryRunOp::Add);
            assert!(dry_run.fits().is_err());
            dry_run.try_pod(web, DryRunOp::Remove);
            dry_run.enter(&nodes[1]);
            assert!(dry_run.fits().is_err(), "its zone is not empty");
            assert!(dry_run.fits_on(&nodes[0]).is_err());
        });
    }

    #[test]
    fn nominated_pods_come_and_go_without_a_trace() {
        let mut world = one_zone();
        let mut promised = world.pod("ns/promised", &[]);
        promised.host_ports = [PORT].into();
        let (a, b) = (world.sym("a"), world.sym("b"));
        world.underway.nominator.add(Arc::new(promised.clone()), a);
        promised.uid = "another".into();
        world.underway.nominator.add(Arc::new(promised), b);
        let mut pod = world.pod("ns/p", &[]);
        pod.host_ports = [PORT].into();
        check(&world, &pod, |dry_run, nodes| {
            dry_run.enter(&nodes[0]);
            assert!(dry_run.fits().is_err());
            assert!(dry_run.fits().is_err(), "`web` still holds the port");
            dry_run.enter(&nodes[1]);
            assert!(dry_run.fits().is_err());
        });
        pod.priority = 1;
        check(&world, &pod, |dry_run, nodes| {
            assert!(dry_run.fits_on(&nodes[0]).is_err());
            assert!(dry_run.fits_on(&nodes[1]).is_ok(), "they do not count");
        });
    }
}
