//! Who asked for what, and what came of it: one line of JSON per request, for those who want it.
//!
//! Upstream: `k8s.io/apiserver/pkg/audit` and `endpoints/filters/audit.go`, with a policy that has the
//! level Metadata for everything and leaves out the stages before the last.

mod event;
mod log;

pub use log::Log;

use crate::request::Request;
use bytes::Bytes;
use event::{Event, Stage};
use http::HeaderValue;
use http_body::{Body, Frame, SizeHint};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use stowplan_apimachinery::Status;
use stowplan_auth::ConnectionGuards;
use stowplan_base::{Env, Time};

/// The header by which a request is known, the client's choice or ours.
const ID: &str = "audit-id";

/// What is known of a request when it comes in.
pub(crate) struct Arrival {
    /// By which the request is known.
    pub(crate) id: HeaderValue,
    /// Path and query as sent.
    pub(crate) uri: String,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) at: Time,
}

impl Arrival {
    pub(crate) fn new(env: &dyn Env, parts: &http::request::Parts) -> Self {
        let given = parts.headers.get(ID).filter(|id| !id.is_empty());
        // Our own ids are plain text.
        let made = || HeaderValue::from_str(&env.uid());
        let id = given
            .cloned()
            .or_else(|| made().ok())
            .unwrap_or_else(|| HeaderValue::from_static(""));
        let uri = parts.uri.path_and_query();
        Self {
            id,
            uri: uri.map(ToString::to_string).unwrap_or_default(),
            peer: parts.extensions.get::<SocketAddr>().copied(),
            at: env.now(),
        }
    }

    /// Tells the client by what its request is known.
    pub(crate) fn sign(&self, answer: &mut crate::Answer) {
        answer.headers_mut().insert(ID, self.id.clone());
    }
}

/// What became of a request.
pub(crate) struct Outcome<'a> {
    pub(crate) code: u16,
    pub(crate) failure: Option<&'a Status>,
    /// Whether its handler broke.
    pub(crate) panicked: bool,
}

/// Writes the line of a request: now, or when its answer has ended if that goes on for long.
pub(crate) async fn record(
    api: &Arc<crate::Api>,
    arrival: &Arrival,
    request: &Request,
    outcome: Outcome<'_>,
    answer: crate::Answer,
) -> crate::Answer {
    let Some(log) = api.audit_log() else {
        return answer;
    };
    let stage = match outcome.panicked {
        true => Stage::Panic,
        false => Stage::ResponseComplete,
    };
    let mut event = Event::new(arrival, request, &outcome, stage);
    let lasts = request.info.verb == "watch"
        || request.info.subresource == "log"
        || answer.extensions().get::<ConnectionGuards>().is_some();
    if !lasts || outcome.failure.is_some() {
        log.write(api.env(), event.line(api.env().now())).await;
        return answer;
    }
    let pending = Pending {
        event,
        api: Arc::clone(api),
    };
    if let Some(guards) = answer.extensions().get::<ConnectionGuards>() {
        guards.hold(pending);
        return answer;
    }
    answer.map(|body| {
        axum::body::Body::new(Audited {
            body,
            _pending: pending,
        })
    })
}

/// The line of an answer that goes on; written when it ends, however it does.
struct Pending {
    event: Event,
    api: Arc<crate::Api>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(log) = self.api.audit_log() {
            let now = self.api.env().now();
            log.write_now(self.event.line(now));
        }
    }
}

struct Audited {
    body: axum::body::Body,
    _pending: Pending,
}

impl Body for Audited {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
