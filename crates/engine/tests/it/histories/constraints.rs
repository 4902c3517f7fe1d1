//! Random constraints on where a pod may go.

use super::maker::Maker;
use stowplan_base::{Sym, sym};
use stowplan_engine::model::{
    AffinityTerm, Labels, NodeSelector, NodeSelectorTerm, Op, Pod, PodAffinity, PreferredNodeTerm,
    Requirement, Selector, SpreadConstraint, UnsatisfiableAction, WeightedAffinityTerm,
};

impl Maker<'_> {
    /// Node selector and node affinity.
    pub(super) fn choose_nodes(&mut self, pod: &mut Pod) {
        if self.dice.chance(20) {
            pod.node_selector = Labels::new([self.node_label()]);
        }
        if self.dice.chance(35) {
            let count = *self.dice.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
            let terms = (0..count).map(|_| self.node_term()).collect();
            pod.node_affinity.required = Some(NodeSelector { terms });
        }
        if self.dice.chance(40) {
            let count = 1 + self.dice.below(3);
            pod.node_affinity.preferred = (0..count).map(|_| self.preferred_node_term()).collect();
        }
    }

    pub(super) fn node_term(&mut self) -> NodeSelectorTerm {
        let mut term = NodeSelectorTerm::default();
        let kind = self.dice.below(20);
        if kind > 5 || kind == 2 {
            let count = *self.dice.pick(&[1, 1, 1, 2]);
            term.expressions = (0..count).map(|_| self.node_requirement()).collect();
        }
        match kind {
            0 => {}
            1 => term.error = Some("a term that cannot be parsed".into()),
            2..=5 => {
                let names = 1 + self.dice.below(3);
                term.fields = [Requirement {
                    key: sym::METADATA_NAME,
                    op: *self.dice.pick(&[Op::In, Op::In, Op::In, Op::NotIn]),
                    values: (0..names).map(|_| self.node_name()).collect(),
                }]
                .into();
            }
            _ => {}
        }
        term
    }

    pub(super) fn preferred_node_term(&mut self) -> PreferredNodeTerm {
        let mut term = self.node_term();
        // A broken preferred term fails every attempt: enough of that is as good as a feast.
        if self.dice.chance(80) {
            term.error = None;
        }
        PreferredNodeTerm {
            weight: *self.dice.pick(&[0, 1, 5, 50, 100]),
            term,
        }
    }

    /// Affinity and anti-affinity to other pods.
    pub(super) fn choose_neighbours(&mut self, pod: &mut Pod) {
        if self.dice.chance(35) {
            pod.pod_affinity = Some(self.pod_affinity(pod, 40));
        }
        if self.dice.chance(45) {
            pod.pod_anti_affinity = Some(self.pod_affinity(pod, 60));
        }
        if self.dice.chance(2) {
            pod.affinity_error = Some("a selector that cannot be parsed".into());
        }
    }

    fn pod_affinity(&mut self, pod: &Pod, required_percent: usize) -> PodAffinity {
        let count = |maker: &mut Self, percent| {
            let wanted = maker.dice.chance(percent);
            if wanted { 1 + maker.dice.below(2) } else { 0 }
        };
        let required = count(self, required_percent);
        let preferred = count(self, 60);
        PodAffinity {
            required: (0..required).map(|_| self.affinity_term(pod)).collect(),
            preferred: (0..preferred)
                .map(|_| WeightedAffinityTerm {
                    weight: *self.dice.pick(&[1, 10, 100]),
                    term: self.affinity_term(pod),
                })
                .collect(),
        }
    }

    fn affinity_term(&mut self, pod: &Pod) -> AffinityTerm {
        let (namespaces, namespace_selector): (Box<[Sym]>, _) = match self.dice.below(10) {
            0 => ([].into(), Selector::everything()),
            1 | 2 => ([].into(), self.namespace_selector()),
            3 => ([self.namespace()].into(), self.namespace_selector()),
            4 => ([self.namespace(), pod.namespace].into(), Selector::Nothing),
            _ => ([pod.namespace].into(), Selector::Nothing),
        };
        let selector = match self.dice.below(3) {
            // Its own kind, as is the custom.
            0 => self.selector_of(&pod.labels),
            _ => self.pod_selector(),
        };
        AffinityTerm {
            namespaces,
            namespace_selector,
            selector,
            topology_key: self.topology_key(),
        }
    }

    fn selector_of(&mut self, labels: &Labels) -> Selector {
        let pairs: Vec<_> = labels.iter().collect();
        match pairs[..] {
            [] => Selector::everything(),
            _ => {
                let (key, value) = *self.dice.pick(&pairs);
                Selector::All([Requirement::equals(key, value)].into())
            }
        }
    }

    fn namespace_selector(&mut self) -> Selector {
        let key = self.sym("team");
        let op = *self.dice.pick(&[Op::In, Op::In, Op::NotIn]);
        let values = [self.one_of(&["a", "b"])].into();
        Selector::All([Requirement { key, op, values }].into())
    }

    pub(super) fn spread_constraint(&mut self) -> SpreadConstraint {
        let keys = self.dice.some_of(&["version", "absent"], 20);
        SpreadConstraint {
            max_skew: *self.dice.pick(&[1, 1, 2, 3]),
            topology_key: self.topology_key(),
            when_unsatisfiable: *self.dice.pick(&[
                UnsatisfiableAction::DoNotSchedule,
                UnsatisfiableAction::ScheduleAnyway,
            ]),
            selector: self.pod_selector(),
            min_domains: *self.dice.pick(&[1, 1, 1, 2, 3, 5]),
            honor_node_affinity: self.dice.chance(70),
            honor_node_taints: self.dice.chance(40),
            match_label_keys: self.syms(&keys),
        }
    }
}
