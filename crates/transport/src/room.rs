//! Who is connected, and who has to go when there is no room.

use crate::limits::Limits;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The connections of a listener.
pub(crate) struct Room {
    limits: Limits,
    guests: Mutex<Guests>,
}

/// Connections are numbered in the order in which they come.
#[derive(Default)]
struct Guests {
    next: u64,
    known: usize,
    /// How many of them are whose.
    known_of: HashMap<Arc<str>, usize>,
    strangers: Crowd,
    by_address: HashMap<IpAddr, Crowd>,
    /// Where strangers are told to go.
    doors: HashMap<u64, (IpAddr, Arc<Notify>)>,
}

#[derive(Default)]
struct Crowd {
    /// Those that ask for nothing.
    silent: BTreeSet<u64>,
    /// Those that wait for an answer, or read one.
    asking: BTreeSet<u64>,
}

impl Crowd {
    fn len(&self) -> usize {
        self.silent.len() + self.asking.len()
    }

    /// The one that goes first.
    fn oldest(&self) -> Option<u64> {
        let oldest = self.silent.first().or_else(|| self.asking.first());
        oldest.copied()
    }

    fn put(&mut self, id: u64, asks: bool) {
        self.remove(id);
        match asks {
            true => self.asking.insert(id),
            false => self.silent.insert(id),
        };
    }

    fn remove(&mut self, id: u64) {
        self.silent.remove(&id);
        self.asking.remove(&id);
    }
}

impl Guests {
    fn put(&mut self, id: u64, address: IpAddr, asks: bool) {
        self.strangers.put(id, asks);
        self.by_address.entry(address).or_default().put(id, asks);
    }

    /// Takes a stranger out, and returns where he is to be told.
    fn remove(&mut self, id: u64) -> Option<Arc<Notify>> {
        let (address, door) = self.doors.remove(&id)?;
        self.strangers.remove(id);
        if let Some(crowd) = self.by_address.get_mut(&address) {
            crowd.remove(id);
            if crowd.len() == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(door)
    }

    /// Who has to go so that one more from this address can come.
    fn in_the_way(&self, address: IpAddr, limits: &Limits) -> Option<u64> {
        let neighbours = self.by_address.get(&address);
        let crowd = match neighbours {
            Some(crowd) if crowd.len() >= limits.strangers_of_address => crowd,
            _ if self.strangers.len() >= limits.strangers => &self.strangers,
            _ => return None,
        };
        crowd.oldest()
    }
}

impl Room {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            guests: Mutex::default(),
        })
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one more in, a stranger; another one may have to go.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Arc<Place> {
        let address = neighbourhood(address);
        let door = Arc::new(Notify::new());
        let mut guests = self.guests();
        if let Some(oldest) = guests.in_the_way(address, &self.limits)
            && let Some(door) = guests.remove(oldest)
        {
            door.notify_one();
        }
        let id = guests.next;
        guests.next += 1;
        guests.doors.insert(id, (address, Arc::clone(&door)));
        guests.put(id, address, false);
        drop(guests);
        let now = Instant::now();
        Arc::new(Place {
            room: Arc::clone(self),
            id,
            address,
            door,
            came: now,
            conduct: Mutex::new(Conduct {
                known: false,
                owner: None,
                has_asked: false,
                requests: 0,
                silent_since: now,
            }),
        })
    }

    fn is_crowded(&self) -> bool {
        self.guests().strangers.len() * 2 > self.limits.strangers
    }
}

/// Those of one network of IPv6 are one: a client has as many addresses there as it likes.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

/// The place of one connection; it is free again when this goes.
pub(crate) struct Place {
    room: Arc<Room>,
    id: u64,
    address: IpAddr,
    door: Arc<Notify>,
    came: Instant,
    conduct: Mutex<Conduct>,
}

struct Conduct {
    known: bool,
    /// Whose it is, if that is known and counts.
    owner: Option<Arc<str>>,
    has_asked: bool,
    /// Under way, until the whole answer has been sent.
    requests: usize,
    silent_since: Instant,
}

/// A request that is under way.
pub(crate) struct Asking(Arc<Place>);

impl Place {
    fn conduct(&self) -> MutexGuard<'_, Conduct> {
        self.conduct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is under way until what is returned is dropped.
    pub(crate) fn ask(self: &Arc<Self>) -> Asking {
        let mut conduct = self.conduct();
        conduct.has_asked = true;
        conduct.requests += 1;
        if conduct.requests == 1 {
            self.tell(&conduct);
        }
        Asking(Arc::clone(self))
    }

    /// Tells the room whether a stranger asks for something.
    fn tell(&self, conduct: &Conduct) {
        if conduct.known {
            return;
        }
        let mut guests = self.room.guests();
        if guests.doors.contains_key(&self.id) {
            guests.put(self.id, self.address, conduct.requests > 0);
        }
    }

    /// The client is known from now on, if there is room for one more: nobody takes more of it than
    /// what is left.
    pub(crate) fn welcome(&self, owner: Option<Arc<str>>) {
        let mut conduct = self.conduct();
        if conduct.known {
            return;
        }
        let mut guests = self.room.guests();
        let left = self.room.limits.known - guests.known;
        let held = owner.as_ref().and_then(|owner| guests.known_of.get(owner));
        if held.copied().unwrap_or_default() < left && guests.remove(self.id).is_some() {
            guests.known += 1;
            conduct.known = true;
            if let Some(owner) = &owner {
                *guests.known_of.entry(Arc::clone(owner)).or_default() += 1;
            }
            conduct.owner = owner;
        }
    }

    /// Ends when somebody else needs the place.
    pub(crate) async fn needed(&self) {
        self.door.notified().await;
    }

    /// Ends when the client has taken too long for its first request.
    pub(crate) async fn never_asks(&self) {
        let limits = &self.room.limits;
        let mut patience = limits.header_time_crowded.min(limits.header_time);
        loop {
            sleep_until(self.came + patience).await;
            let (has_asked, known) = {
                let conduct = self.conduct();
                (conduct.has_asked, conduct.known)
            };
            if has_asked {
                return std::future::pending().await;
            }
            // Who has shown a certificate may take his time.
            let in_a_hurry = !known && self.room.is_crowded();
            if patience >= limits.header_time || in_a_hurry {
                return;
            }
            patience = (patience + limits.header_time_crowded).min(limits.header_time);
        }
    }

    /// Ends when there has been no request for too long.
    pub(crate) async fn rests(&self) {
        loop {
            let since = {
                let conduct = self.conduct();
                match conduct.requests {
                    0 => conduct.silent_since,
                    _ => Instant::now(),
                }
            };
            let until = since + self.room.limits.idle_time;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (known, owner) = {
            let mut conduct = self.conduct();
            (conduct.known, conduct.owner.take())
        };
        let mut guests = self.room.guests();
        match known {
            true => guests.known -= 1,
            false => drop(guests.remove(self.id)),
        }
        if let Some(owner) = owner
            && let Some(held) = guests.known_of.get_mut(&owner)
        {
            *held -= 1;
            if *held == 0 {
                guests.known_of.remove(&owner);
            }
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut conduct = self.0.conduct();
        conduct.requests -= 1;
        if conduct.requests == 0 {
            conduct.silent_since = Instant::now();
            self.0.tell(&conduct);
        }
    }
}

#[cfg(test)]
mod tests;
