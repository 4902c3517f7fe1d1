//! The open connections, and which of them is closed when there is no room for one more.

use crate::limits::Limits;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The connections of a listener.
pub(crate) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

/// Connections are numbered in the order in which they come.
#[derive(Default)]
struct Open {
    next: u64,
    authenticated: usize,
    /// How many of them are whose.
    authenticated_of: HashMap<Arc<str>, usize>,
    unauthenticated: Pool,
    by_address: HashMap<IpAddr, Pool>,
    /// How unauthenticated connections are told to close.
    closers: HashMap<u64, (IpAddr, Arc<Notify>)>,
}

#[derive(Default)]
struct Pool {
    /// Those without a request.
    idle: BTreeSet<u64>,
    /// Those that wait for an answer, or read one.
    active: BTreeSet<u64>,
}

impl Pool {
    fn len(&self) -> usize {
        self.idle.len() + self.active.len()
    }

    /// The one that goes first.
    fn oldest(&self) -> Option<u64> {
        let oldest = self.idle.first().or_else(|| self.active.first());
        oldest.copied()
    }

    fn put(&mut self, id: u64, is_active: bool) {
        self.remove(id);
        match is_active {
            true => self.active.insert(id),
            false => self.idle.insert(id),
        };
    }

    fn remove(&mut self, id: u64) {
        self.idle.remove(&id);
        self.active.remove(&id);
    }
}

impl Open {
    fn put(&mut self, id: u64, address: IpAddr, is_active: bool) {
        self.unauthenticated.put(id, is_active);
        self.by_address
            .entry(address)
            .or_default()
            .put(id, is_active);
    }

    /// Takes an unauthenticated connection out, and returns how to tell it.
    fn remove(&mut self, id: u64) -> Option<Arc<Notify>> {
        let (address, close) = self.closers.remove(&id)?;
        self.unauthenticated.remove(id);
        if let Some(pool) = self.by_address.get_mut(&address) {
            pool.remove(id);
            if pool.len() == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(close)
    }

    /// Which connection is closed so that one more from this address can come.
    fn displaced_by(&self, address: IpAddr, limits: &Limits) -> Option<u64> {
        let neighbours = self.by_address.get(&address);
        let pool = match neighbours {
            Some(pool) if pool.len() >= limits.unauthenticated_per_address => pool,
            _ if self.unauthenticated.len() >= limits.unauthenticated => &self.unauthenticated,
            _ => return None,
        };
        pool.oldest()
    }
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            open: Mutex::default(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one more in, not authenticated yet; another one may have to go.
    pub(crate) fn add(self: &Arc<Self>, address: IpAddr) -> Arc<Slot> {
        let address = network(address);
        let close = Arc::new(Notify::new());
        let mut open = self.open();
        if let Some(oldest) = open.displaced_by(address, &self.limits)
            && let Some(close) = open.remove(oldest)
        {
            close.notify_one();
        }
        let id = open.next;
        open.next += 1;
        open.closers.insert(id, (address, Arc::clone(&close)));
        open.put(id, address, false);
        drop(open);
        let now = Instant::now();
        Arc::new(Slot {
            connections: Arc::clone(self),
            id,
            address,
            close,
            opened: now,
            activity: Mutex::new(Activity {
                authenticated: false,
                owner: None,
                has_requested: false,
                requests: 0,
                idle_since: now,
            }),
        })
    }

    fn is_crowded(&self) -> bool {
        self.open().unauthenticated.len() * 2 > self.limits.unauthenticated
    }
}

/// Those of one network of IPv6 are one: a client has as many addresses there as it likes.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

/// The slot of one connection; it is free again when this goes.
pub(crate) struct Slot {
    connections: Arc<Connections>,
    id: u64,
    address: IpAddr,
    close: Arc<Notify>,
    opened: Instant,
    activity: Mutex<Activity>,
}

struct Activity {
    authenticated: bool,
    /// Whose it is, if that is known and counts.
    owner: Option<Arc<str>>,
    has_requested: bool,
    /// Under way, until the whole answer has been sent.
    requests: usize,
    idle_since: Instant,
}

/// A request that is under way.
pub(crate) struct ActiveRequest(Arc<Slot>);

impl Slot {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is under way until what is returned is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        let mut activity = self.activity();
        activity.has_requested = true;
        activity.requests += 1;
        if activity.requests == 1 {
            self.report(&activity);
        }
        ActiveRequest(Arc::clone(self))
    }

    /// Notes whether an unauthenticated connection has a request.
    fn report(&self, activity: &Activity) {
        if activity.authenticated {
            return;
        }
        let mut open = self.connections.open();
        if open.closers.contains_key(&self.id) {
            open.put(self.id, self.address, activity.requests > 0);
        }
    }

    /// The client is authenticated from now on, if there is room for one more: no user takes more of it than
    /// what is left.
    pub(crate) fn authenticate(&self, owner: Option<Arc<str>>) {
        let mut activity = self.activity();
        if activity.authenticated {
            return;
        }
        let mut open = self.connections.open();
        let left = self.connections.limits.authenticated - open.authenticated;
        let held = owner
            .as_ref()
            .and_then(|owner| open.authenticated_of.get(owner));
        if held.copied().unwrap_or_default() < left && open.remove(self.id).is_some() {
            open.authenticated += 1;
            activity.authenticated = true;
            if let Some(owner) = &owner {
                *open.authenticated_of.entry(Arc::clone(owner)).or_default() += 1;
            }
            activity.owner = owner;
        }
    }

    /// Ends when another connection needs the slot.
    pub(crate) async fn displaced(&self) {
        self.close.notified().await;
    }

    /// Ends when the client has taken too long for its first request.
    pub(crate) async fn first_request_overdue(&self) {
        let limits = &self.connections.limits;
        let mut patience = limits.header_time_crowded.min(limits.header_time);
        loop {
            sleep_until(self.opened + patience).await;
            let (has_requested, authenticated) = {
                let activity = self.activity();
                (activity.has_requested, activity.authenticated)
            };
            if has_requested {
                return std::future::pending().await;
            }
            // Who has shown a certificate may take his time.
            let in_a_hurry = !authenticated && self.connections.is_crowded();
            if patience >= limits.header_time || in_a_hurry {
                return;
            }
            patience = (patience + limits.header_time_crowded).min(limits.header_time);
        }
    }

    /// Ends when there has been no request for too long.
    pub(crate) async fn idle_timeout(&self) {
        loop {
            let since = {
                let activity = self.activity();
                match activity.requests {
                    0 => activity.idle_since,
                    _ => Instant::now(),
                }
            };
            let until = since + self.connections.limits.idle_time;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let (authenticated, owner) = {
            let mut activity = self.activity();
            (activity.authenticated, activity.owner.take())
        };
        let mut open = self.connections.open();
        match authenticated {
            true => open.authenticated -= 1,
            false => drop(open.remove(self.id)),
        }
        if let Some(owner) = owner
            && let Some(held) = open.authenticated_of.get_mut(&owner)
        {
            *held -= 1;
            if *held == 0 {
                open.authenticated_of.remove(&owner);
            }
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests -= 1;
        if activity.requests == 0 {
            activity.idle_since = Instant::now();
            self.0.report(&activity);
        }
    }
}

#[cfg(test)]
mod tests;
