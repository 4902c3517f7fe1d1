//! That rules which spare some nodes the question know their verdict, on random clusters.

use super::node_volume_limits::NodeVolumeLimits;
use super::volume_binding::{VolumeBinding, VolumeBindingArgs};
use super::volume_restrictions::VolumeRestrictions;
use super::volume_zone::VolumeZone;
use crate::framework::{Ask, Code, Plugin, PreFilter};
use crate::model::Pod;
use crate::testing::World;
use crate::testing::churn::Churn;
use std::collections::BTreeMap;
use stowplan_base::Sym;

/// How often each kind of answer was given.
type Seen = BTreeMap<&'static str, usize>;

/// `Some(true)` if the node fits, `None` if the rule fails.
fn verdicts<P: Plugin>(
    plugin: &P,
    state: &P::Filter,
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

fn check<P: Plugin>(plugin: &P, world: &World, pod: &Pod, seen: &mut Seen) {
    let PreFilter::Ready(state) = plugin.pre_filter(world.cx(), pod) else {
        return;
    };
    let verdicts = verdicts(plugin, &state, world, pod);
    let answer = match plugin.asks(world.cx(), &state, pod) {
        Ask::All => "all",
        Ask::These(positions) => {
            for (at, fits) in (0..).zip(&verdicts) {
                let is_asked = positions.contains(&at);
                assert!(is_asked || *fits == Some(true), "{} {pod:?}", P::NAME);
            }
            "these"
        }
        Ask::Alike { keys, need } => {
            let mut known = BTreeMap::new();
            for (node, fits) in world.snapshot.nodes().iter().zip(&verdicts) {
                let labels = &node.node.labels;
                let seen: Vec<Option<Sym>> = keys.iter().map(|key| labels.get(*key)).collect();
                let alike = known.entry(seen).or_insert(*fits);
                assert_eq!(alike, fits, "{} {pod:?}", P::NAME);
                if let Some((key, values)) = &need
                    && labels.get(*key).is_none_or(|v| !values.contains(&v))
                {
                    assert_eq!(*fits, Some(false), "{} {pod:?}", P::NAME);
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
