//! Disks that fail, and files that somebody damaged.

use crate::disk::Disk;
use crate::tools::{put, setting};
use std::error::Error as _;
use stowplan_base::Rng;
use stowplan_store::{CommitError, Expect, OpenError, Options, Redb, Revision, Store, Txn};

fn open(disk: &Disk) -> Result<Store, OpenError> {
    Store::open(Redb::on_storage(disk.clone(), "disk")?, Options::default())
}

#[tokio::test]
async fn after_a_failed_write_nothing_is_written_and_everything_is_read() {
    let disk = Disk::default();
    let store = open(&disk).unwrap();
    put(&store, "a", "1");
    let mut watch = store.watch("", Revision(1)).unwrap();
    disk.turn_off();
    for _ in 0..2 {
        let txn = Txn::new().put("a", "2", Expect::Any);
        let error = store.commit(txn).await.unwrap_err();
        assert!(matches!(error, CommitError::Storage(_)), "{error}");
        assert_eq!(error.to_string(), "the store cannot write: the disk failed");
        let source = error.source().unwrap();
        assert_eq!(source.to_string(), "cannot write to disk");
        let root = source.source().unwrap().to_string();
        assert_eq!(root, "the disk is off", "the first failure is remembered");
    }
    let compaction = store.compact(Revision(2)).await;
    assert!(matches!(compaction, Err(CommitError::Storage(_))));
    assert_eq!(store.revision(), Revision(2));
    assert_eq!(store.get(b"a").unwrap().value, "1");
    assert_eq!(
        watch.try_next().unwrap().events.len(),
        1,
        "nobody saw the second"
    );
    drop(store);

    let store = open(&disk.after_kill(disk.changes())).unwrap();
    assert_eq!(store.get(b"a").unwrap().value, "1");
    assert_eq!(put(&store, "a", "3").revision, Revision(3));
}

/// Whatever is wrong with a file: an error that names it, or, where the damage does not matter, what
/// was stored. Never a panic, never something else.
#[test]
fn a_damaged_file_is_refused() {
    let disk = Disk::default();
    let store = open(&disk).unwrap();
    for i in 0..200 {
        put(&store, &format!("key/{i}"), &"value ".repeat(i));
    }
    store.compact_blocking(Revision(100)).unwrap();
    let good = content(&store);
    drop(store);
    let image = disk.content();
    let mut refused = 0;
    let tries = setting("STOWPLAN_DAMAGES", 400);
    for seed in (setting("STOWPLAN_SEED", 1)..).take(tries as usize) {
        let mut rng = Rng::new(seed);
        let bad = damaged(image.clone(), &mut rng);
        match std::panic::catch_unwind(|| open(&Disk::with(bad))) {
            Ok(Ok(store)) => assert!(
                content(&store) == good,
                "STOWPLAN_SEED={seed}: other content"
            ),
            Ok(Err(error)) => {
                assert!(
                    error.to_string().contains("disk"),
                    "STOWPLAN_SEED={seed}: {error}"
                );
                refused += 1;
            }
            Err(_) => panic!("STOWPLAN_SEED={seed}: it panics"),
        }
    }
    assert!(refused * 10 > tries, "only {refused} of {tries} mattered");
}

type Pair = (Vec<u8>, Vec<u8>);

fn content(store: &Store) -> (Revision, Vec<Pair>) {
    let page = store.range(b"", None, None, None).unwrap();
    let pair = |e: &std::sync::Arc<stowplan_store::Entry>| (e.key.to_vec(), e.value.to_vec());
    (page.revision, page.entries.iter().map(pair).collect())
}

fn damaged(mut image: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let length = image.len();
    // Half of the time where it hurts most.
    let reach = if rng.below(2) == 0 { 64 << 10 } else { length };
    let at = rng.below(reach.min(length));
    match rng.below(5) {
        0 => image[at] ^= 1 << rng.below(8),
        1 => image[at] = rng.below(256) as u8,
        2 => {
            let end = length.min(at + 1 + rng.below(4096));
            image[at..end].fill(0);
        }
        3 => {
            let end = length.min(at + 1 + rng.below(4096));
            image[at..end].fill_with(|| rng.below(256) as u8);
        }
        _ => image.truncate(at),
    }
    image
}
