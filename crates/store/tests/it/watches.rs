//! One watch at a time.

use crate::tools::{Folder, delete, put, short};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use stowplan_store::{Error, Expect, Options, Revision, Seen, Store, Txn};

fn store() -> Store {
    Store::in_memory(Options::default())
}

fn shorts(seen: &Seen) -> Vec<String> {
    seen.events.iter().map(|e| short(e)).collect()
}

#[test]
fn a_watch_tells_what_happened_under_its_prefix() {
    let store = store();
    put(&store, "a/1", "x");
    put(&store, "b/1", "x");
    let mut all = store.watch("", Revision(1)).unwrap();
    let mut a = store.watch("a/", Revision(1)).unwrap();
    put(&store, "a/1", "y");
    delete(&store, "b/1");
    delete(&store, "a/1");
    let seen = a.try_next().unwrap();
    assert_eq!(
        shorts(&seen),
        ["2 put a/1=x", "4 put a/1=y", "6 delete a/1"]
    );
    assert_eq!((seen.revision, a.revision()), (Revision(6), Revision(6)));
    let [created, changed, deleted] = &seen.events[..] else {
        panic!("three events");
    };
    assert!(created.previous.is_none() && created.is_create());
    let before = changed.previous.as_ref().unwrap();
    assert!(Arc::ptr_eq(before, &created.entry));
    assert!(Arc::ptr_eq(
        deleted.previous.as_ref().unwrap(),
        &changed.entry
    ));
    assert!(Arc::ptr_eq(&deleted.entry, &changed.entry));
    let seen = all.try_next().unwrap();
    assert_eq!(seen.events.len(), 5);
    assert!(Arc::ptr_eq(&seen.events[0], created), "events are shared");
    assert!(
        a.try_next().unwrap().events.is_empty(),
        "each event comes once"
    );
}

#[test]
fn a_watch_resumes_from_every_revision() {
    let store = store();
    let mut txns = Vec::new();
    for i in 0..10 {
        let txn = Txn::new().put(format!("k{i}"), "", Expect::Any);
        txns.push(txn.put(format!("l{i}"), "", Expect::Any));
    }
    store.commit_all_blocking(txns);
    let mut all = store.watch("", Revision(1)).unwrap();
    let all = shorts(&all.try_next().unwrap());
    for after in 1..=store.revision().0 {
        let mut watch = store.watch("", Revision(after)).unwrap();
        let rest = shorts(&watch.try_next().unwrap());
        assert_eq!(rest, all[after as usize - 1..], "also within a transaction");
    }
}

#[test]
fn a_watch_starts_where_history_is_kept() {
    let store = store();
    for key in ["a", "b", "c"] {
        put(&store, key, "");
    }
    store.compact_blocking(Revision(3)).unwrap();
    let old = store.watch("", Revision(2)).unwrap_err();
    assert_eq!(
        old.to_string(),
        "revision 2 is too old: the oldest that is kept is 3"
    );
    let mut watch = store.watch("", Revision(3)).unwrap();
    assert_eq!(shorts(&watch.try_next().unwrap()), ["4 put c="]);
    let future = store.watch("", Revision(5)).unwrap_err();
    assert_eq!(
        future.to_string(),
        "revision 5 is in the future: the store is at 4"
    );
    assert!(store.watch("", Revision(4)).is_ok());
}

#[test]
fn a_slow_watch_is_told_of_its_gap() {
    let store = store();
    let mut slow = store.watch("a/", Revision(1)).unwrap();
    let mut idle = store.watch("b/", Revision(1)).unwrap();
    for i in 0..10 {
        put(&store, "a/1", &i.to_string());
    }
    store.compact_blocking(Revision(6)).unwrap();
    for _ in 0..2 {
        let error = slow.try_next().unwrap_err();
        assert!(
            matches!(
                error,
                Error::Compacted {
                    requested: Revision(1),
                    compacted: Revision(6)
                }
            ),
            "{error}"
        );
    }
    // Nothing that concerns it was dropped, so it goes on as if nothing had happened.
    put(&store, "b/1", "");
    assert_eq!(shorts(&idle.try_next().unwrap()), ["12 put b/1="]);
    let mut second = store.watch("a/", Revision(8)).unwrap();
    assert_eq!(
        second.try_next().unwrap().events.len(),
        3,
        "beside a slow one"
    );
}

#[test]
fn a_later_watch_may_start_earlier() {
    let store = store();
    put(&store, "a", "1");
    put(&store, "a", "2");
    let mut late = store.watch("a", store.revision()).unwrap();
    put(&store, "a", "3");
    let mut early = store.watch("a", Revision(2)).unwrap();
    assert_eq!(
        shorts(&early.try_next().unwrap()),
        ["3 put a=2", "4 put a=3"]
    );
    assert_eq!(shorts(&late.try_next().unwrap()), ["4 put a=3"]);
}

#[test]
fn progress_is_told_without_events() {
    let store = store();
    let mut watch = store.watch("b", Revision(1)).unwrap();
    for _ in 0..3 {
        put(&store, "a", "");
    }
    assert_eq!(watch.revision(), Revision(1));
    let seen = watch.try_next().unwrap();
    assert!(seen.events.is_empty());
    assert_eq!(
        (seen.revision, watch.revision()),
        (Revision(4), Revision(4))
    );
}

#[test]
fn a_long_backlog_comes_in_pieces() {
    let store = store();
    let mut watch = store.watch("", Revision(1)).unwrap();
    let txns = (0..3_000).map(|i| Txn::new().put(format!("{i}"), "", Expect::Any));
    store.commit_all_blocking(txns.collect());
    let mut next = 2;
    loop {
        let seen = watch.try_next().unwrap();
        let Some(last) = seen.events.last() else {
            break;
        };
        assert!(seen.events.len() <= 1024);
        assert_eq!(
            seen.revision, last.revision,
            "no more is promised than was given"
        );
        for event in &seen.events {
            assert_eq!(event.revision, Revision(next));
            next += 1;
        }
    }
    assert_eq!(next, 3_002);
}

#[test]
fn a_watch_that_ends_leaves_nothing_behind() {
    let store = store();
    let one = store.watch("a", Revision(1)).unwrap();
    let two = store.watch("a", Revision(1)).unwrap();
    assert_eq!(store.stats().watches, 2);
    drop(one);
    assert_eq!(store.stats().watches, 1);
    put(&store, "a", "");
    drop(two);
    assert_eq!(store.stats().watches, 0);
    let mut again = store.watch("a", Revision(1)).unwrap();
    assert_eq!(again.try_next().unwrap().events.len(), 1);
}

#[tokio::test]
async fn waiting_ends_with_the_next_event() {
    let folder = Folder::new();
    let disk = Store::on_disk(folder.file("store"), Options::default()).unwrap();
    for store in [store(), disk] {
        let mut watch = store.watch("a", Revision(1)).unwrap();
        let waiting = tokio::spawn(async move {
            let seen = watch.next().await.unwrap();
            (watch, seen)
        });
        tokio::task::yield_now().await;
        for key in ["b", "c", "a"] {
            store
                .commit(Txn::new().put(key, "", Expect::Any))
                .await
                .unwrap();
        }
        let (mut watch, seen) = waiting.await.unwrap();
        assert_eq!(shorts(&seen), ["4 put a="]);
        store
            .commit(Txn::new().put("a", "2", Expect::Any))
            .await
            .unwrap();
        assert_eq!(shorts(&watch.next().await.unwrap()), ["5 put a=2"]);
    }
}

/// Counts how often somebody is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_watch_is_woken_for_each_batch_of_its_own_and_for_no_other() {
    let store = store();
    let mut watch = store.watch("a/", Revision(1)).unwrap();
    for round in 0..3 {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut next = pin!(watch.next());
        assert!(next.as_mut().poll(&mut context).is_pending());
        put(&store, "b/1", "");
        put(&store, "a", "");
        assert_eq!(woken.0.load(Ordering::Relaxed), 0, "round {round}");
        let txn = Txn::new().put("a/1", "", Expect::Any);
        store
            .commit_blocking(txn.put("a/2", "", Expect::Any))
            .unwrap();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "round {round}");
        let Poll::Ready(seen) = next.poll(&mut context) else {
            panic!("woken for nothing");
        };
        assert_eq!(seen.unwrap().events.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_may_be_given_up() {
    let store = store();
    let mut watch = store.watch("", Revision(1)).unwrap();
    for i in 0..5 {
        let wait = tokio::time::timeout(Duration::from_secs(1), watch.next());
        assert!(wait.await.is_err());
        put(&store, "a", &i.to_string());
        assert_eq!(
            shorts(&watch.next().await.unwrap()),
            [format!("{} put a={i}", i + 2)]
        );
    }
}

#[tokio::test]
async fn a_watch_ends_with_the_store() {
    let folder = Folder::new();
    let disk = Store::on_disk(folder.file("store"), Options::default()).unwrap();
    for store in [store(), disk] {
        let mut waiting = store.watch("b", Revision(1)).unwrap();
        let waiting = tokio::spawn(async move { waiting.next().await });
        let mut late = store.watch("a", Revision(1)).unwrap();
        store
            .commit(Txn::new().put("a", "", Expect::Any))
            .await
            .unwrap();
        drop(store);
        assert!(matches!(waiting.await.unwrap(), Err(Error::Closed)));
        assert_eq!(
            late.next().await.unwrap().events.len(),
            1,
            "first what there was"
        );
        assert!(matches!(late.next().await, Err(Error::Closed)));
    }
}
