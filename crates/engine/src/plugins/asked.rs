//! That rules which spare some nodes the question know their verdict, on random clusters.

use super::node_volume_limits::NodeVolumeLimits;
use super::volume_binding::{VolumeBinding, VolumeBindingArgs};
use super::volume_restrictions::VolumeRestrictions;
use super::volume_zone::VolumeZone;
use crate::framework::{Code, Filter, FilterState, NodesToCheck, PreFilter, PreFilterResult};
use crate::model::Pod;
use crate::testing::World;
use crate::testing::churn::Churn;
use std::any::type_name;
use std::collections::BTreeMap;
use stowplan_base::Sym;

/// How often each kind of answer was given.
type Seen = BTreeMap<&'static str, usize>;

/// `Some(true)` if the node fits, `None` if the rule fails.
fn verdicts<P: Filter>(
    plugin: &P,
    state: &P::FilterState,
    world: &World,
    pod: &Pod,
) -> Vec<Option<bool>> {
    let nodes = world.snapshot.nodes().iter();
    nodes
        .map(|node| match plugin.filter(world.cx(), state, pod, node) {
            Ok(()) => Some(true),
            Err(status) if status.code == Code::Error => None,
            Err(_) => Some(false),
        })
        .collect()
}

fn check<P>(plugin: &P, world: &World, pod: &Pod, seen: &mut Seen)
where
    P: PreFilter + Filter,
    P::FilterState: FilterState<P>,
{
    let PreFilterResult::Ready(state) = plugin.pre_filter(world.cx(), pod) else {
        return;
    };
    let verdicts = verdicts(plugin, &state, world, pod);
    let answer = match state.nodes_to_check(plugin, world.cx(), pod) {
        NodesToCheck::All => "all",
        NodesToCheck::These(positions) => {
            for (at, fits) in (0..).zip(&verdicts) {
                let is_asked = positions.contains(&at);
                assert!(
                    is_asked || *fits == Some(true),
                    "{} {pod:?}",
                    type_name::<P>()
                );
            }
            "these"
        }
        NodesToCheck::Alike { keys, need } => {
            let mut known = BTreeMap::new();
            for (node, fits) in world.snapshot.nodes().iter().zip(&verdicts) {
                let labels = &node.node.labels;
                let seen: Vec<Option<Sym>> = keys.iter().map(|key| labels.get(*key)).collect();
                let alike = known.entry(seen).or_insert(*fits);
                assert_eq!(alike, fits, "{} {pod:?}", type_name::<P>());
                if let Some((key, values)) = &need
                    && labels.get(*key).is_none_or(|v| !values.contains(&v))
                {
                    assert_eq!(*fits, Some(false), "{} {pod:?}", type_name::<P>());
                }
            }
            match need {
                None => "alike",
                Some(_) => "alike with a need",
            }
        }
    };
    *seen.entry(answer).or_default() += 1;
    let rejects = verdicts.contains(&Some(false));
    *seen.entry("some are rejected").or_default() += usize::from(rejects);
}

#[test]
fn nodes_that_are_spared_the_question_get_the_verdict() {
    let binding = VolumeBinding::new(VolumeBindingArgs::default());
    let mut seen = [const { Seen::new() }; 4];
    for seed in 0..100 {
        let mut churn = Churn::new(seed);
        for _ in 0..150 {
            churn.change();
            let pod = churn.pod("ns/new");
            let [limits, bound, restrictions, zone] = &mut seen;
            check(&NodeVolumeLimits, &churn.world, &pod, limits);
            check(&binding, &churn.world, &pod, bound);
            check(&VolumeRestrictions, &churn.world, &pod, restrictions);
            check(&VolumeZone, &churn.world, &pod, zone);
        }
    }
    let [limits, bound, restrictions, zone] = &seen;
    for (seen, answers) in [
        (limits, &["these", "all"][..]),
        (bound, &["all", "alike", "alike with a need"]),
        (restrictions, &["these"]),
        (zone, &["alike"]),
    ] {
        for answer in answers.iter().chain(&["some are rejected"]) {
            let count = seen.get(answer).copied().unwrap_or(0);
            assert!(count > 50, "{answer} came up {count} times: {seen:?}");
        }
    }
}
