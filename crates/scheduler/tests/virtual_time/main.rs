//! A whole cluster on one thread and a virtual clock: the API server, the scheduler with its lease, a
//! controller and kubelets. An hour passes in seconds, and one seed gives one history.

mod cluster;
mod controller;
mod kubelet;
mod trace;

use cluster::live_for;
use std::time::Duration;
use stowplan_env::Stopwatch;

#[test]
fn one_seed_gives_one_hour_of_a_cluster() {
    let hour = Duration::from_secs(3_600);
    let watch = Stopwatch::start();
    // Each on a thread of its own, where nothing but the seed is the same.
    let other = std::thread::spawn(move || live_for(hour, 1));
    let first = live_for(hour, 1);
    println!("{first:?} in {:?}", watch.elapsed());
    assert!(first.pods >= 10_000, "{first:?}");
    assert!(first.bindings >= 10_000, "{first:?}");
    assert_eq!(first.seconds, 3_600);
    assert_eq!(first, other.join().expect("it goes well"));
}

#[test]
fn another_seed_gives_another_history() {
    let minute = Duration::from_secs(60);
    let [one, again, other] = [1, 1, 2].map(|seed| live_for(minute, seed));
    println!("{one:?}");
    assert_eq!(one, again);
    assert_ne!(one.hash, other.hash);
}
