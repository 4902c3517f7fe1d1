//! A whole cluster on one thread and a virtual clock: the API server, the scheduler with its lease, a
//! controller and kubelets. An hour passes in seconds, and one seed gives one history.

mod cluster;
mod controller;
mod kubelet;
mod trace;

use cluster::{Hour, live_an_hour};

#[test]
fn an_hour_of_a_cluster_is_determined_by_its_seed() {
    let first = live_an_hour(1);
    println!("{first:?}");
    assert!(first.pods >= 10_000, "{first:?}");
    assert!(first.bindings >= 10_000, "{first:?}");
    assert_eq!(first.seconds, 3_600);
    assert_eq!(first, live_an_hour(1));
    let Hour { hash, .. } = live_an_hour(2);
    assert_ne!(first.hash, hash);
}
