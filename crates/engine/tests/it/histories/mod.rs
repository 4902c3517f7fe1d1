//! Random histories on which the fast path must answer exactly like the plain one.
//!
//! A seed makes a cluster, templates of pods, three profiles and a history of events and decisions.
//! At every decision both paths are asked, and whatever anybody can read from their answers must be
//! the same. A failing history is cut down and printed; `STOWPLAN_SEED` replays one seed, or all
//! from one on (`123..`), and `STOWPLAN_COMPARISONS` says how many comparisons there should be.

mod author;
mod compare;
mod constraints;
mod coverage;
mod describe;
mod event;
mod maker;
mod nodes;
mod objects;
mod plan;
mod profiles;
mod replay;
mod shrink;
mod storage;
mod templates;

use author::Author;
use coverage::{Coverage, WANTED, Wanted};
use describe::describe;
use event::{Event, World};
use plan::Size;
use replay::{Difference, Replay};
use shrink::shrink;
use std::collections::VecDeque;
use std::fmt::Write;
use stowplan_base::Names;

/// Comparisons of a usual run, of all tests together.
const COMPARISONS: u64 = 200_000;
/// Every test has so many seeds to itself.
const SEEDS: u64 = 1_000_000;

/// Tests in the order of their seeds.
#[derive(Clone, Copy)]
enum Share {
    SmallA,
    SmallB,
    Large,
    ManyTemplates,
}

impl Share {
    fn size(self) -> Size {
        match self {
            Self::SmallA | Self::SmallB => Size::Small,
            Self::Large => Size::Large,
            Self::ManyTemplates => Size::ManyTemplates,
        }
    }

    fn percent(self) -> u64 {
        match self {
            Self::SmallA => 46,
            Self::SmallB => 46,
            Self::Large => 2,
            Self::ManyTemplates => 6,
        }
    }
}

#[test]
fn small_clusters_a() {
    check(Share::SmallA, WANTED);
}

#[test]
fn small_clusters_b() {
    check(Share::SmallB, WANTED);
}

#[test]
fn large_clusters() {
    check(Share::Large, &[("placed", 50, &["one best", "tie"])]);
}

#[test]
fn many_templates() {
    let wanted = [
        ("placed", 50, &["one best", "tie"][..]),
        (
            "class",
            500,
            &["warm", "opened", "evicted", "alike", "each"],
        ),
    ];
    check(Share::ManyTemplates, &wanted);
}

/// Runs seed after seed until enough is compared.
fn check(share: Share, wanted: &[Wanted]) {
    let mut seed = share as u64 * SEEDS;
    let end = seed + SEEDS;
    let mut only = false;
    if let Some((first, single)) = seed_asked_for() {
        if !(seed..end).contains(&first) {
            return;
        }
        (seed, only) = (first, single);
    }
    let asked = number("STOWPLAN_COMPARISONS");
    let comparisons = asked.unwrap_or(COMPARISONS) * share.percent() / 100;
    let mut coverage = Coverage::default();
    while seed < end {
        match run(seed, share.size()) {
            Ok(covered) => coverage.add(&covered),
            Err(report) => panic!("{report}"),
        }
        if only || coverage.comparisons() >= comparisons {
            break;
        }
        seed += 1;
    }
    println!("up to seed {seed}:\n{coverage}");
    if !only && asked.is_none_or(|asked| asked >= COMPARISONS) {
        let mut missing = coverage.missing(wanted);
        if share.size() == Size::Small {
            missing.extend(coverage.missing_kinds());
        }
        assert!(missing.is_empty(), "\n{}\n{coverage}", missing.join("\n"));
    }
}

/// `STOWPLAN_SEED`: the seed, and whether it is the only one.
fn seed_asked_for() -> Option<(u64, bool)> {
    let text = std::env::var("STOWPLAN_SEED").ok()?;
    let (digits, single) = match text.strip_suffix("..") {
        Some(digits) => (digits, false),
        None => (&text[..], true),
    };
    Some((digits.parse().expect("STOWPLAN_SEED is a number"), single))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.replace('_', "").parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// The history of one seed: what it covered, or a report of how it failed.
fn run(seed: u64, size: Size) -> Result<Coverage, String> {
    let mut world = World::default();
    let (mut author, profiles) = Author::new(seed, size, &mut world.snapshot.names);
    let mut replay = Replay::new(world, profiles, size);
    let mut history: Vec<Event> = Vec::new();
    let mut ahead: VecDeque<Event> = author.beginning(&mut replay.world.snapshot.names).into();
    for _ in 0..author.plan.steps {
        while let Some(event) = ahead.pop_front() {
            history.push(event.clone());
            match replay.play(&event) {
                Ok(None) => {}
                Ok(Some(attempt)) => {
                    if let Event::Decide(pod, _) = &event {
                        ahead.extend(author.follow(pod, &attempt, &replay.world));
                    }
                }
                Err(difference) => {
                    let names = replay.world.snapshot.names.clone();
                    return Err(report(seed, size, &names, &history, &difference));
                }
            }
        }
        ahead.extend(author.next(&mut replay.world));
    }
    Ok(replay.into_coverage())
}

/// All that is needed to find out why the paths part.
fn report(
    seed: u64,
    size: Size,
    names: &Names,
    history: &[Event],
    difference: &Difference,
) -> String {
    let start = || {
        let mut world = World::knowing(names.clone());
        let (_, profiles) = Author::new(seed, size, &mut world.snapshot.names);
        Replay::new(world, profiles, size)
    };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "seed {seed}, event {}: the fast path (+) differs from the plain one (-)\n\
         replay with: STOWPLAN_SEED={seed} cargo test -p stowplan-engine --test it histories\n\n{}",
        history.len(),
        difference.text
    );
    let mut replay = start();
    let shrunk = shrink(history, start);
    let profile = shrunk
        .as_ref()
        .map_or(difference.profile, |failing| failing.difference.profile);
    let summary = &replay.profiles[profile].summary;
    let _ = writeln!(out, "\nprofile {profile}: {summary}");
    let events = match &shrunk {
        Some(failing) => {
            let _ = writeln!(
                out,
                "\nthe shortest history found:\n{}\n",
                failing.difference.text
            );
            &failing.events[..]
        }
        None => {
            let _ = writeln!(
                out,
                "\nwith all names known from the start it does not fail:"
            );
            history
        }
    };
    for (at, event) in events.iter().enumerate() {
        let _ = writeln!(out, "{at:>4}. {}", describe(event, &replay.world));
        replay.world.apply(event);
    }
    out
}
