//! One attempt, from what is kept.

use super::Classes;
use super::class::{Class, Profile, Scope, Scratch};
use super::top_nodes::TopNodes;
use crate::cast::narrow;
use crate::framework::{Code, Cx, CycleState, DryRun, Framework, InPlay, Plan};
use crate::model::Pod;
use crate::schedule::{self, Attempt, Placement};

/// What an attempt came to.
pub enum Decision<'a> {
    /// The pod has its place: any of these.
    Placed(Ties<'a>),
    /// It fits nowhere.
    Nowhere,
    /// What is kept does not decide this pod: take the plain path.
    Plain,
}

/// The best nodes for a pod. Any of them is right.
pub struct Ties<'a> {
    class: &'a Class,
    plan: &'a Plan,
    found: Found<'a>,
}

enum Found<'a> {
    /// Those with this total, and how many they are.
    Best(i32, usize),
    /// These, by position.
    These(&'a [u32]),
    /// Only this one.
    Only(usize),
}

impl Ties<'_> {
    /// How many there are, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self.found {
            Found::Best(_, count) => count,
            Found::These(positions) => positions.len(),
            Found::Only(_) => 1,
        }
    }

    /// The position of the nth.
    pub fn nth(&self, n: usize) -> Option<usize> {
        match self.found {
            Found::Best(best, _) => {
                let Class {
                    rows, groups, tree, ..
                } = self.class;
                tree.nth(rows, &groups.bonus, best, n)
            }
            Found::These(positions) => positions.get(n).map(|at| *at as usize),
            Found::Only(at) => (n == 0).then_some(at),
        }
    }

    /// What the plugins remember of the pod, for Reserve and PreBind.
    pub fn cycle(&self) -> &CycleState {
        &self.class.cycle
    }

    /// Whether nodes were compared by their scores.
    pub(crate) fn is_scored(&self) -> bool {
        !matches!(self.found, Found::Only(_))
    }

    /// Notes the best nodes and their scores.
    pub(crate) fn top_nodes(&self, framework: &Framework, cx: Cx<'_>, into: &mut TopNodes) {
        match self.found {
            Found::Best(_, tied) => into.take_class(self.class, self.plan, framework, cx, tied),
            Found::These(positions) => {
                into.take_best(cx, positions.iter().map(|at| *at as usize));
            }
            Found::Only(at) => into.take_best(cx, [at].into_iter()),
        }
    }

    /// The positions of all, ascending.
    fn positions(&self) -> Vec<usize> {
        match self.found {
            Found::Best(best, _) => {
                let Class { rows, groups, .. } = self.class;
                let tied = rows.iter().enumerate();
                let tied = tied.filter(|(_, row)| row.total(&groups.bonus) == best);
                tied.map(|(at, _)| at).collect()
            }
            Found::These(positions) => positions.iter().map(|at| *at as usize).collect(),
            Found::Only(at) => vec![at],
        }
    }
}

impl Classes {
    /// Decides where a pod goes. There must be at least one node.
    pub fn decide(&mut self, framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Decision<'_> {
        let at = self.class_of(framework, cx, pod);
        let plan = self.plan.get_or_insert_with(|| framework.plan());
        let class = &mut self.classes[at].class;
        let profile = Profile { framework, plan };
        let found = class.decide(profile, cx, pod, &mut self.scratch);
        let found = match found {
            Outcome::Best(best, count) => Found::Best(best, count),
            Outcome::Some => Found::These(&self.scratch.feasible),
            Outcome::Only(at) => Found::Only(at),
            Outcome::Nowhere => {
                self.last = at;
                return Decision::Nowhere;
            }
            Outcome::Plain => {
                self.stats.plain += 1;
                return Decision::Plain;
            }
        };
        Decision::Placed(Ties {
            class: &self.classes[at].class,
            plan,
            found,
        })
    }

    /// One whole attempt, as [`schedule::schedule_pod`] makes it. There must be at least one node.
    pub fn schedule_pod(&mut self, framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Attempt {
        match self.decide(framework, cx, pod) {
            Decision::Placed(ties) => Attempt::Placed(Placement {
                best: ties.positions(),
                cycle: ties.cycle().clone(),
            }),
            Decision::Nowhere => self.fits_nowhere(framework, cx, pod),
            Decision::Plain => schedule::schedule_pod(framework, cx, pod),
        }
    }
}

/// What a class makes of a pod.
pub(super) enum Outcome {
    Best(i32, usize),
    /// Those among the scratch's feasible nodes.
    Some,
    Only(usize),
    Nowhere,
    Plain,
}

impl Class {
    fn decide(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Outcome {
        let framework = profile.framework;
        if matches!(self.scope, Scope::Plain) {
            return Outcome::Plain;
        }
        let Some(in_play) = self.prepare_cluster_filters(profile, cx, pod) else {
            return Outcome::Plain;
        };
        if let Some(at) = pod
            .nominated_node_name
            .and_then(|name| cx.cluster.node_position(name))
        {
            let node = &cx.cluster.nodes()[at];
            let mut dry_run = DryRun::new(
                framework,
                cx,
                &self.cycle,
                pod,
                &mut scratch.node_scratch.space,
            );
            if dry_run.fits_on(node).is_ok() {
                return Outcome::Only(at);
            }
        }
        match &self.scope {
            Scope::Plain => Outcome::Plain,
            Scope::Few(_) => self.decide_among_few(framework, cx, pod, scratch),
            Scope::All if in_play == InPlay::Some => {
                self.decide_with_claims(profile, cx, pod, scratch)
            }
            Scope::All => self.decide_among_all(profile, cx, pod, scratch),
        }
    }

    /// Asks the rules that look at anything about the pod itself; `None` if it has to take the plain
    /// path.
    pub(super) fn prepare_cluster_filters(
        &mut self,
        Profile { framework, plan }: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<InPlay> {
        let found = framework.prepare_cluster_filters(plan, cx, &mut self.cycle, pod);
        self.asked_cluster = found != Some(InPlay::None);
        found
    }

    /// Looks at the node that the pod is nominated to for this pod alone: its own nomination must
    /// not stand in its way.
    fn look_past_own_nomination(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) {
        let own = cx.underway.nominator.node_of(&pod.uid);
        if let Some(at) = own.and_then(|name| cx.cluster.node_position(name)) {
            self.look(profile, cx, at, Some(pod), &mut scratch.node_scratch);
            self.overlooked = Some(narrow(at));
        }
    }

    /// Brings all verdicts and scores up to date for the pod; returns whether they can be relied
    /// on: errors are for the plain path to tell.
    pub(super) fn bring_up_to_date(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> bool {
        self.look_past_own_nomination(profile, cx, pod, scratch);
        self.evaluate(profile, cx, pod, scratch).is_ok() && !self.has_errors()
    }

    fn decide_among_all(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Outcome {
        if !self.bring_up_to_date(profile, cx, pod, scratch) {
            return Outcome::Plain;
        }
        match self.tree.best(&self.rows, &self.groups.bonus) {
            Some((best, count)) => Outcome::Best(best, count),
            None => Outcome::Nowhere,
        }
    }

    fn decide_among_few(
        &mut self,
        framework: &Framework,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Outcome {
        let Scope::Few(names) = &self.scope else {
            return Outcome::Plain;
        };
        scratch.feasible.clear();
        for name in names {
            let Some(at) = cx.cluster.node_position(*name) else {
                continue;
            };
            let node = &cx.cluster.nodes()[at];
            match framework.run_filters_with_nominated_pods(cx, &self.cycle, pod, node) {
                Ok(()) => scratch.feasible.push(narrow(at)),
                Err(error) if error.status.code == Code::Error => return Outcome::Plain,
                Err(_) => {}
            }
        }
        match scratch.feasible[..] {
            [] => Outcome::Plain,
            [only] => Outcome::Only(only as usize),
            _ => self.best_of_few(framework, cx, pod, scratch),
        }
    }

    fn best_of_few(
        &self,
        framework: &Framework,
        cx: Cx<'_>,
        pod: &Pod,
        scratch: &mut Scratch,
    ) -> Outcome {
        scratch.feasible.sort_unstable();
        let feasible: Vec<usize> = scratch.feasible.iter().map(|at| *at as usize).collect();
        let mut cycle = self.cycle.clone();
        let Ok(table) = schedule::score(framework, cx, &mut cycle, pod, &feasible) else {
            return Outcome::Plain;
        };
        let best = schedule::best_of(&feasible, &table);
        scratch.feasible.clear();
        scratch.feasible.extend(best.iter().map(|at| narrow(*at)));
        Outcome::Some
    }
}
