//! Preemption's dry runs for a class, kept up to date like its rows.

use super::class::Scratch;
use crate::framework::Cx;
use crate::framework::{
    Detail, DryRuns, KeptDryRuns, PreemptionReport, Preemptor, has_no_victims,
    report_without_victims,
};
use crate::model::{Kind, Pod};
use crate::{Delta, Snapshot};
use stowplan_base::Sym;

/// What dry runs for the pods of a class came to.
///
/// A dry run on one node depends on that node, the pods on it and those nominated to it, and on
/// budgets: nodes where one of these changed are tried again. It is kept only while every filter
/// looks at no more than the node.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassDryRuns {
    runs: DryRuns,
    /// The first change of the cluster that is not taken in; `None` if nothing is kept.
    seen: Option<u64>,
    /// The first change of nominations that is not taken in.
    seen_nominations: u64,
    /// The position of a node that was last tried for one pod alone.
    overlooked: Option<usize>,
}

impl ClassDryRuns {
    /// About how many bytes they take up.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.runs.size()
    }

    /// Tries all nodes.
    fn renew(&mut self, preemptor: Preemptor<'_>, scratch: &mut Scratch) {
        let nodes = preemptor.cx.cluster.nodes().len();
        self.runs.clear();
        for _ in 0..nodes {
            self.runs.push();
        }
        self.overlooked = None;
        self.runs
            .run(preemptor, &mut scratch.node_scratch.space, 0..nodes);
    }

    /// Tries the nodes again where something changed.
    fn catch_up(&mut self, preemptor: Preemptor<'_>, scratch: &mut Scratch) {
        let cx = preemptor.cx;
        match self.changed(cx, preemptor.pod) {
            Some(nodes) => {
                self.runs.run(
                    preemptor,
                    &mut scratch.node_scratch.space,
                    nodes.into_iter(),
                );
            }
            None => self.renew(preemptor, scratch),
        }
        self.seen = Some(cx.cluster.log().end());
        self.seen_nominations = cx.underway.nominator.changes_end();
    }

    /// The positions of the nodes where something changed, each once; `None` if too much did.
    fn changed(&mut self, cx: Cx<'_>, pod: &Pod) -> Option<Vec<usize>> {
        let (a, b) = cx.cluster.log().since(self.seen?)?;
        let nominations = cx.underway.nominator.changes_since(self.seen_nominations)?;
        let mut nodes: Vec<usize> = self.overlooked.take().into_iter().collect();
        let mut namespaces: Vec<Sym> = Vec::new();
        for delta in a.iter().chain(b) {
            match delta {
                Delta::Pod { at, .. } | Delta::NodeUpdated { at, .. } => nodes.push(*at as usize),
                Delta::NodeAdded { .. } => {
                    nodes.push(self.runs.len());
                    self.runs.push();
                }
                Delta::NodeRemoved { at, .. } => {
                    self.runs.swap_remove(*at as usize);
                    nodes.push(*at as usize);
                }
                Delta::Object {
                    kind, namespace, ..
                } => {
                    if *kind == Kind::PodDisruptionBudget && !namespaces.contains(namespace) {
                        namespaces.push(*namespace);
                    }
                }
            }
        }
        let nominated = nominations.filter_map(|node| cx.cluster.node_position(*node));
        nodes.extend(nominated);
        if !namespaces.is_empty() {
            nodes.extend(protected(cx.cluster, pod, &namespaces));
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|at| *at < self.runs.len());
        Some(nodes)
    }

    /// Tries the node that the pod is nominated to for this pod alone: its own nomination must not
    /// stand in its way.
    fn look_past_own_nomination(&mut self, preemptor: Preemptor<'_>, scratch: &mut Scratch) {
        let cx = preemptor.cx;
        let own = cx.underway.nominator.node_of(&preemptor.pod.uid);
        if let Some(at) = own.and_then(|name| cx.cluster.node_position(name)) {
            let nodes = std::iter::once(at);
            self.runs
                .run(preemptor, &mut scratch.node_scratch.space, nodes);
            self.overlooked = Some(at);
        }
    }
}

/// The nodes with possible victims that a budget in one of these namespaces may protect.
fn protected(cluster: &Snapshot, pod: &Pod, namespaces: &[Sym]) -> impl Iterator<Item = usize> {
    let is_concerned =
        |other: &Pod| other.priority < pod.priority && namespaces.contains(&other.namespace);
    let nodes = cluster.nodes().iter().enumerate();
    nodes
        .filter(move |(_, node)| node.pods.iter().any(|other| is_concerned(other)))
        .map(|(at, _)| at)
}

/// The dry runs of a class, for one pod of it.
pub(super) struct ClassDryRunsFor<'a> {
    pub(super) dry_runs: &'a mut Option<Box<ClassDryRuns>>,
    /// The example of the class.
    pub(super) example: &'a Pod,
    pub(super) scratch: &'a mut Scratch,
    pub(super) detail: Detail,
}

impl KeptDryRuns for ClassDryRunsFor<'_> {
    fn report(&mut self, preemptor: Preemptor<'_>) -> PreemptionReport {
        if has_no_victims(preemptor.cx, preemptor.pod) {
            return report_without_victims(preemptor, self.detail);
        }
        let dry_runs = self.dry_runs.get_or_insert_default();
        let Preemptor {
            framework, cycle, ..
        } = preemptor;
        if framework.follows_dry_run(cycle) || framework.asks_for_each_pod(cycle) {
            dry_runs.seen = None;
            dry_runs.renew(preemptor, self.scratch);
        } else {
            let of_all = Preemptor {
                pod: self.example,
                ..preemptor
            };
            dry_runs.catch_up(of_all, self.scratch);
            dry_runs.look_past_own_nomination(preemptor, self.scratch);
        }
        let space = &mut self.scratch.node_scratch.space;
        dry_runs.runs.report(preemptor, space, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use crate::fast::Classes;
    use crate::framework::PluginArgs;
    use crate::framework::{Nomination, Plugins, Point, expand};
    use crate::plugins::registry::{default_framework, in_tree};
    use crate::schedule::Attempt;
    use crate::testing::World;
    use stowplan_base::sym;

    /// A full node in this zone, and a claim `data-ZONE` to a volume there.
    fn add_zone(world: &mut World, zone: &str) {
        let name = format!("n-{zone}");
        let mut node = world.node(&name, &[("topology.kubernetes.io/zone", zone)]);
        world.set_allocatable(&mut node, &[("cpu", "1"), ("pods", "10")]);
        world.add_node(node);
        let mut victim = world.pod(&format!("ns/victim-{zone}"), &[]);
        world.set_requests(&mut victim, &[("cpu", "1")]);
        world.add_pod(victim, &name);
        let pv = format!("pv-{zone}");
        let mut volume = world.volume(&pv, "");
        volume.topology = [(sym::ZONE, [world.sym(zone)].into())].into();
        world.add_volume(volume);
        let claim = world.bound_claim(&format!("ns/data-{zone}"), &pv);
        world.add_claim(claim);
    }

    /// Of all rules about volumes only VolumeZone is asked, without its PreFilter: nobody has to
    /// follow dry runs, but pods with other volumes are other pods.
    #[test]
    fn pods_of_a_class_have_their_own_dry_runs_if_a_filter_tells_them_apart() {
        let mut world = World::default();
        let mut plugins = Plugins::default_plugins();
        for name in ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding"] {
            for point in [Point::PreFilter, Point::Filter] {
                plugins.at_mut(point).disabled.push(name.to_owned());
            }
        }
        let prepared = &mut plugins.at_mut(Point::PreFilter).disabled;
        prepared.push("VolumeZone".to_owned());
        let args = PluginArgs::default();
        let framework = expand("p", &plugins, &args, &in_tree()).unwrap();
        let mut classes = Classes::default();
        for zone in ["a", "b"] {
            add_zone(&mut world, zone);
        }
        for zone in ["a", "b", "a"] {
            let claim = format!("data-{zone}");
            let mut pod = world.pod_with_claims(&format!("ns/{zone}"), &[&claim]);
            world.set_requests(&mut pod, &[("cpu", "1")]);
            pod.priority = 10;
            let attempt = classes.schedule_pod(&framework, world.cx(), &pod);
            let Attempt::Unschedulable { nomination, .. } = attempt else {
                panic!("every node is full");
            };
            let node = world.sym(&format!("n-{zone}"));
            assert_eq!(nomination, Nomination::Set(Some(node)), "zone {zone}");
        }
        assert_eq!(classes.len(), 1, "the pods are alike but for their claims");
    }
    /// Volumes that every node can reach tell no pods apart: what dry runs came to stays.
    #[test]
    fn dry_runs_for_pods_with_volumes_within_reach_of_all_nodes_are_kept() {
        let mut world = World::default();
        let framework = default_framework();
        let mut classes = Classes::default();
        add_zone(&mut world, "a");
        for name in ["first", "second"] {
            let pv = world.volume(&format!("pv-{name}"), "");
            world.add_volume(pv);
            let claim = world.bound_claim(&format!("ns/{name}"), &format!("pv-{name}"));
            world.add_claim(claim);
            let mut pod = world.pod_with_claims(&format!("ns/{name}"), &[name]);
            world.set_requests(&mut pod, &[("cpu", "1")]);
            pod.priority = 10;
            let attempt = classes.schedule_pod(&framework, world.cx(), &pod);
            let Attempt::Unschedulable { nomination, .. } = attempt else {
                panic!("the node is full");
            };
            let node = world.sym("n-a");
            assert_eq!(nomination, Nomination::Set(Some(node)));
            let dry_runs = classes.classes[0].class.dry_runs.as_ref();
            assert!(
                dry_runs.is_some_and(|dry_runs| dry_runs.seen.is_some()),
                "{name}"
            );
        }
        assert_eq!(classes.len(), 1);
    }
}
