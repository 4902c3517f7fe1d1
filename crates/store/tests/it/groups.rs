//! Commits that come in together share a write, and nobody sees them before it is durable.

use std::pin::{Pin, pin};
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Poll, Waker};
use stowplan_store::{
    Backend, Batch, CommitError, Expect, Loaded, OpenError, Options, Revision, Store, Txn,
    WriteError,
};

/// Says what it is about to write, and waits until it may go on.
struct Gate {
    writes: Sender<usize>,
    go_on: Receiver<()>,
}

impl Backend for Gate {
    fn name(&self) -> String {
        "gate".to_owned()
    }

    fn load(&mut self) -> Result<Loaded, OpenError> {
        Ok(Loaded {
            compacted: Revision::FIRST,
            records: Vec::new(),
        })
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.writes.send(batch.append.len()).unwrap();
        self.go_on.recv().unwrap();
        Ok(())
    }
}

fn gated() -> (Store, Receiver<usize>, Sender<()>) {
    let (writes, written) = mpsc::channel();
    let (open, go_on) = mpsc::channel();
    let store = Store::open(Gate { writes, go_on }, Options::default()).unwrap();
    (store, written, open)
}

fn create(key: &str) -> Txn {
    Txn::new().put(key.to_owned(), "", Expect::Absent)
}

/// Whether a future is ready; asking a commit for the first time hands it in.
fn ask<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn nobody_sees_what_is_not_durable() {
    let (store, written, open) = gated();
    let mut watch = store.watch("", Revision::FIRST).unwrap();
    let mut first = pin!(store.commit(create("a")));
    assert!(ask(first.as_mut()).is_pending());
    assert_eq!(written.recv().unwrap(), 1);
    // It will fail because of the first one, but may not say so yet.
    let mut second = pin!(store.commit(create("a")));
    assert!(ask(second.as_mut()).is_pending());
    assert!(ask(first.as_mut()).is_pending());
    assert!(store.get(b"a").is_none());
    assert_eq!((store.revision(), store.count(b"")), (Revision(1), 0));
    assert!(watch.try_next().unwrap().events.is_empty());
    assert_eq!(watch.revision(), Revision(1));

    open.send(()).unwrap();
    assert_eq!(first.await.unwrap().revision, Revision(2));
    assert!(store.get(b"a").is_some());
    assert_eq!(watch.try_next().unwrap().events.len(), 1);
    assert!(matches!(second.await, Err(CommitError::Conflict(_))));
}

#[tokio::test]
async fn what_waits_is_written_together() {
    let (store, written, open) = gated();
    let mut first = pin!(store.commit(create("first")));
    assert!(ask(first.as_mut()).is_pending());
    assert_eq!(written.recv().unwrap(), 1);
    let keys: Vec<_> = (0..50).map(|i| format!("key/{}", i % 40)).collect();
    let mut waiting: Vec<_> = keys
        .iter()
        .map(|key| Box::pin(store.commit(create(key))))
        .collect();
    for commit in &mut waiting {
        assert!(ask(commit.as_mut()).is_pending());
    }
    open.send(()).unwrap();
    open.send(()).unwrap();
    let mut revisions = Vec::new();
    for (i, commit) in waiting.into_iter().enumerate() {
        match commit.await {
            Ok(done) => revisions.push(done.revision.0),
            Err(error) => assert!(i >= 40, "{error}"),
        }
    }
    assert_eq!(
        written.recv().unwrap(),
        40,
        "one write for all, conflicts left out"
    );
    assert_eq!(
        revisions,
        (3..43).collect::<Vec<_>>(),
        "in the order in which they came"
    );
    assert!(written.try_recv().is_err());
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_happens_or_not_as_a_whole() {
    let (store, written, open) = gated();
    {
        let txn = create("a").put("b", "", Expect::Absent);
        let mut given_up = pin!(store.commit(txn));
        assert!(ask(given_up.as_mut()).is_pending());
    }
    open.send(()).unwrap();
    assert_eq!(written.recv().unwrap(), 2);
    open.send(()).unwrap();
    store.commit(create("c")).await.unwrap();
    assert_eq!((store.count(b""), store.revision()), (3, Revision(4)));
}

#[tokio::test]
async fn closing_finishes_what_was_asked_for() {
    let (store, written, open) = gated();
    let mut first = pin!(store.commit(create("a")));
    let mut second = pin!(store.commit(create("b")));
    assert!(ask(first.as_mut()).is_pending());
    assert_eq!(written.recv().unwrap(), 1);
    assert!(ask(second.as_mut()).is_pending());
    for _ in 0..2 {
        open.send(()).unwrap();
    }
    store.close();
    assert!(first.await.is_ok());
    assert!(second.await.is_ok());
    assert!(matches!(
        store.commit(create("c")).await,
        Err(CommitError::Closed)
    ));
    assert_eq!(store.count(b""), 2);
}

#[tokio::test]
async fn a_backend_that_panics_closes_the_store() {
    let (store, _, open) = gated();
    let mut watch = store.watch("", Revision::FIRST).unwrap();
    drop(open);
    let outcome = store.commit(create("a")).await;
    assert!(matches!(outcome, Err(CommitError::Closed)));
    assert!(watch.next().await.is_err());
    assert_eq!(store.count(b""), 0);
}
