//! One operation after the other.

use crate::tools::{conflict, delete, put};
use std::sync::Arc;
use stowplan_store::{
    CommitError, Entry, Error, EventKind, Expect, Options, Retention, Revision, Store, Txn,
};

fn store() -> Store {
    Store::in_memory(Options::default())
}

fn keys(entries: &[Arc<Entry>]) -> Vec<String> {
    let key = |e: &Arc<Entry>| String::from_utf8_lossy(&e.key).into_owned();
    entries.iter().map(key).collect()
}

#[test]
fn an_empty_store_is_at_the_first_revision() {
    let store = store();
    assert_eq!(store.revision(), Revision(1));
    assert_eq!(store.compacted(), Revision(1));
    assert_eq!(store.count(b""), 0);
    let page = store.range(b"", None, None, None).unwrap();
    assert!(page.entries.is_empty() && !page.more && page.remaining == 0);
    assert_eq!(page.revision, Revision(1));
}

#[test]
fn entries_tell_their_revisions_and_versions() {
    let store = store();
    put(&store, "a", "1");
    put(&store, "b", "2");
    let changed = put(&store, "a", "3");
    assert_eq!(changed.revision, Revision(4));
    let a = store.get(b"a").unwrap();
    assert!(Arc::ptr_eq(&a, changed.entry().unwrap()));
    assert_eq!((&a.value[..], a.version), (&b"3"[..], 2));
    assert_eq!(
        (a.create_revision, a.mod_revision),
        (Revision(2), Revision(4))
    );
    let gone = delete(&store, "a");
    assert_eq!(gone.revision, Revision(5));
    assert!(Arc::ptr_eq(&a, gone.entry().unwrap()));
    assert!(store.get(b"a").is_none());
    put(&store, "a", "4");
    let a = store.get(b"a").unwrap();
    assert_eq!((a.version, a.create_revision), (1, Revision(6)));
}

#[test]
fn each_write_of_a_transaction_has_its_revision() {
    let store = store();
    put(&store, "old", "");
    let txn = Txn::new()
        .put("b", "1", Expect::Any)
        .delete("nothing", Expect::Any)
        .delete("old", Expect::Any)
        .put("a", "2", Expect::Any);
    let done = store.commit_blocking(txn).unwrap();
    assert_eq!(done.revision, Revision(5));
    let events: Vec<_> = done.events.iter().map(|e| (e.kind, e.revision.0)).collect();
    let (p, d) = (EventKind::Put, EventKind::Delete);
    assert_eq!(events, [(p, 3), (d, 4), (p, 5)]);
    assert!(done.events[0].is_create() && !done.events[1].is_create());
    assert_eq!(store.get(b"b").unwrap().mod_revision, Revision(3));
}

#[test]
fn a_transaction_without_effect_has_no_revision() {
    let store = store();
    put(&store, "a", "");
    for txn in [
        Txn::new(),
        Txn::new().delete("b", Expect::Any),
        Txn::new().require("a", Expect::Present),
    ] {
        let done = store.commit_blocking(txn).unwrap();
        assert_eq!(done.revision, Revision(2));
        assert!(done.events.is_empty() && done.entry().is_none());
    }
    assert_eq!(store.revision(), Revision(2));
}

#[test]
fn preconditions_hold_or_nothing_happens() {
    use Expect::{Absent, Any, Present, Revision as At};
    let store = store();
    let seen = put(&store, "a", "").revision;
    let stale = Revision(seen.0 - 1);
    for (key, expect, holds) in [
        ("a", Any, true),
        ("a", Absent, false),
        ("a", Present, true),
        ("a", At(seen), true),
        ("a", At(stale), false),
        ("b", Any, true),
        ("b", Absent, true),
        ("b", Present, false),
        ("b", At(seen), false),
        ("b", At(Revision(0)), false),
    ] {
        let check = |txn: Txn, what: &str| {
            let before = store.revision();
            let txn = txn.put("other", "", Any);
            match store.commit_blocking(txn) {
                Ok(_) => assert!(holds, "{what} {key} {expect:?}"),
                Err(error) => {
                    assert!(!holds, "{what} {key} {expect:?}");
                    let conflict = conflict(Err(error));
                    assert_eq!(
                        (&conflict.key[..], conflict.expected),
                        (key.as_bytes(), expect)
                    );
                    let current = store.get(key.as_bytes());
                    assert_eq!(
                        conflict.current.map(|e| e.mod_revision),
                        current.map(|e| e.mod_revision)
                    );
                    assert_eq!(store.revision(), before, "nothing was written");
                }
            }
        };
        check(Txn::new().require(key, expect), "require");
        if key == "b" {
            check(Txn::new().delete(key, expect), "delete");
        }
    }
    let txn = Txn::new().put("a", "new", At(stale)).put("c", "", Absent);
    assert_eq!(conflict(store.commit_blocking(txn)).key, "a");
    assert!(store.get(b"c").is_none());
}

#[test]
fn a_conflict_explains_itself() {
    let store = store();
    put(&store, "a", "");
    let text = |expect| {
        let outcome = store.commit_blocking(Txn::new().put("a", "", expect));
        outcome.unwrap_err().to_string()
    };
    assert_eq!(
        text(Expect::Absent),
        r#""a" is expected to be Absent, but is at revision 2"#
    );
    let outcome = store.commit_blocking(Txn::new().delete("b", Expect::Present));
    let text = outcome.unwrap_err().to_string();
    assert_eq!(text, r#""b" is expected to be Present, but is at none"#);
}

#[test]
fn transactions_see_those_before_them_in_one_batch() {
    let store = store();
    let create = || Txn::new().put("a", "", Expect::Absent);
    let outcomes = store.commit_all_blocking(vec![
        create(),
        create(),
        Txn::new().delete("a", Expect::Revision(Revision(2))),
        create(),
    ]);
    let revision = |i: usize| outcomes[i].as_ref().unwrap().revision.0;
    assert_eq!((revision(0), revision(2), revision(3)), (2, 3, 4));
    let lost = conflict(outcomes.into_iter().nth(1).unwrap());
    assert_eq!(lost.current.unwrap().mod_revision, Revision(2));
}

#[test]
fn impossible_transactions_are_refused() {
    let store = store();
    let twice = Txn::new()
        .put("a", "1", Expect::Any)
        .delete("a", Expect::Any);
    let outcome = store.commit_blocking(twice);
    assert!(matches!(outcome, Err(CommitError::WrittenTwice)));
    let long = Txn::new().put(vec![0; Txn::KEY_MAX + 1], "1", Expect::Any);
    assert!(matches!(
        store.commit_blocking(long),
        Err(CommitError::TooLarge)
    ));
    let fits = Txn::new().put(vec![0; Txn::KEY_MAX], "1", Expect::Any);
    store.commit_blocking(fits).unwrap();
    assert_eq!(store.revision(), Revision(2));
}

#[test]
fn ranges_have_a_prefix_an_order_and_pages() {
    let store = store();
    for key in ["b/2", "a/1", "b/1", "b", "c/1", "b/3"] {
        put(&store, key, "");
    }
    let page = store.range(b"b/", None, None, None).unwrap();
    assert_eq!(keys(&page.entries), ["b/1", "b/2", "b/3"]);
    assert_eq!(store.count(b"b/"), 3);
    let page = store.range(b"b/", None, None, Some(1)).unwrap();
    assert_eq!(
        (keys(&page.entries), page.more, page.remaining),
        (vec!["b/1".into()], true, 2)
    );
    let page = store.range(b"b/", None, Some(b"b/1"), Some(2)).unwrap();
    assert_eq!(
        (keys(&page.entries), page.more),
        (vec!["b/2".into(), "b/3".into()], false)
    );
    let page = store.range(b"b/", None, Some(b"a"), None).unwrap();
    assert_eq!(page.entries.len(), 3, "before the prefix");
    assert!(
        store
            .range(b"b/", None, Some(b"c"), None)
            .unwrap()
            .entries
            .is_empty()
    );
    let page = store.range(b"b/", None, None, Some(0)).unwrap();
    assert_eq!((page.entries.len(), page.remaining), (0, 3));
}

#[test]
fn pages_of_one_revision_agree_whatever_happens_meanwhile() {
    let store = store();
    for key in ["a", "b", "c", "d"] {
        put(&store, key, "old");
    }
    let first = store.range(b"", None, None, Some(1)).unwrap();
    delete(&store, "b");
    put(&store, "c", "new");
    put(&store, "bb", "new");
    let rest = store
        .range(b"", Some(first.revision), Some(b"a"), Some(2))
        .unwrap();
    assert_eq!(keys(&rest.entries), ["b", "c"]);
    assert!(rest.entries.iter().all(|e| e.value == "old"));
    assert_eq!((rest.more, rest.remaining), (true, 1));
    assert_eq!(rest.revision, first.revision);
    let now = store.range(b"", None, None, None).unwrap();
    assert_eq!(keys(&now.entries), ["a", "bb", "c", "d"]);
}

#[test]
fn only_kept_revisions_can_be_read() {
    let store = store();
    for value in ["1", "2", "3"] {
        put(&store, "a", value);
    }
    store.compact_blocking(Revision(3)).unwrap();
    assert_eq!(store.compacted(), Revision(3));
    let at = |revision| store.range(b"", Some(Revision(revision)), None, None);
    assert!(matches!(
        at(2),
        Err(Error::Compacted {
            requested: Revision(2),
            compacted: Revision(3)
        })
    ));
    assert_eq!(at(3).unwrap().entries[0].value, "2");
    assert_eq!(at(4).unwrap().entries[0].value, "3");
    assert!(matches!(
        at(5),
        Err(Error::Future {
            requested: Revision(5),
            current: Revision(4)
        })
    ));
    store.compact_blocking(Revision(2)).unwrap();
    assert_eq!(store.compacted(), Revision(3), "what is gone stays gone");
    let future = store.compact_blocking(Revision(5));
    assert!(matches!(future, Err(CommitError::Future { .. })));
    store.compact_blocking(Revision(4)).unwrap();
    assert_eq!(store.stats().history, 0);
    assert_eq!(store.stats().history_bytes, 0);
    assert_eq!(store.get(b"a").unwrap().value, "3");
}

#[test]
fn history_is_kept_as_told() {
    let retention = Retention {
        revisions: 100,
        bytes: usize::MAX,
    };
    let store = Store::in_memory(Options {
        retention,
        ..Options::default()
    });
    for i in 0..5_000 {
        put(&store, "a", &i.to_string());
        let stats = store.stats();
        assert!(stats.history >= 100.min(i + 1) && stats.history <= 100 + 257);
    }
    let retention = Retention {
        revisions: usize::MAX,
        bytes: 100_000,
    };
    let store = Store::in_memory(Options {
        retention,
        ..Options::default()
    });
    let value = "x".repeat(1_000);
    for _ in 0..1_000 {
        put(&store, "a", &value);
        assert!(store.stats().history_bytes <= 102_000);
    }
    assert!(store.stats().history > 50);
}

#[test]
fn decoded_values_are_shared_as_long_as_there_is_room() {
    let store = Store::in_memory(Options {
        decoded_bytes: 100,
        ..Options::default()
    });
    put(&store, "a", "12");
    let entry = store.get(b"a").unwrap();
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().parse::<u32>().unwrap();
    let one = entry.decoded(number);
    assert_eq!(*one, 12);
    assert!(Arc::ptr_eq(&one, &store.get(b"a").unwrap().decoded(number)));
    for i in 0..1_000 {
        put(&store, "a", &i.to_string());
        assert_eq!(*store.get(b"a").unwrap().decoded(number), i);
        assert!(store.stats().decoded_bytes <= 100);
    }
    assert_eq!(store.stats().history, 1_001);
}

#[tokio::test]
async fn a_revision_can_be_waited_for() {
    let store = store();
    store.reached(Revision(1)).await.unwrap();
    let waiter = tokio::spawn({
        let store = store.clone();
        async move { store.reached(Revision(3)).await.map(|()| store.revision()) }
    });
    for key in ["a", "b"] {
        store
            .commit(Txn::new().put(key, "", Expect::Any))
            .await
            .unwrap();
    }
    assert_eq!(waiter.await.unwrap().unwrap(), Revision(3));
    let waiter = tokio::spawn({
        let store = store.clone();
        async move { store.reached(Revision(9)).await }
    });
    tokio::task::yield_now().await;
    store.close();
    assert!(matches!(waiter.await.unwrap(), Err(Error::Closed)));
}

#[tokio::test]
async fn a_closed_store_still_reads() {
    let store = store();
    put(&store, "a", "");
    store.close();
    let txn = || Txn::new().put("a", "", Expect::Any);
    assert!(matches!(
        store.commit_blocking(txn()),
        Err(CommitError::Closed)
    ));
    assert!(matches!(
        store.commit(txn()).await,
        Err(CommitError::Closed)
    ));
    assert!(matches!(
        store.compact(Revision(2)).await,
        Err(CommitError::Closed)
    ));
    assert!(matches!(
        store.compact_blocking(Revision(2)),
        Err(CommitError::Closed)
    ));
    assert_eq!(store.count(b""), 1);
    store.close();
}
