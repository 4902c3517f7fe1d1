use super::*;

/// The scenes of some hours.
fn hours(seed: u64, hours: u64) -> Vec<Scene> {
    let mut story = Story::new(seed);
    let end = Duration::from_secs(hours * 3_600);
    std::iter::from_fn(|| Some(story.next_scene()).filter(|scene| scene.at < end)).collect()
}

#[test]
fn one_seed_one_story() {
    assert_eq!(hours(7, 24), hours(7, 24));
    assert_ne!(hours(7, 1), hours(8, 1));
}

#[test]
fn a_story_goes_on_where_it_stopped() {
    let mut other = Story::new(7);
    for scene in hours(7, 2) {
        assert_eq!(scene, other.next_scene());
        assert_eq!(scene.number, other.scenes());
    }
}

#[test]
fn within_four_minutes_everything_happened_once() {
    for seed in 0..100 {
        let mut first = hours(seed, 1);
        first.retain(|scene| scene.at <= Duration::from_secs(240));
        let has = |what: fn(&Act) -> bool| first.iter().any(|scene| what(&scene.act));
        assert!(has(|act| matches!(act, Act::Release { .. })));
        assert!(has(|act| matches!(act, Act::FailNode(_))));
        let queued = |kind| {
            first.iter().any(|scene| match &scene.act {
                Act::Queue(queue) => queue.iter().any(|batch| batch.kind == kind),
                _ => false,
            })
        };
        assert!(Kind::ALL.into_iter().all(queued), "{first:?}");
    }
}

/// A company that is always on fire is not believable: one node is down at a time, and comes back within six
/// minutes; a release that does not work is taken back.
#[test]
fn what_breaks_is_mended() {
    for seed in 0..100 {
        let mut down: Option<(&str, Duration)> = None;
        let mut bad: Option<u32> = None;
        for scene in hours(seed, 24) {
            match scene.act {
                Act::FailNode(node) => assert_eq!(down.replace((node, scene.at)), None),
                Act::RecoverNode(node) => {
                    let (failed, since) = down.take().unwrap();
                    assert_eq!(failed, node);
                    assert!(scene.at - since <= Duration::from_secs(360));
                }
                Act::BadRelease { app, version } => {
                    assert_eq!((app, bad.replace(version)), (UNLUCKY, None));
                }
                Act::RollBack { app, version } => {
                    assert_eq!(app, UNLUCKY);
                    assert_eq!(bad.take(), Some(version + 1));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn no_name_comes_twice() {
    let mut names = std::collections::BTreeSet::new();
    for scene in hours(3, 24) {
        if let Act::Queue(queue) = scene.act {
            for batch in queue {
                assert!(names.insert(batch.name.clone()), "{}", batch.name);
            }
        }
    }
    assert!(names.len() > 1_000);
}

#[test]
fn the_nodes_that_fail_exist() {
    let nodes = crate::nodes();
    for name in FRAIL {
        let mut nodes = nodes.iter();
        assert!(nodes.any(|node| node.metadata.name.as_deref() == Some(name)));
    }
}
