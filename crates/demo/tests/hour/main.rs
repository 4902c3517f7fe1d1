//! An hour of the demo in virtual time: what a newcomer should see.

mod witness;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;
use stowplan_demo::{Act, HOPELESS};
use world::{Played, play};

const HOUR: Duration = Duration::from_secs(3_600);
/// Until the longest run is over, and what was queued behind it.
const REST: Duration = Duration::from_secs(1_500);

#[test]
fn an_hour_shows_everything_and_one_seed_shows_it_again() {
    // Each on a thread of its own, where nothing but the seed is the same.
    let other = std::thread::spawn(|| play(1, HOUR, REST));
    let first = play(1, HOUR, REST);
    println!("{} writes", first.writes.0);
    println!("longest waits: {:?}", first.witness.waits);
    println!("preempted: {:?}", first.witness.preempted);
    within_a_minute_all_services_run(&first);
    releases_roll_out(&first);
    nodes_fail_and_come_back(&first);
    work_gets_done(&first);
    only_queues_wait(&first);
    let other = other.join().expect("it goes well");
    assert_eq!(first.scenes, other.scenes);
    assert_eq!(first.writes.0, other.writes.0);
}

fn within_a_minute_all_services_run(played: &Played) {
    let looks = played.witness.rolled_out.range(..=60);
    let names: BTreeSet<&str> = looks
        .flat_map(|(_, done)| done.keys().map(String::as_str))
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let all = ["cart", "catalog", "checkout", "mailer", "search", "web"];
    assert_eq!(names, all);
    // Three databases, three caches, one Prometheus.
    assert_eq!(played.witness.bound_claims, 7);
}

/// A release is there within two and a half minutes, unless a node fails or another release comes in between.
fn releases_roll_out(played: &Played) {
    let mut whole = 0;
    for scene in &played.scenes {
        let (Act::Release { app, version } | Act::RollBack { app, version }) = scene.act else {
            continue;
        };
        let image = format!("registry.example.com/shop/{app}:1.{version}.0");
        let begin = scene.at.as_secs();
        let mut after = played.witness.rolled_out.range(begin..begin + 150);
        assert!(
            after.any(|(_, done)| done.get(app) == Some(&image)),
            "{scene:?}"
        );
        whole += 1;
    }
    assert!(whole >= 8, "{whole} releases");
    // One that never gets ready stays so, until it is rolled back.
    for scene in &played.scenes {
        let Act::BadRelease { app, .. } = scene.act else {
            continue;
        };
        let begin = scene.at.as_secs() + 10;
        let mut after = played.witness.rolled_out.range(begin..begin + 180);
        assert!(after.all(|(_, done)| !done.contains_key(app)), "{scene:?}");
    }
}

fn nodes_fail_and_come_back(played: &Played) {
    let mut failures = 0;
    for scene in &played.scenes {
        let at = scene.at.as_secs();
        let is_silent = |node: &str, from, to| {
            let mut seen = played.witness.not_ready.range(from..to);
            seen.any(|(_, nodes)| nodes.contains(node))
        };
        match scene.act {
            Act::FailNode(node) => {
                failures += 1;
                assert!(is_silent(node, at, at + 75), "{node} at {at}");
            }
            Act::RecoverNode(node) => assert!(!is_silent(node, at + 30, at + 90), "{node} at {at}"),
            _ => {}
        }
    }
    assert!(failures >= 3, "{failures} failures");
    let last = played
        .witness
        .not_ready
        .last_key_value()
        .expect("many looks");
    assert!(last.1.is_empty(), "{last:?}");
}

fn work_gets_done(played: &Played) {
    let witness = &played.witness;
    let done = |app: &str| witness.complete.get(app).map_or(0, |jobs| jobs.len());
    for (app, least) in [
        ("sync-stock", 28),
        ("sales-report", 5),
        ("backup-orders", 3),
        ("thumbnails", 50),
        ("invoices", 8),
        ("train", 12),
        ("deadline", 5),
    ] {
        assert!(done(app) >= least, "{app}: {}", done(app));
    }
    assert!(witness.failed.is_empty(), "{:?}", witness.failed);
    let preempted = witness.preempted.get("train").map_or(0, |pods| pods.len());
    assert!(preempted >= 2, "{:?}", witness.preempted);
    // A newcomer does not wait for long until he sees that.
    assert!(witness.first_preemption.expect("one") <= 90);
    // The shop's front follows its customers.
    assert!(witness.web.len() > 1, "{:?}", witness.web);
}

/// Work that is queued waits for room; services do not, but for moments.
fn only_queues_wait(played: &Played) {
    let queues = ["thumbnails", "train", "deadline", "invoices", "pretrain-xl"];
    for (app, wait) in &played.witness.waits {
        let most = match queues.contains(&app.as_str()) {
            true => 6_000,
            false => 30,
        };
        assert!(*wait <= most, "{app} had no node for {wait} s");
    }
    let (namespace, name) = HOPELESS;
    let hopeless = (namespace.to_owned(), name.to_owned());
    assert_eq!(played.witness.pending, [hopeless]);
}
