//! An amount of something that flows share.

use super::Flow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An amount of something, and who holds how much of it.
///
/// A flow may take an amount if it then holds no more than what is left. So a flow alone gets half,
/// `k` greedy ones get `1 / (k + 1)` each, and as much is left for whoever comes next. A single one may
/// be the last. Whoever finds everything free may take all of it at once: an answer larger than half of
/// all room can be given.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Mutex<State>>);

struct State {
    total: usize,
    /// Below zero when something had to be taken.
    free: i64,
    held: HashMap<Flow, usize>,
}

fn signed(amount: usize) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

impl State {
    fn may_take(&self, flow: &Flow, amount: usize) -> bool {
        let held = self.held.get(flow).copied().unwrap_or_default();
        match flow {
            Flow::Exempt => true,
            _ if self.free == signed(self.total) => amount <= self.total,
            Flow::Of(_) if amount <= 1 => signed(held + amount) <= self.free,
            Flow::Of(_) => signed(held.saturating_add(amount)) <= self.free - signed(amount),
        }
    }

    fn take(&mut self, flow: &Flow, amount: usize) {
        // What the exempt take is taken from nobody.
        if let Flow::Of(_) = flow {
            self.free -= signed(amount);
            *self.held.entry(flow.clone()).or_default() += amount;
        }
    }
}

impl Pool {
    pub(crate) fn new(total: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            total,
            free: signed(total),
            held: HashMap::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So much for a flow, until it is dropped; nothing if that is more than its share.
    pub(crate) fn take(&self, flow: &Flow, amount: usize) -> Option<Held> {
        let mut state = self.state();
        state.may_take(flow, amount).then(|| {
            state.take(flow, amount);
            self.held(flow, amount)
        })
    }

    /// So much for a flow, whatever is left: what it is for has happened.
    pub(crate) fn take_by_force(&self, flow: &Flow, amount: usize) -> Held {
        self.state().take(flow, amount);
        self.held(flow, amount)
    }

    /// Whether a flow may take anything at all.
    pub(crate) fn has_room(&self, flow: &Flow) -> bool {
        self.state().may_take(flow, 1)
    }

    /// Nothing yet.
    pub(crate) fn nothing(&self, flow: &Flow) -> Held {
        self.held(flow, 0)
    }

    fn held(&self, flow: &Flow, amount: usize) -> Held {
        Held {
            pool: self.clone(),
            flow: flow.clone(),
            amount,
        }
    }

    /// How much a flow holds.
    pub(crate) fn held_by(&self, flow: &Flow) -> usize {
        self.state().held.get(flow).copied().unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        usize::try_from(self.state().free).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn flows(&self) -> usize {
        self.state().held.len()
    }
}

/// What a flow holds of a pool; given back when dropped.
pub(crate) struct Held {
    pool: Pool,
    flow: Flow,
    amount: usize,
}

impl Held {
    /// Makes it so large, if it is not; says no if that is more than the flow's share.
    pub(crate) fn grow(&mut self, amount: usize) -> bool {
        let more = amount.saturating_sub(self.amount);
        let mut state = self.pool.state();
        if more > 0 && !state.may_take(&self.flow, more) {
            return false;
        }
        state.take(&self.flow, more);
        self.amount += more;
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Flow::Of(_) = &self.flow else {
            return;
        };
        let mut state = self.pool.state();
        state.free += signed(self.amount);
        if let Some(held) = state.held.get_mut(&self.flow) {
            *held -= self.amount;
            if *held == 0 {
                state.held.remove(&self.flow);
            }
        }
    }
}
