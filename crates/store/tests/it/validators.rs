//! What etcd promises of watches, checked while many write: ordered, unique, reliable (no gaps),
//! resumable, bookmarkable, filtered by prefix, with the right previous entry, and with creations
//! told from changes (see etcd's tests/robustness/validate/watch.go).

use crate::tools::{Folder, setting};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stowplan_base::Rng;
use stowplan_store::{
    CommitError, Entry, Error, Event, Expect, Options, Retention, Revision, Store, Txn,
};

const WRITERS: u64 = 3;
const WATCHERS: u64 = 24;
const PREFIXES: [&str; 6] = ["", "pods/", "pods/a/", "pods/a/1", "nodes/", "none/"];

fn key(rng: &mut Rng) -> String {
    let number = rng.below(12);
    match rng.below(4) {
        0 => format!("nodes/{number}"),
        1 => format!("pods/a/{number}"),
        _ => format!("pods/b/{number}"),
    }
}

/// Writes until there is enough, with conflicts among the writers.
async fn write(store: Store, seed: u64, until: Revision) -> Vec<Arc<Event>> {
    let mut rng = Rng::new(seed);
    let mut done = Vec::new();
    while store.revision() < until {
        let mut txn = Txn::new();
        for _ in 0..=rng.below(3) {
            let key = key(&mut rng);
            let expect = match store.get(key.as_bytes()) {
                Some(entry) if rng.below(2) == 0 => Expect::Revision(entry.mod_revision),
                _ => Expect::Any,
            };
            let value = rng.next_u64().to_string();
            txn = match rng.below(4) {
                0 => txn.delete(key, expect),
                _ => txn.put(key, value, expect),
            };
        }
        match store.commit(txn).await {
            Ok(committed) => done.extend(committed.events),
            Err(CommitError::Conflict(_) | CommitError::WrittenTwice) => {}
            Err(error) => panic!("{error}"),
        }
        if rng.below(8) == 0 {
            tokio::task::yield_now().await;
        }
    }
    done
}

/// What one watcher was told: where it began, all events, and how far it was told to have come.
struct Told {
    prefix: &'static str,
    after: Revision,
    events: Vec<Arc<Event>>,
    until: Revision,
}

/// Watches, and gives up now and then to resume after any event that it has seen.
async fn follow(store: Store, seed: u64, done: Arc<AtomicBool>, until: Revision) -> Told {
    let mut rng = Rng::new(seed);
    let prefix = PREFIXES[rng.below(PREFIXES.len())];
    let after = Revision(1 + rng.below(store.revision().0 as usize) as u64);
    let mut events: Vec<Arc<Event>> = Vec::new();
    let mut seen = after;
    'resume: loop {
        let mut watch = store.watch(prefix, seen).unwrap();
        loop {
            let last = done.load(Ordering::Acquire) && store.revision() >= until;
            let next = watch.try_next().unwrap();
            assert!(next.revision >= seen, "bookmarks do not go back");
            let keep = match rng.below(10) {
                0 => rng.below(next.events.len() + 1),
                _ => next.events.len(),
            };
            let idle = next.events.is_empty();
            let cut = keep < next.events.len();
            events.extend(next.events.into_iter().take(keep));
            seen = if cut {
                events.last().map_or(seen, |e| e.revision.max(seen))
            } else {
                next.revision
            };
            if cut {
                continue 'resume;
            }
            if last && idle {
                let until = seen;
                return Told {
                    prefix,
                    after,
                    events,
                    until,
                };
            }
            if idle && rng.below(4) == 0 {
                continue 'resume;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Every write, by revision, as the writers were told; checked to be without gaps.
fn in_order(mut all: Vec<Arc<Event>>) -> Vec<Arc<Event>> {
    all.sort_by_key(|event| event.revision);
    for (event, expected) in all.iter().zip(2..) {
        assert_eq!(event.revision, Revision(expected), "each revision once");
    }
    all
}

/// Each event follows from the one before it of the same key.
fn check_links(all: &[Arc<Event>]) {
    let mut current: std::collections::BTreeMap<&[u8], &Arc<Entry>> = Default::default();
    for event in all {
        let before = current.get(&event.key()[..]).copied();
        let same = match (before, &event.previous) {
            (Some(before), Some(previous)) => Arc::ptr_eq(before, previous),
            (None, None) => event.is_create(),
            _ => false,
        };
        assert!(same, "previous entry of revision {}", event.revision);
        match event.current() {
            Some(entry) => drop(current.insert(event.key(), entry)),
            None => drop(current.remove(&event.key()[..])),
        }
    }
}

fn check(told: &Told, all: &[Arc<Event>]) {
    let expected = all.iter().filter(|event| {
        event.revision > told.after && event.key().starts_with(told.prefix.as_bytes())
    });
    let expected: Vec<_> = expected.map(Arc::as_ptr).collect();
    let found: Vec<_> = told.events.iter().map(Arc::as_ptr).collect();
    assert_eq!(
        found.len(),
        expected.len(),
        "prefix {:?} after {}",
        told.prefix,
        told.after
    );
    assert!(
        found == expected,
        "ordered, unique, without gaps, and only what was asked for"
    );
    assert_eq!(
        told.until.0,
        1 + all.len() as u64,
        "told to have come to the end"
    );
}

async fn run(store: Store, events: u64, seed: u64) {
    let until = Revision(1 + events);
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|i| tokio::spawn(write(store.clone(), seed * 1_000 + i, until)))
        .collect();
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|i| {
            tokio::spawn(follow(
                store.clone(),
                seed * 1_000 + 100 + i,
                done.clone(),
                until,
            ))
        })
        .collect();
    let mut all = Vec::new();
    for writer in writers {
        all.extend(writer.await.unwrap());
    }
    done.store(true, Ordering::Release);
    let all = in_order(all);
    assert!(all.len() as u64 >= events, "too little happened");
    check_links(&all);
    for watcher in watchers {
        check(&watcher.await.unwrap(), &all);
    }
    assert_eq!(store.stats().watches, 0);
}

const KEEP_ALL: Options = Options {
    retention: Retention::ALL,
    bytes_max: usize::MAX,
    decoded_bytes: 0,
    inline: false,
    failure_pause: std::time::Duration::from_secs(1),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_in_memory_keep_every_promise() {
    let seed = setting("STOWPLAN_SEED", 1);
    let events = setting("STOWPLAN_EVENTS", 20_000);
    run(Store::in_memory(KEEP_ALL), events, seed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_on_disk_keep_every_promise() {
    let folder = Folder::new();
    let seed = setting("STOWPLAN_SEED", 1);
    let events = setting("STOWPLAN_EVENTS", 20_000) / 20;
    let store = Store::on_disk(folder.file("store"), KEEP_ALL).unwrap();
    run(store, events, seed).await;
}

/// Lists, then follows; lists again when it fell behind. This is what clients do, and they must end
/// up with what is stored.
async fn mirror(
    store: Store,
    seed: u64,
    done: Arc<AtomicBool>,
) -> (&'static str, Vec<Arc<Entry>>, u32) {
    let mut rng = Rng::new(seed);
    let prefix = PREFIXES[rng.below(PREFIXES.len())];
    let mut gaps = 0;
    loop {
        let page = store.range(prefix.as_bytes(), None, None, None).unwrap();
        let entries = page.entries.into_iter().map(|e| (e.key.clone(), e));
        let mut copy: std::collections::BTreeMap<_, _> = entries.collect();
        let mut watch = match store.watch(prefix, page.revision) {
            Ok(watch) => watch,
            Err(Error::Compacted { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        loop {
            let last = done.load(Ordering::Acquire);
            let next = match watch.try_next() {
                Ok(next) => next,
                Err(Error::Compacted { .. }) => break,
                Err(error) => panic!("{error}"),
            };
            for event in &next.events {
                match event.current() {
                    Some(entry) => drop(copy.insert(entry.key.clone(), entry.clone())),
                    None => drop(copy.remove(event.key())),
                }
            }
            if last && next.events.is_empty() {
                return (prefix, copy.into_values().collect(), gaps);
            }
            for _ in 0..rng.below(200) {
                tokio::task::yield_now().await;
            }
        }
        gaps += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_falls_behind_is_told_and_catches_up() {
    let seed = setting("STOWPLAN_SEED", 1);
    let retention = Retention {
        revisions: 20,
        bytes: usize::MAX,
    };
    let store = Store::in_memory(Options {
        retention,
        bytes_max: usize::MAX,
        decoded_bytes: 0,
        inline: true,
        failure_pause: std::time::Duration::from_secs(1),
    });
    let until = Revision(setting("STOWPLAN_EVENTS", 20_000));
    let done = Arc::new(AtomicBool::new(false));
    let mirrors: Vec<_> = (0..WATCHERS)
        .map(|i| tokio::spawn(mirror(store.clone(), seed * 1_000 + i, done.clone())))
        .collect();
    write(store.clone(), seed, until).await;
    done.store(true, Ordering::Release);
    let mut gaps = 0;
    for mirror in mirrors {
        let (prefix, copy, lost) = mirror.await.unwrap();
        let page = store.range(prefix.as_bytes(), None, None, None).unwrap();
        assert_eq!(copy.len(), page.entries.len());
        let same = copy
            .iter()
            .zip(&page.entries)
            .all(|(a, b)| Arc::ptr_eq(a, b));
        assert!(same, "the copy of {prefix:?} is what is stored");
        gaps += lost;
    }
    assert!(gaps > 0, "nobody fell behind: nothing was tested");
}
