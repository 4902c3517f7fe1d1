//! What may be under way at once: requests, watches, bytes of bodies and of answers.

use crate::answer::Answer;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use stowplan_machinery::Status;
use tokio::sync::{OwnedSemaphorePermit as Permit, Semaphore};

/// The largest body that is read, in bytes. Upstream: `MaxRequestBodyBytes`.
pub(crate) const BODY_MAX: usize = 3 * 1024 * 1024;
/// How long a client may take to send it.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Requests that are worked on at a time, watches aside.
pub(crate) const IN_FLIGHT_MAX: usize = 1_000;
/// Open watches.
pub(crate) const WATCHES_MAX: usize = 20_000;
/// Open watches of one user: nobody takes them all.
pub(crate) const USER_WATCHES_MAX: usize = WATCHES_MAX / 2;
/// Room for bodies, and for large answers that have not been read.
const BODIES_KIB_MAX: usize = 256 * 1024;
/// Room for the bodies of one user: nobody takes it all.
const USER_BODIES_KIB_MAX: usize = BODIES_KIB_MAX / 2;
const ANSWERS_KIB_MAX: usize = 1024 * 1024;
/// Answers up to here leave the server soon enough.
const SMALL_ANSWER_BYTES: u64 = 256 * 1024;
/// How long a client may leave a large answer alone.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// What is read, and dropped, of a body after its request was answered.
const LEFTOVER_BYTES_MAX: usize = 16 << 20;
const LEFTOVER_TIME: Duration = Duration::from_secs(5);
const LEFTOVERS_MAX: usize = 256;

/// Places of each sort.
pub(crate) struct Places {
    in_flight: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    watches_of: Arc<Mutex<HashMap<String, usize>>>,
    bodies_kib: Arc<Semaphore>,
    bodies_kib_of: Arc<Mutex<HashMap<String, usize>>>,
    answers_kib: Arc<Semaphore>,
    leftovers: Arc<Semaphore>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
            watches: Arc::new(Semaphore::new(WATCHES_MAX)),
            watches_of: Arc::default(),
            bodies_kib: Arc::new(Semaphore::new(BODIES_KIB_MAX)),
            bodies_kib_of: Arc::default(),
            answers_kib: Arc::new(Semaphore::new(ANSWERS_KIB_MAX)),
            leftovers: Arc::new(Semaphore::new(LEFTOVERS_MAX)),
        }
    }
}

fn room(semaphore: &Arc<Semaphore>, kib: usize) -> Option<Permit> {
    let kib = u32::try_from(kib).ok()?;
    Arc::clone(semaphore).try_acquire_many_owned(kib).ok()
}

impl Places {
    /// A place for one more request.
    pub(crate) fn request(&self) -> Option<Permit> {
        Arc::clone(&self.in_flight).try_acquire_owned().ok()
    }

    /// A place for one more watch of a user.
    pub(crate) fn watch(&self, user: &str) -> Option<WatchPlace> {
        let permit = Arc::clone(&self.watches).try_acquire_owned().ok()?;
        let mut counts = lock(&self.watches_of);
        let count = counts.entry(user.to_owned()).or_default();
        if *count >= USER_WATCHES_MAX {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(WatchPlace {
            _permit: permit,
            user: user.to_owned(),
            counts: Arc::clone(&self.watches_of),
        })
    }

    /// The whole body with the room that it takes up, if it is not too large and does not take
    /// forever; nothing if there is no room, or if its user has taken up a fair share of it.
    pub(crate) async fn read(
        &self,
        body: &mut Body,
        user: &str,
    ) -> Result<Option<(Bytes, BodyRoom)>, Status> {
        match tokio::time::timeout(BODY_TIME, self.collect(body, user)).await {
            Ok(read) => read,
            Err(_) => {
                let message = "Timeout: request did not complete within the allotted timeout";
                Err(Status::failure(504, "Timeout", message))
            }
        }
    }

    async fn collect(
        &self,
        body: &mut Body,
        user: &str,
    ) -> Result<Option<(Bytes, BodyRoom)>, Status> {
        let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
        let mut held = BodyRoom {
            permit: None,
            user: user.to_owned(),
            counts: Arc::clone(&self.bodies_kib_of),
        };
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let size = first.len() + rest.len() + data.len();
            if size > BODY_MAX {
                let message = format!("Request entity too large: limit is {BODY_MAX}");
                return Err(Status::failure(413, "RequestEntityTooLarge", message));
            }
            // Pieces may be tiny: they are paid for together.
            if !held.grow(&self.bodies_kib, size.div_ceil(1024)) {
                return Ok(None);
            }
            // Most bodies come in one piece.
            if first.is_empty() {
                first = data;
            } else {
                rest.extend_from_slice(&data);
            }
        }
        let whole = match rest.is_empty() {
            true => first,
            false => [first, rest.freeze()].concat().into(),
        };
        // Not every body knows that it has ended.
        *body = Body::empty();
        Ok(Some((whole, held)))
    }

    /// Takes in what a client still sends after it was answered. Otherwise HTTP/2 resets the stream and
    /// HTTP/1 closes the connection, and clients that are busy sending lose the answer with it.
    pub(crate) fn drain(&self, mut body: Body) {
        if body.is_end_stream() {
            return;
        }
        let Ok(place) = Arc::clone(&self.leftovers).try_acquire_owned() else {
            return;
        };
        tokio::spawn(async move {
            let rest = async {
                let mut taken = 0;
                while let Some(Ok(frame)) = body.frame().await {
                    taken += frame.data_ref().map_or(0, Bytes::len);
                    if taken > LEFTOVER_BYTES_MAX {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(LEFTOVER_TIME, rest).await;
            drop(place);
        });
    }

    /// An answer that keeps its request's place, and the room that it takes up, until it is read, if
    /// it is large. Nothing if there is no room for it, unless it must be given: what it tells of is
    /// done. One that is larger than all room needs all of it.
    pub(crate) fn hold(&self, answer: Answer, place: Option<Permit>, must: bool) -> Option<Answer> {
        let size = answer.body().size_hint().exact();
        let Some(size) = size.filter(|size| *size > SMALL_ANSWER_BYTES) else {
            return Some(answer);
        };
        let kib = usize::try_from(size.div_ceil(1024)).unwrap_or(usize::MAX);
        let Some(room) = room(&self.answers_kib, kib.min(ANSWERS_KIB_MAX)) else {
            return must.then_some(answer);
        };
        Some(answer.map(|body| {
            Body::new(Held {
                size,
                shared: Shared::watched(body, place, room),
            })
        }))
    }
}

/// The room that a body takes up.
pub(crate) struct BodyRoom {
    permit: Option<Permit>,
    user: String,
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl BodyRoom {
    fn kib(&self) -> usize {
        self.permit.as_ref().map_or(0, Permit::num_permits)
    }

    /// Makes it so large; says no if there is no room for that.
    fn grow(&mut self, all: &Arc<Semaphore>, kib: usize) -> bool {
        let more = kib.saturating_sub(self.kib());
        if more == 0 {
            return true;
        }
        let mut counts = lock(&self.counts);
        let taken = counts.get(&self.user).copied().unwrap_or_default() + more;
        if taken > USER_BODIES_KIB_MAX {
            return false;
        }
        let Some(permit) = room(all, more) else {
            return false;
        };
        counts.insert(self.user.clone(), taken);
        drop(counts);
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
        true
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        let kib = self.kib();
        let mut counts = lock(&self.counts);
        if let Some(taken) = counts.get_mut(&self.user) {
            *taken = taken.saturating_sub(kib);
            if *taken == 0 {
                counts.remove(&self.user);
            }
        }
    }
}

/// The place of a watch.
pub(crate) struct WatchPlace {
    _permit: Permit,
    user: String,
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl Drop for WatchPlace {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.user);
            }
        }
    }
}

/// A large answer on its way.
struct Held {
    /// What is left of it.
    size: u64,
    shared: Arc<Mutex<Shared>>,
}

/// What is given up when nobody reads.
struct Shared {
    held: Option<(Body, Option<Permit>, Permit)>,
    rest: Bytes,
    /// How often something was taken.
    taken: u64,
}

impl Shared {
    fn watched(body: Body, place: Option<Permit>, room: Permit) -> Arc<Mutex<Self>> {
        let shared = Arc::new(Mutex::new(Self {
            held: Some((body, place, room)),
            rest: Bytes::new(),
            taken: 0,
        }));
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            let mut seen = None;
            loop {
                tokio::time::sleep(ANSWER_TIME).await;
                let Some(shared) = weak.upgrade() else {
                    return;
                };
                let mut shared = lock(&shared);
                if seen == Some(shared.taken) {
                    shared.held = None;
                    shared.rest = Bytes::new();
                    return;
                }
                seen = Some(shared.taken);
            }
        });
        shared
    }

    /// The next piece.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        /// Small enough that progress shows.
        const PIECE: usize = 128 * 1024;
        self.taken += 1;
        if self.rest.is_empty() {
            let Some((body, ..)) = &mut self.held else {
                let why = std::io::Error::other("nobody read the answer");
                return Poll::Ready(Some(Err(axum::Error::new(why))));
            };
            match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.rest = frame.into_data().unwrap_or_default(),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(piece)))
    }
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = lock(&self.shared).poll(cx);
        polled.map(|piece| {
            let piece = piece?;
            if let Ok(piece) = &piece {
                self.size = self.size.saturating_sub(piece.len() as u64);
            }
            Some(piece.map(Frame::data))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.size == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
