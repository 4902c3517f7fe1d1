//! Answers, until they are read or given up.

use super::pool::Held;
use super::{Flow, FlowControl};
use crate::answer::Answer;
use crate::limits::{ANSWER_TIME, ANSWERS_KIB_MAX, SMALL_ANSWER_BYTES};
use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use stowplan_base::Env;

impl FlowControl {
    /// Room for something that waits to be read.
    pub(crate) fn unread(&self, flow: &Flow, kib: usize) -> Option<Held> {
        self.answers_kib.take(flow, kib)
    }

    /// An answer that keeps the room that it takes up until it is read. A large one is given up if
    /// nobody reads it. Nothing if there is no room for it, unless it must be given: what it tells of
    /// is done. One that is larger than all room needs all of it.
    pub(crate) fn hold(&self, answer: Answer, flow: &Flow, must: bool) -> Option<Answer> {
        let size = answer.body().size_hint().exact().unwrap_or_default();
        let kib = usize::try_from(size.div_ceil(1024)).unwrap_or(usize::MAX);
        let kib = kib.min(ANSWERS_KIB_MAX);
        if *flow == Flow::Exempt || kib == 0 {
            return Some(answer);
        }
        let room = match self.answers_kib.take(flow, kib) {
            Some(room) => room,
            None if must => self.answers_kib.take_by_force(flow, kib),
            None => return None,
        };
        Some(answer.map(|body| match size > SMALL_ANSWER_BYTES {
            true => Body::new(Large {
                size,
                shared: Shared::watched(body, room, self.env.clone()),
            }),
            false => Body::new(Small {
                body,
                room: Arc::new(room),
            }),
        }))
    }

    /// Whether a flow has left so much unread that it must read first.
    pub(crate) fn must_read_first(&self, flow: &Flow) -> bool {
        !self.answers_kib.has_room(flow)
    }
}

/// Bytes that keep their room until the last of them is sent or dropped, whoever holds them: HTTP/2 takes
/// a whole piece into its own buffers once the client has room for one byte.
struct Charged {
    bytes: Bytes,
    _room: Arc<Held>,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Charged {
    fn bytes(bytes: Bytes, room: &Arc<Held>) -> Bytes {
        Bytes::from_owner(Self {
            bytes,
            _room: Arc::clone(room),
        })
    }
}

/// A small answer on its way.
struct Small {
    body: Body,
    room: Arc<Held>,
}

impl http_body::Body for Small {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map_ok(|frame| frame.map_data(|bytes| Charged::bytes(bytes, &self.room)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A large answer on its way.
struct Large {
    /// What is left of it.
    size: u64,
    shared: Arc<Mutex<Shared>>,
}

/// What is given up when nobody reads.
struct Shared {
    held: Option<(Body, Arc<Held>)>,
    rest: Bytes,
    /// How often something was taken.
    taken: u64,
}

impl Shared {
    fn watched(body: Body, room: Held, env: Arc<dyn Env>) -> Arc<Mutex<Self>> {
        let shared = Arc::new(Mutex::new(Self {
            held: Some((body, Arc::new(room))),
            rest: Bytes::new(),
            taken: 0,
        }));
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            let mut seen = None;
            loop {
                env.sleep(ANSWER_TIME).await;
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
        /// Small enough that progress shows, and that whoever sends it holds little.
        const PIECE: usize = 32 * 1024;
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
        let piece = match &self.held {
            Some((_, room)) => Charged::bytes(piece, room),
            None => piece,
        };
        Poll::Ready(Some(Ok(piece)))
    }
}

impl http_body::Body for Large {
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
