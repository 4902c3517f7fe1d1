//! Who may take how much of the server at a time.
//!
//! Upstream's API Priority and Fairness keeps its promises with levels, shuffle sharding and fair
//! queues. Here one rule does: **nobody takes more than what is left**. Whoever floods alone gets half
//! of everything; two get a third each; and whoever comes next always finds room. It holds for seats,
//! for watches, and for the bytes of bodies and answers ([`pool::Pool`]). Requests over their share
//! wait in a short queue of their flow ([`seats::Seats`]).
//!
//! Masters and probes are exempt, as upstream.

mod answers;
mod bodies;
mod offload;
mod pool;
mod related;
mod seats;
mod weight;

use crate::limits::{self, STREAMS_MAX, WATCHES_MAX};
use crate::request::Request;
use std::sync::Arc;
use stowplan_auth::User;
use stowplan_base::Env;
use tokio::sync::Semaphore;

pub(crate) use offload::off_the_reactor;
pub(crate) use pool::Held;
use pool::Pool;
pub(crate) use related::RelatedObjects;
pub(crate) use seats::Seat;
use seats::Seats;
pub(crate) use weight::Weight;

/// Whom a request is counted for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Flow {
    /// Never refused, never made to wait.
    Exempt,
    /// A user, or all service accounts of a namespace: whoever may make one account may make many.
    Of(Arc<str>),
}

impl Flow {
    /// The flow of a request whose caller is known. Who asks in another's name pays for it himself.
    pub(crate) fn of(request: &Request) -> Self {
        let user = request.impersonator.as_ref().unwrap_or(&request.user);
        match user.is_master() || is_probe(request) {
            true => Self::Exempt,
            false => Self::of_user(user),
        }
    }

    fn of_user(user: &User) -> Self {
        const ACCOUNT: &str = "system:serviceaccount:";
        let account = user.name.strip_prefix(ACCOUNT);
        let namespace = account.and_then(|rest| rest.split_once(':'));
        Self::Of(match namespace {
            Some((namespace, _)) => format!("{ACCOUNT}{namespace}").into(),
            None => user.name.as_str().into(),
        })
    }
}

/// Upstream: the flow schema `probes`.
fn is_probe(request: &Request) -> bool {
    let path = request.info.path.as_str();
    !request.info.is_resource && matches!(path, "/healthz" | "/livez" | "/readyz")
}

/// All that is shared out.
pub(crate) struct FlowControl {
    seats: Seats,
    /// Seats of those that compute for long.
    heavy: Seats,
    /// Turns to give services their addresses.
    addresses: Seats,
    watches: Pool,
    streams: Pool,
    bodies_kib: Pool,
    answers_kib: Pool,
    leftovers: Arc<Semaphore>,
    env: Arc<dyn Env>,
}

impl FlowControl {
    /// Everything is free. Who waits does so by this clock.
    pub(crate) fn new(env: Arc<dyn Env>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            seats: Seats::new(limits::SEATS, env.clone()),
            // One that nobody has to himself.
            heavy: Seats::new(cores.max(2), env.clone()),
            // Whoever has one is next; a flow has one.
            addresses: Seats::new(2, env.clone()),
            watches: Pool::new(WATCHES_MAX),
            streams: Pool::new(STREAMS_MAX),
            bodies_kib: Pool::new(limits::BODIES_KIB_MAX),
            answers_kib: Pool::new(limits::ANSWERS_KIB_MAX),
            leftovers: Arc::new(Semaphore::new(limits::LEFTOVERS_MAX)),
            env,
        }
    }

    /// Seats for a request with a body of so many bytes. Nothing if there are none, and waiting for
    /// them is no use.
    pub(crate) async fn request(&self, flow: &Flow, body_bytes: usize) -> Option<Seat> {
        let width = 1 + body_bytes / limits::BYTES_PER_SEAT;
        self.seats.take(flow, width).await
    }

    /// A seat among those that compute for long.
    pub(crate) async fn heavy(&self, flow: &Flow) -> Option<Seat> {
        self.heavy.take(flow, 1).await
    }

    /// A turn to give a service its addresses.
    pub(crate) async fn addresses(&self, flow: &Flow) -> Option<Seat> {
        self.addresses.take(flow, 1).await
    }

    /// A place for one more watch.
    pub(crate) fn watch(&self, flow: &Flow) -> Option<Held> {
        self.watches.take(flow, 1)
    }

    /// A place for one more stream.
    pub(crate) fn stream(&self, flow: &Flow) -> Option<Held> {
        self.streams.take(flow, 1)
    }
}

#[cfg(test)]
mod tests;
