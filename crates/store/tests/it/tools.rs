//! What several tests need.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use stowplan_store::{CommitError, Committed, Conflict, Event, EventKind, Expect, Store, Txn};

/// A folder that is gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("stowplan-store-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(crate) fn put(store: &Store, key: &str, value: &str) -> Committed {
    let txn = Txn::new().put(key.to_owned(), value.to_owned(), Expect::Any);
    store.commit_blocking(txn).unwrap()
}

pub(crate) fn delete(store: &Store, key: &str) -> Committed {
    let txn = Txn::new().delete(key.to_owned(), Expect::Present);
    store.commit_blocking(txn).unwrap()
}

pub(crate) fn conflict(outcome: Result<Committed, CommitError>) -> Conflict {
    match outcome {
        Err(CommitError::Conflict(conflict)) => *conflict,
        other => panic!("no conflict: {other:?}"),
    }
}

/// An event in short: `7 put a=1`, `8 delete a`.
pub(crate) fn short(event: &Event) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let key = text(event.key());
    match event.kind {
        EventKind::Put => format!("{} put {key}={}", event.revision, text(&event.entry.value)),
        EventKind::Delete => format!("{} delete {key}", event.revision),
    }
}

/// A number from the environment: how much a test does, or from which seed on.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
        Err(_) => default,
    }
}
