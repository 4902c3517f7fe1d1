//! TaintToleration. Upstream's `pkg/scheduler/framework/plugins/tainttoleration`.

use super::change::{node_change, pod_change};
use super::normalize;
use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, NodePart, NormalizeScore, Plugin, PluginBuilder, PreScore, PreScoreResult, Range,
    Reads, Registration, Scope, Score, ScoreState, Status,
};
use crate::model::{Effect, Node, Object, Pod, Toleration, find_untolerated_taint};

/// The plugin: pods stay away from taints they do not tolerate, and rather away from those that
/// only ask for it.
#[derive(Clone, Debug, Default)]
pub struct TaintToleration;

fn tolerates(pod: &Pod, node: &Node) -> bool {
    find_untolerated_taint(&node.taints, &pod.tolerations, |t| t.effect.rejects()).is_none()
}

impl TaintToleration {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .normalize_score()
            .score_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for TaintToleration {
    type FilterState = ();
    /// The tolerations that can tolerate a `PreferNoSchedule` taint.
    type ScoreState = Box<[Toleration]>;
}

impl Filter for TaintToleration {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        if tolerates(pod, &node.node) {
            Ok(())
        } else {
            Err(Status::unresolvable("node(s) had untolerated taint(s)"))
        }
    }
}

impl FilterState<TaintToleration> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, _plugin: &TaintToleration, _pod: &Pod) -> Option<Reads> {
        Some(Reads::of([NodePart::Taints]))
    }
}

impl PreScore for TaintToleration {
    fn pre_score(
        &self,
        _cx: Cx<'_>,
        pod: &Pod,
        _feasible: &[&NodeInfo],
    ) -> PreScoreResult<Self::ScoreState> {
        let tolerations = pod.tolerations.iter().copied();
        let soft = |t: &Toleration| t.effect.is_none_or(|e| e == Effect::PreferNoSchedule);
        PreScoreResult::Ready(tolerations.filter(soft).collect())
    }

    fn pre_score_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::ScoreState, Status> {
        Err(Status::error(
            "failed to read \"PreScoreTaintToleration\" from cycleState: not found",
        ))
    }
}

impl Score for TaintToleration {
    /// How many `PreferNoSchedule` taints are not tolerated.
    fn score(
        &self,
        _cx: Cx<'_>,
        tolerations: &Self::ScoreState,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        let taints = node.node.taints.iter();
        let untolerated = taints
            .filter(|taint| taint.effect == Effect::PreferNoSchedule)
            .filter(|taint| !tolerations.iter().any(|t| t.tolerates(taint)));
        i64::try_from(untolerated.count()).ok()
    }
}

impl NormalizeScore for TaintToleration {
    fn normalize(&self, _state: &Self::ScoreState, raw: i64, over: Range) -> i64 {
        normalize::inverse(raw, over)
    }
}

impl ScoreState<TaintToleration> for Box<[Toleration]> {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, _plugin: &TaintToleration, _pod: &Pod) -> Option<Reads> {
        Some(Reads::of([NodePart::Taints]))
    }
}

impl EnqueueExtensions for TaintToleration {
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::hinted(
                EventResource::Node,
                Action::ADD.or(Action::UPDATE_NODE_TAINT),
            ),
            Registration::hinted(EventResource::Pod, Action::UPDATE_POD_TOLERATION),
        ]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let helps = if event.resource == EventResource::Node {
            node_change(old, new)
                .map(|(old, new)| tolerates(pod, new) && old.is_none_or(|old| !tolerates(pod, old)))
        } else {
            pod_change(old, new).map(|(_, new)| new.uid == pod.uid)
        };
        helps.map_or_else(|unexpected| unexpected, Hint::queue_if)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Taint, TolerationOp};
    use crate::testing::World;
    use std::sync::Arc;
    use stowplan_base::Sym;

    fn node(world: &mut World, name: &str, taints: &[(&str, Effect)]) -> Node {
        let taint = |(key, effect): &(&str, Effect)| Taint {
            key: world.sym(key),
            value: Sym::EMPTY,
            effect: *effect,
        };
        let taints = taints.iter().map(taint).collect();
        Node {
            taints,
            ..world.node(name, &[])
        }
    }

    fn pod(world: &mut World, tolerations: &[(&str, Option<Effect>)]) -> Pod {
        let toleration = |(key, effect): &(&str, Option<Effect>)| Toleration {
            key: world.sym(key),
            op: TolerationOp::Exists,
            value: Sym::EMPTY,
            effect: *effect,
        };
        let tolerations = tolerations.iter().map(toleration).collect();
        Pod {
            tolerations,
            ..world.pod("ns/p", &[])
        }
    }

    #[test]
    fn hard_taints_reject_and_soft_ones_do_not() {
        let mut world = World::default();
        let pod = pod(&mut world, &[("gpu", Some(Effect::NoSchedule))]);
        for (taints, fits) in [
            (&[("gpu", Effect::NoSchedule)][..], true),
            (&[("gpu", Effect::NoExecute)], false),
            (&[("spot", Effect::PreferNoSchedule)], true),
            (
                &[("gpu", Effect::NoSchedule), ("spot", Effect::NoSchedule)],
                false,
            ),
        ] {
            let node = NodeInfo::new(Arc::new(node(&mut world, "n", taints)));
            let fit = TaintToleration.filter(world.cx(), &(), &pod, &node);
            let expected = if fits {
                Ok(())
            } else {
                Err(Status::unresolvable("node(s) had untolerated taint(s)"))
            };
            assert_eq!(fit, expected, "{taints:?}");
        }
    }

    /// Semantic 15 of the oracle: only tolerations for any effect or PreferNoSchedule count.
    #[test]
    fn soft_taints_are_counted_unless_tolerated() {
        let mut world = World::default();
        let pod = pod(
            &mut world,
            &[
                ("a", None),
                ("b", Some(Effect::PreferNoSchedule)),
                ("c", Some(Effect::NoSchedule)),
            ],
        );
        let soft = ["a", "b", "c", "d"].map(|key| (key, Effect::PreferNoSchedule));
        let tainted = NodeInfo::new(Arc::new(node(&mut world, "n", &soft)));
        let PreScoreResult::Ready(state) = TaintToleration.pre_score(world.cx(), &pod, &[]) else {
            panic!("never skipped");
        };
        let raw = TaintToleration.score(world.cx(), &state, &pod, &tainted);
        assert_eq!(raw, Some(2));
        let over = Range { min: 0, max: 4 };
        assert_eq!(TaintToleration.normalize(&state, 2, over), 50);
    }

    #[test]
    fn a_node_helps_when_its_taints_no_longer_reject() {
        let mut world = World::default();
        let pod = pod(&mut world, &[("gpu", None)]);
        let [free, tolerated, foreign] = [
            &[][..],
            &[("gpu", Effect::NoSchedule)],
            &[("spot", Effect::NoSchedule)],
        ]
        .map(|taints| Object::Node(Arc::new(node(&mut world, "n", taints))));
        let event = TaintToleration.events()[0].event;
        for (old, new, expected) in [
            (None, &tolerated, Hint::Queue),
            (None, &foreign, Hint::Skip),
            (Some(&foreign), &free, Hint::Queue),
            (Some(&tolerated), &free, Hint::Skip),
            (Some(&free), &foreign, Hint::Skip),
        ] {
            let hint = TaintToleration.hint(world.cx(), &event, &pod, old, Some(new));
            assert_eq!(hint, expected, "{old:?} {new:?}");
        }
    }
}
