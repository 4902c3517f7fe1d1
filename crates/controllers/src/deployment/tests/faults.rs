//! Writes that fail, and changes at any time.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

/// Whatever happens on the way, the end is the same.
fn check_end(world: &World, about: &str) {
    let expected = [("v1", 0), ("v2", 0), ("v3", 4)];
    let expected = expected.map(|(image, size)| (image.to_owned(), size));
    assert_eq!(sizes_by_image(world), expected.into(), "{about}");
    assert_eq!(pods(world).len(), 4, "{about}");
    assert_eq!(
        status_of(world),
        json!({"observedGeneration": 4, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4,
            "availableReplicas": 4, "terminatingReplicas": 0}),
        "{about}"
    );
    assert_eq!(
        reason_of(world, "Progressing"),
        "NewReplicaSetAvailable",
        "{about}"
    );
    let revision = annotation(&*web(world), "deployment.kubernetes.io/revision").map(str::to_owned);
    assert_eq!(revision.as_deref(), Some("3"), "{about}");
}

fn finish_slowly(world: &mut World) {
    world.settle(&CONTROLLERS, Duration::from_secs(3));
    while run_one(world) {
        world.settle(&CONTROLLERS, Duration::from_secs(3));
    }
}

/// Two roll-outs and a change of size, with the `failing`th write refused. Returns how many there were.
fn play(strategy: &Value, failing: usize, code: u16) -> usize {
    let mut spec = spec();
    spec["strategy"] = strategy.clone();
    let mut world = world(spec);
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    world.refuse(move |_| {
        count.set(count.get() + 1);
        (count.get() == failing + 1).then(|| refused(code, "no"))
    });
    finish_slowly(&mut world);
    roll_out(&mut world, "v2");
    world.settle(&CONTROLLERS, Duration::from_secs(3));
    run_one(&mut world);
    change(&mut world, |spec| spec["replicas"] = json!(4));
    finish_slowly(&mut world);
    roll_out(&mut world, "v3");
    finish_slowly(&mut world);
    check_end(&world, &format!("write {failing} failed with {code}"));
    counted.get()
}

#[test]
fn any_write_of_a_rolling_update_may_fail_once() {
    let strategy = spec()["strategy"].clone();
    let all = play(&strategy, usize::MAX - 1, 500);
    assert!(all > 20);
    for failing in 0..all {
        play(&strategy, failing, [0, 409, 500][failing % 3]);
    }
}

#[test]
fn any_write_of_a_recreation_may_fail_once() {
    let strategy = json!({"type": "Recreate"});
    let all = play(&strategy, usize::MAX - 1, 500);
    for failing in 0..all {
        play(&strategy, failing, 500);
    }
}

/// A sync may see things as they were a while ago: what it writes then comes to nothing.
#[test]
fn a_stale_look_does_no_harm() {
    let mut world = world(spec());
    finish(&mut world);
    roll_out(&mut world, "v2");
    let stale = Arc::new(Cluster::default());
    stale.add(Deployment::clone(&web(&world)));
    for set in sets(&world) {
        stale.add(ReplicaSet::clone(&set));
    }
    settle(&mut world);
    let (expected, status) = (sizes_by_image(&world), status_of(&world));
    // Another one, which knows nothing of the new set, would make it.
    let fresh = std::mem::replace(&mut world.cluster, stale);
    world.errors.clear();
    world.sync(&Deployments, "a", "web");
    assert_eq!(world.errors.len(), 1);
    world.cluster = fresh;
    assert_eq!(
        (sizes_by_image(&world), status_of(&world)),
        (expected, status)
    );
}
