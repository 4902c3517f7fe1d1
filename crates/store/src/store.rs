//! The handle that everybody holds.

use crate::decoded::Cache;
use crate::state::State;
use crate::writer::{Answer, Message, Order, Writer};
use crate::{
    Backend, CommitError, Committed, Entry, Error, Event, Memory, OpenError, Page, Redb, Retention,
    Revision, Txn, Watch,
};
use bytes::Bytes;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How a store behaves.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How much history it keeps.
    pub retention: Retention,
    /// Bytes that the current entries may take up, roughly. Beyond that a write may make them smaller
    /// only. They are all in memory, so that there is an end to it: etcd's `--quota-backend-bytes`.
    pub bytes_max: usize,
    /// Bytes that decoded forms may take up, roughly ([`Entry::decoded`]).
    pub decoded_bytes: usize,
    /// Whether commits are carried out by the thread that asks for them, one after the other, so
    /// that a run can be repeated exactly. Otherwise a thread of the store's own does it, and
    /// commits that come in at the same time share a sync. In memory it is always so.
    pub inline: bool,
    /// How long after a write that failed because the disk is full it is looked whether there is room
    /// again; then less and less often.
    pub failure_pause: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            bytes_max: 2 << 30,
            decoded_bytes: 64 << 20,
            inline: false,
            failure_pause: Duration::from_secs(1),
        }
    }
}

/// Keys and values with revisions. Clones are handles to the same store; when the last one goes, it
/// is closed.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    commits: Commits,
}

/// What readers and the writer have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    state: RwLock<State>,
    published: watch::Sender<Revision>,
    /// Whether a write failed, after which there is none until that is over.
    failed: AtomicBool,
}

struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Who carries out commits.
enum Commits {
    Thread(Sender<Message>, Mutex<Option<JoinHandle<()>>>),
    Caller(Mutex<Option<Writer>>),
}

/// Figures for whoever wants to know how a store is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stats {
    /// The revision of the last write.
    pub revision: Revision,
    /// The oldest revision that can be read.
    pub compacted: Revision,
    /// Current keys.
    pub entries: usize,
    /// Bytes that the current entries take up, roughly.
    pub bytes: usize,
    /// Writes that are kept.
    pub history: usize,
    /// Bytes that old versions take up, roughly.
    pub history_bytes: usize,
    /// Bytes that decoded forms take up, roughly.
    pub decoded_bytes: usize,
    /// Open watches.
    pub watches: usize,
    /// Whether a write failed: all further ones are refused, until there is room again or, if it was
    /// not for lack of that, until the store is opened again.
    pub failed: bool,
}

impl Store {
    /// Opens what a backend holds.
    pub fn open(backend: impl Backend, options: Options) -> Result<Self, OpenError> {
        let mut backend: Box<dyn Backend> = Box::new(backend);
        let state = crate::load::load(&mut *backend, Cache::new(options.decoded_bytes))?;
        let shared = Arc::new(Shared {
            published: watch::Sender::new(state.revision),
            state: RwLock::new(state),
            failed: AtomicBool::new(false),
        });
        let writer = Writer::new(backend, &options);
        let commits = if options.inline {
            Commits::Caller(Mutex::new(Some(writer)))
        } else {
            Commits::start(writer, shared.clone())?
        };
        Ok(Self(Arc::new(Inner { shared, commits })))
    }

    /// Opens a file, or creates it. Blocks while it reads all of it.
    pub fn on_disk(file: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open(Redb::open(file)?, options)
    }

    /// A new store that lasts as long as its handles.
    pub fn in_memory(options: Options) -> Self {
        let state = State::new(Revision::FIRST, Cache::new(options.decoded_bytes));
        let writer = Writer::new(Box::new(Memory), &options);
        let shared = Arc::new(Shared {
            published: watch::Sender::new(state.revision),
            state: RwLock::new(state),
            failed: AtomicBool::new(false),
        });
        let commits = Commits::Caller(Mutex::new(Some(writer)));
        Self(Arc::new(Inner { shared, commits }))
    }

    /// The revision of the last write that is durable.
    pub fn revision(&self) -> Revision {
        self.0.shared.read().revision
    }

    /// The oldest revision that can be read, and after which a watch can start.
    pub fn compacted(&self) -> Revision {
        self.0.shared.read().compacted
    }

    /// What is under a key.
    pub fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.0.shared.read().current.get(key).cloned()
    }

    /// The entries with a prefix, in the order of their keys, as they were at one revision (now,
    /// unless told), after a key and no more than a limit.
    pub fn range(
        &self,
        prefix: &[u8],
        at: Option<Revision>,
        after: Option<&[u8]>,
        limit: Option<usize>,
    ) -> Result<Page, Error> {
        self.0.shared.read().range(prefix, at, after, limit)
    }

    /// How many keys have a prefix.
    pub fn count(&self, prefix: &[u8]) -> usize {
        self.0.shared.read().count(prefix)
    }

    /// Whether more than so many keys have a prefix, or their values more than so many bytes. Looks at
    /// no more of them than that.
    pub fn outweighs(&self, prefix: &[u8], count: usize, bytes: usize) -> bool {
        self.0.shared.read().outweighs(prefix, count, bytes)
    }

    /// How many bytes the values of a prefix have, or of its first ones if these have more than this.
    pub fn bytes(&self, prefix: &[u8], enough: usize) -> usize {
        self.0.shared.read().bytes(prefix, enough)
    }

    /// Follows the writes to keys with a prefix, from the first one after a revision.
    pub fn watch(&self, prefix: impl Into<Bytes>, after: Revision) -> Result<Watch, Error> {
        Watch::new(self.0.shared.clone(), prefix.into(), after)
    }

    /// How many events a watch has to go through to begin after a revision: none if somebody watches the
    /// same from there on.
    pub fn events_to_join(&self, prefix: &[u8], after: Revision) -> usize {
        let state = self.0.shared.read();
        let complete = state.channels.complete_after(prefix, state.revision);
        complete.since(after)
    }

    /// Waits until the store has reached a revision.
    pub async fn reached(&self, revision: Revision) -> Result<(), Error> {
        let mut published = self.0.shared.published.subscribe();
        let reached = published.wait_for(|now| *now >= revision || self.0.shared.read().closed);
        match reached.await.map(|now| *now) {
            Ok(now) if now >= revision => Ok(()),
            _ => Err(Error::Closed),
        }
    }

    /// Carries out a transaction. The answer comes when it is durable; who does not wait for it does
    /// not know whether it happened.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        txn.check()?;
        let (send, receive) = oneshot::channel();
        self.0.commits.order(&self.0.shared, vec![(txn, to(send))]);
        receive.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Carries out a transaction. Blocks until it is durable.
    pub fn commit_blocking(&self, txn: Txn) -> Result<Committed, CommitError> {
        let outcome = self.commit_all_blocking(vec![txn]).pop();
        outcome.unwrap_or(Err(CommitError::Closed))
    }

    /// Carries out transactions in order, each on its own all or nothing, with one sync for all.
    /// Blocks until they are durable.
    pub fn commit_all_blocking(&self, txns: Vec<Txn>) -> Vec<Result<Committed, CommitError>> {
        let (send, receive) = mpsc::channel();
        let mut outcomes = Vec::new();
        let mut orders: Vec<Order> = Vec::new();
        for (i, txn) in txns.into_iter().enumerate() {
            outcomes.push(Err(CommitError::Closed));
            let send = send.clone();
            let answer = move |outcome| drop(send.send((i, outcome)));
            match txn.check() {
                Ok(()) => orders.push((txn, Box::new(answer))),
                Err(error) => answer(Err(error)),
            }
        }
        drop(send);
        self.0.commits.order(&self.0.shared, orders);
        for (i, outcome) in receive {
            outcomes[i] = outcome;
        }
        outcomes
    }

    /// Drops the history before a revision, on disk too: reads and watches from it on go on.
    pub async fn compact(&self, before: Revision) -> Result<(), CommitError> {
        let (send, receive) = oneshot::channel();
        self.0.commits.compact(&self.0.shared, before, to(send));
        receive.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Like [`Store::compact`]. Blocks until it is done.
    pub fn compact_blocking(&self, before: Revision) -> Result<(), CommitError> {
        let (send, receive) = mpsc::channel();
        let answer = Box::new(move |outcome| drop(send.send(outcome)));
        self.0.commits.compact(&self.0.shared, before, answer);
        receive.recv().unwrap_or(Err(CommitError::Closed))
    }

    /// Finishes what was asked for, and closes the file. Reads still work; commits do not, and
    /// watches end.
    pub fn close(&self) {
        self.0.commits.close();
        self.0.shared.close();
    }

    /// Figures of the moment.
    pub fn stats(&self) -> Stats {
        let state = self.0.shared.read();
        Stats {
            revision: state.revision,
            compacted: state.compacted,
            entries: state.current.len(),
            bytes: state.current_bytes,
            history: state.history.len(),
            history_bytes: state.history_bytes,
            decoded_bytes: state.cache.bytes(),
            watches: state.channels.watches(),
            failed: self.0.shared.failed.load(Ordering::Relaxed),
        }
    }
}

fn to<T: Send + 'static>(send: oneshot::Sender<Result<T, CommitError>>) -> Answer<T> {
    Box::new(move |outcome| drop(send.send(outcome)))
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.commits.close();
        self.shared.close();
    }
}

impl Shared {
    /// A write failed, or that is over.
    pub(crate) fn set_failed(&self, failed: bool) {
        self.failed.store(failed, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what is durable now.
    pub(crate) fn publish(&self, events: &[Arc<Event>], compacted: Option<Revision>) {
        let mut state = self.write();
        let dropped = compacted.map(|to| state.trim(to));
        let wake = state.publish(events);
        let revision = state.revision;
        drop(state);
        for notify in wake {
            notify.notify_waiters();
        }
        self.published.send_replace(revision);
        drop(dropped);
    }

    fn close(&self) {
        let mut state = self.write();
        state.closed = true;
        let wake = state.channels.all();
        drop(state);
        for notify in wake {
            notify.notify_waiters();
        }
        self.published.send_modify(|_| {});
    }
}

impl Commits {
    fn start(writer: Writer, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let (send, receive) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                // Dropped last: when nobody writes any more, for whatever reason, watches end.
                let shared = CloseOnDrop(shared);
                writer.run(&receive, &shared.0);
            })
            .map_err(|source| OpenError::Io {
                file: "the thread that writes".to_owned(),
                source,
            })?;
        Ok(Self::Thread(send, Mutex::new(Some(thread))))
    }

    /// What is not answered because nobody writes any more is dropped, which answers "closed".
    fn order(&self, shared: &Shared, orders: Vec<Order>) {
        match self {
            Self::Thread(queue, _) => drop(queue.send(Message::Commit(orders))),
            Self::Caller(writer) => {
                if let Some(writer) = &mut *lock(writer) {
                    writer.step(shared, orders);
                }
            }
        }
    }

    fn compact(&self, shared: &Shared, to: Revision, answer: Answer<()>) {
        match self {
            Self::Thread(queue, _) => drop(queue.send(Message::Compact(to, answer))),
            Self::Caller(writer) => {
                if let Some(writer) = &mut *lock(writer) {
                    writer.compact(shared, to, answer);
                }
            }
        }
    }

    fn close(&self) {
        match self {
            Self::Thread(queue, thread) => {
                drop(queue.send(Message::Close));
                if let Some(thread) = lock(thread).take() {
                    drop(thread.join());
                }
            }
            Self::Caller(writer) => drop(lock(writer).take()),
        }
    }
}

impl std::fmt::Debug for Commits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Thread(..) => "Thread",
            Self::Caller(_) => "Caller",
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
