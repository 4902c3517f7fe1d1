//! Many at once.

use crate::tools::{Folder, setting};
use std::thread;
use stowplan_store::{CommitError, Expect, Options, Revision, Store, Txn};

const WRITERS: usize = 8;

/// Runs a function in several threads and returns what each answered.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..WRITERS).map(|i| scope.spawn(move || work(i))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn stores(folder: &Folder) -> [Store; 2] {
    let options = Options::default();
    let disk = Store::on_disk(folder.file("store"), options).unwrap();
    [Store::in_memory(options), disk]
}

#[test]
fn of_many_who_create_a_key_one_wins() {
    let folder = Folder::new();
    for store in stores(&folder) {
        for round in 0..setting("STOWPLAN_RACES", 50) {
            let key = format!("key/{round}");
            let outcomes = at_once(|i| {
                let txn = Txn::new().put(key.clone(), i.to_string(), Expect::Absent);
                store.commit_blocking(txn)
            });
            let won: Vec<_> = (0..WRITERS).filter(|i| outcomes[*i].is_ok()).collect();
            assert_eq!(won.len(), 1, "round {round}");
            let entry = store.get(key.as_bytes()).unwrap();
            assert_eq!(entry.value, won[0].to_string());
            for lost in outcomes.into_iter().filter_map(Result::err) {
                let CommitError::Conflict(conflict) = lost else {
                    panic!("{lost}");
                };
                assert_eq!(conflict.current.unwrap().mod_revision, entry.mod_revision);
            }
        }
    }
}

#[test]
fn no_update_is_lost_among_compare_and_swaps() {
    const UPDATES: usize = 25;
    let folder = Folder::new();
    for store in stores(&folder) {
        let start = Txn::new().put("sum", "0", Expect::Absent);
        store.commit_blocking(start).unwrap();
        let conflicts: usize = at_once(|_| {
            let mut conflicts = 0;
            for _ in 0..UPDATES {
                while !add_one(&store) {
                    conflicts += 1;
                }
            }
            conflicts
        })
        .into_iter()
        .sum();
        let sum = store.get(b"sum").unwrap();
        assert_eq!(sum.value, (WRITERS * UPDATES).to_string());
        assert_eq!(sum.version as usize, 1 + WRITERS * UPDATES);
        assert_eq!(
            store.revision(),
            Revision(1 + sum.version),
            "{conflicts} conflicts left no trace"
        );
    }
}

fn add_one(store: &Store) -> bool {
    let entry = store.get(b"sum").unwrap();
    let sum: u32 = std::str::from_utf8(&entry.value).unwrap().parse().unwrap();
    let seen = Expect::Revision(entry.mod_revision);
    let txn = Txn::new().put("sum", (sum + 1).to_string(), seen);
    store.commit_blocking(txn).is_ok()
}

#[test]
fn a_limit_held_by_a_condition_is_never_passed() {
    const ROOM: usize = 20;
    let folder = Folder::new();
    for store in stores(&folder) {
        let start = Txn::new().put("used", "0", Expect::Absent);
        store.commit_blocking(start).unwrap();
        let taken: usize = at_once(|i| {
            let mut taken = 0;
            while let Some(done) = take(&store, ROOM, &format!("item/{i}/{taken}")) {
                taken += usize::from(done);
            }
            taken
        })
        .into_iter()
        .sum();
        assert_eq!((taken, store.count(b"item/")), (ROOM, ROOM));
    }
}

/// Nothing if there is no room; otherwise whether the item was placed.
fn take(store: &Store, room: usize, item: &str) -> Option<bool> {
    let used = store.get(b"used").unwrap();
    let sum: usize = std::str::from_utf8(&used.value).unwrap().parse().unwrap();
    assert!(sum <= room);
    let txn = Txn::new().put(item.to_owned(), "", Expect::Absent).put(
        "used",
        (sum + 1).to_string(),
        Expect::Revision(used.mod_revision),
    );
    (sum < room).then(|| store.commit_blocking(txn).is_ok())
}

#[test]
fn readers_see_whole_transactions_only() {
    let folder = Folder::new();
    for store in stores(&folder) {
        let last = 300;
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..=last {
                    let value = i.to_string();
                    let txn = Txn::new().put("x", value.clone(), Expect::Any).put(
                        "y",
                        value,
                        Expect::Any,
                    );
                    store.commit_blocking(txn).unwrap();
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let page = store.range(b"", None, None, None).unwrap();
                        let values: Vec<_> = page.entries.iter().map(|e| &e.value).collect();
                        assert!(values.windows(2).all(|v| v[0] == v[1]), "{values:?}");
                        assert!(values.len() != 1);
                        if values.first().is_some_and(|v| **v == last.to_string()) {
                            break;
                        }
                    }
                });
            }
        });
    }
}
