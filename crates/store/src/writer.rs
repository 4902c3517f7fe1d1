//! The one who writes.

use crate::decoded::Slot;
use crate::state::{State, Trim};
use crate::store::Shared;
use crate::txn::{Operation, Write};
use crate::{
    Backend, Batch, CommitError, Committed, Entry, Event, Retention, Revision, Txn, WriteError,
};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

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
    /// Explicit compactions that are not done yet; they go on piece by piece.
    compactions: Vec<(Revision, Answer<()>)>,
    failed: Option<Arc<WriteError>>,
}

/// What is about to be written: on top of the state, not yet visible.
struct Pending<'a> {
    state: &'a State,
    changed: HashMap<Bytes, Option<Arc<Entry>>>,
    events: Vec<Arc<Event>>,
}

/// The outcome of a transaction: how many events there were before and after it.
type Outcome = Result<std::ops::Range<usize>, CommitError>;

impl Writer {
    pub(crate) fn new(backend: Box<dyn Backend>, retention: Retention) -> Self {
        Self {
            backend,
            retention,
            compactions: Vec::new(),
            failed: None,
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
                match queue.recv() {
                    Ok(message) => Some(message),
                    Err(_) => return,
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

    /// Compacts at once, for a store without a thread.
    pub(crate) fn compact(&mut self, shared: &Shared, to: Revision, answer: Answer<()>) {
        self.compactions.push((to, answer));
        while !self.compactions.is_empty() {
            self.step(shared, Vec::new());
        }
    }

    /// One batch: makes all orders durable together, then tells.
    pub(crate) fn step(&mut self, shared: &Shared, orders: Vec<Order>) {
        if let Some(failed) = &self.failed {
            return refuse(orders, &mut self.compactions, failed);
        }
        let (outcomes, events, trim) = self.plan(&shared.read(), &orders);
        if !events.is_empty() || trim.is_some() {
            let batch = Batch {
                append: &events,
                remove: trim.as_ref().map_or(&[], |trim| &trim.remove),
                compacted: trim.as_ref().map(|trim| trim.to),
            };
            if let Err(error) = self.backend.write(&batch) {
                shared.set_failed();
                let failed = self.failed.insert(Arc::new(error));
                return refuse(orders, &mut self.compactions, failed);
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

/// After a failed sync nobody knows what is on the disk, so nothing is written any more.
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
