//! The one who writes.

use crate::decoded::Slot;
use crate::failure::Failure;
use crate::state::{State, Trim};
use crate::store::Shared;
use crate::txn::{Operation, Write};
use crate::{
    Backend, Batch, CommitError, Committed, Entry, Event, Options, Retention, Revision, Txn,
    WriteError,
};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Carries the answer to whoever asked. Dropped without a call, it says that the store is closed.
pub(crate) type Answer<T> = Box<dyn FnOnce(Result<T, CommitError>) + Send>;

/// A transaction and where its outcome goes.
pub(crate) type Order = (Txn, Answer<Committed>);

pub(crate) enum Message {
    /// Transactions to be made durable together, each on its own all or nothing.
    Commit(Vec<Order>),
    /// History to be dropped.
    Compact(Revision, Answer<()>),
    /// Stop, after what was sent before.
    Close,
}

/// Checks and numbers writes, makes them durable, then publishes them.
pub(crate) struct Writer {
    backend: Box<dyn Backend>,
    retention: Retention,
    bytes_max: usize,
    /// Explicit compactions that are not done yet; they go on piece by piece.
    compactions: Vec<(Revision, Answer<()>)>,
    failed: Option<Failure>,
    /// How long after a failure it is looked whether it is over, at first.
    pause: Duration,
}

/// What is about to be written: on top of the state, not yet visible.
struct Pending<'a> {
    state: &'a State,
    /// What the entries take up, with what is about to be written.
    bytes: usize,
    bytes_max: usize,
    changed: HashMap<Bytes, Option<Arc<Entry>>>,
    events: Vec<Arc<Event>>,
}

/// The outcome of a transaction: how many events there were before and after it.
type Outcome = Result<std::ops::Range<usize>, CommitError>;

impl Writer {
    pub(crate) fn new(backend: Box<dyn Backend>, options: &Options) -> Self {
        Self {
            backend,
            retention: options.retention,
            bytes_max: options.bytes_max,
            compactions: Vec::new(),
            failed: None,
            pause: options.failure_pause,
        }
    }

    /// Works until it is told to stop, or nobody can tell it any more.
    pub(crate) fn run(mut self, queue: &Receiver<Message>, shared: &Shared) {
        /// Of one batch: enough to share a sync, and few enough to bound the wait for it.
        const ORDERS_MAX: usize = 4096;
        const BYTES_MAX: usize = 8 << 20;
        loop {
            let mut orders = Vec::new();
            let mut bytes = 0;
            let mut next = if self.compactions.is_empty() {
                match self.next(queue) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            } else {
                queue.try_recv().ok()
            };
            let mut close = false;
            while let Some(message) = next {
                match message {
                    Message::Commit(more) => {
                        bytes += more.iter().map(|(txn, _)| txn.size()).sum::<usize>();
                        orders.extend(more);
                    }
                    Message::Compact(to, answer) => self.compactions.push((to, answer)),
                    Message::Close => {
                        close = true;
                        break;
                    }
                }
                let full = orders.len() >= ORDERS_MAX || bytes >= BYTES_MAX;
                next = if full { None } else { queue.try_recv().ok() };
            }
            self.step(shared, orders);
            if close {
                return;
            }
        }
    }

    /// Waits for something to do. After a failure that may be over that is soon.
    fn next(&self, queue: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        match self.failed.as_ref().and_then(Failure::wait) {
            Some(wait) => queue.recv_timeout(wait),
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Compacts at once, for a store without a thread.
    pub(crate) fn compact(&mut self, shared: &Shared, to: Revision, answer: Answer<()>) {
        self.compactions.push((to, answer));
        while !self.compactions.is_empty() {
            self.step(shared, Vec::new());
        }
    }

    /// One batch: makes all orders durable together, then tells.
    pub(crate) fn step(&mut self, shared: &Shared, orders: Vec<Order>) {
        if let Some(failed) = &mut self.failed {
            if !failed.is_over(&mut *self.backend, shared) {
                return refuse(orders, &mut self.compactions, &failed.error);
            }
            self.failed = None;
            shared.set_failed(false);
        }
        let (outcomes, events, trim) = self.plan(&shared.read(), &orders);
        if !events.is_empty() || trim.is_some() {
            let batch = Batch {
                append: &events,
                remove: trim.as_ref().map_or(&[], |trim| &trim.remove),
                compacted: trim.as_ref().map(|trim| trim.to),
            };
            if let Err(error) = self.backend.write(&batch) {
                shared.set_failed(true);
                let compacted = trim.map(|trim| trim.to);
                let failed = Failure::new(error, events, compacted, self.pause);
                let failed = self.failed.insert(failed);
                return refuse(orders, &mut self.compactions, &failed.error);
            }
            shared.publish(&events, trim.map(|trim| trim.to));
        }
        self.answer(shared, orders, outcomes, &events);
    }

    fn plan(
        &self,
        state: &State,
        orders: &[Order],
    ) -> (Vec<Outcome>, Vec<Arc<Event>>, Option<Trim>) {
        let mut pending = Pending {
            state,
            bytes: state.current_bytes,
            bytes_max: self.bytes_max,
            changed: HashMap::new(),
            events: Vec::new(),
        };
        let outcomes = orders.iter().map(|(txn, _)| pending.carry_out(txn));
        let outcomes = outcomes.collect();
        let asked = self.compactions.iter().map(|(to, _)| *to).max();
        let to = state.overdue(self.retention).max(asked.unwrap_or_default());
        (outcomes, pending.events, state.plan_trim(to))
    }

    fn answer(
        &mut self,
        shared: &Shared,
        orders: Vec<Order>,
        outcomes: Vec<Outcome>,
        events: &[Arc<Event>],
    ) {
        let (revision, compacted) = {
            let state = shared.read();
            (state.revision, state.compacted)
        };
        for ((_, answer), outcome) in orders.into_iter().zip(outcomes) {
            answer(outcome.map(|range| Committed {
                // That of the last write so far, its own or one before it in the batch.
                revision: Revision(revision.0 - (events.len() - range.end) as u64),
                events: events.get(range).unwrap_or_default().to_vec(),
            }));
        }
        let done = |(to, _): &mut (Revision, _)| *to <= compacted || *to > revision;
        for (to, answer) in self.compactions.extract_if(.., done) {
            answer(if to <= compacted {
                Ok(())
            } else {
                Err(CommitError::Future {
                    requested: to,
                    current: revision,
                })
            });
        }
    }
}

/// After a failed write nobody knows what is on the disk, so nothing is written before that is looked
/// at.
fn refuse(
    orders: Vec<Order>,
    compactions: &mut Vec<(Revision, Answer<()>)>,
    failed: &Arc<WriteError>,
) {
    for (_, answer) in orders {
        answer(Err(CommitError::Storage(failed.clone())));
    }
    for (_, answer) in compactions.drain(..) {
        answer(Err(CommitError::Storage(failed.clone())));
    }
}

impl Pending<'_> {
    fn carry_out(&mut self, txn: &Txn) -> Outcome {
        if let Some(conflict) = txn.conflict(|key| self.current(key)) {
            return Err(conflict.into());
        }
        let (bytes, max) = (self.bytes, self.bytes_max);
        let after = txn.writes.iter().fold(bytes, |bytes, write| {
            let before = self.current(&write.key).map_or(0, |entry| entry.size());
            let after = match &write.operation {
                Operation::Put(value) => Entry::size_of(&write.key, value),
                Operation::Delete => 0,
            };
            bytes + after - before
        });
        if after > max && after > bytes {
            return Err(CommitError::Full { bytes, max });
        }
        self.bytes = after;
        let start = self.events.len();
        for write in &txn.writes {
            self.write(write);
        }
        Ok(start..self.events.len())
    }

    fn current(&self, key: &[u8]) -> Option<&Arc<Entry>> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.state.current.get(key),
        }
    }

    fn write(&mut self, write: &Write) {
        let previous = self.current(&write.key).cloned();
        let written = self.events.last().map(|event| event.revision);
        let revision = written.unwrap_or(self.state.revision).next();
        let event = match (&write.operation, previous) {
            (Operation::Put(value), previous) => {
                let entry = Entry {
                    key: match &previous {
                        Some(previous) => previous.key.clone(),
                        None => write.key.clone(),
                    },
                    value: value.clone(),
                    create_revision: previous.as_ref().map_or(revision, |p| p.create_revision),
                    mod_revision: revision,
                    version: previous.as_ref().map_or(1, |p| p.version + 1),
                    slot: Slot::new(&self.state.cache),
                };
                Event::put(Arc::new(entry), previous)
            }
            (Operation::Delete, Some(previous)) => Event::delete(revision, previous),
            (Operation::Delete, None) => return,
        };
        let current = event.current().cloned();
        self.changed.insert(event.key().clone(), current);
        self.events.push(Arc::new(event));
    }
}
