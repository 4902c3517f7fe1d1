//! The page: a cluster in a browser. It serves the files that are built in `web`, and hands the browser's
//! requests on to the Kubernetes API with the credentials of whoever started it.
//!
//! It keeps nothing of the cluster and decides nothing: what the page may do is what its credentials may.
//! Whoever opens the link that is printed gets a session, once (`sessions`); every request is held against
//! that session, against the names that the page is served by, and against the page's own origin (`gate`).

mod assets;
mod forward;
mod gate;
mod headers;
mod lines;
mod listen;
mod sessions;
mod watches;

pub use forward::Leader;
pub use listen::{NotLoopback, PageListener};

use axum::body::Body;
use gate::Gate;
use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use kube::Client;
use sessions::{Opened, Sessions};
use std::net::SocketAddr;
use std::sync::Arc;
use stowplan_base::{Env, Time};
use tokio::sync::{Semaphore, watch};

/// An answer of the page.
pub(crate) type Answer = Response<Body>;

/// The page, served on one address.
pub struct Page {
    gate: Gate,
    sessions: Sessions,
    env: Arc<dyn Env>,
    cluster: forward::Cluster,
    /// Room for WebSockets, and whether they have to end.
    sockets: Arc<Semaphore>,
    stops: watch::Sender<bool>,
}

impl Page {
    /// A page about the cluster that this client asks; its credentials are those of every session.
    /// Decisions come from the same API, unless a leader is named.
    /// Links and sessions end by the clock of `env`.
    pub fn new(
        address: SocketAddr,
        client: Client,
        leader: Option<Arc<dyn Leader>>,
        env: Arc<dyn Env>,
    ) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(address),
            sessions: Sessions::new(address.port()),
            env,
            cluster: forward::Cluster::new(client, leader),
            sockets: Arc::new(Semaphore::new(watches::SOCKETS_MAX)),
            stops: watch::Sender::new(false),
        })
    }

    /// A link that opens the page once, within a quarter of an hour. `None` if the system gives no randomness.
    pub fn link(&self) -> Option<String> {
        let token = self.sessions.invite(self.env.monotonic())?;
        Some(format!("http://{}/open?token={token}", self.gate.name()))
    }

    /// Answers one request.
    pub(crate) async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Answer {
        let mut answer = match self.gate.refusal(&request) {
            Some(refused) => refused,
            None => self.route(request).await,
        };
        headers::protect(answer.headers_mut());
        answer
    }

    async fn route(self: &Arc<Self>, mut request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        if path == "/open" {
            return self.open(&request);
        }
        let now = self.env.monotonic();
        if !self.sessions.knows(request.headers(), now) {
            return stranger(&request);
        }
        let asks = path == "/watches" || forward::concerns(&path);
        let ends = self.sessions.may_ask(request.headers(), now);
        if asks && ends.is_none() {
            return stranger(&request);
        }
        if path == "/watches"
            && let Some(ends) = ends
        {
            return self.watches(&mut request, ends);
        }
        if forward::concerns(&path) {
            return self.cluster.forward(request).await;
        }
        match assets::find(&path) {
            Some(asset) if matches!(*request.method(), Method::GET | Method::HEAD) => {
                asset.answer(request.headers())
            }
            Some(_) => text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here"),
            None => text(StatusCode::NOT_FOUND, "there is nothing at this path"),
        }
    }

    /// Answers the request for a WebSocket, which ends with the session or with the page.
    fn watches(&self, request: &mut Request<Incoming>, ends: Time) -> Answer {
        let Ok(place) = Arc::clone(&self.sockets).try_acquire_owned() else {
            let why = "the page is open too often: close some of its tabs";
            return text(StatusCode::SERVICE_UNAVAILABLE, why);
        };
        let (session, mut stops) = (self.env.sleep_until(ends), self.stops.subscribe());
        let end = async move {
            tokio::select! {
                () = session => {}
                // An error says that there is no page any more.
                _ = stops.wait_for(|stops| *stops) => {}
            }
        };
        watches::upgrade(self.cluster.clone(), request, place, end)
    }

    /// Ends all WebSockets: they are no requests that would end by themselves.
    pub(crate) fn stop(&self) {
        self.stops.send_replace(true);
    }

    /// Exchanges the token of a link for a cookie and a key.
    fn open(&self, request: &Request<Incoming>) -> Answer {
        if request.method() != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, "a link is opened with GET");
        }
        let query = request.uri().query().unwrap_or_default();
        let token = query.strip_prefix("token=").unwrap_or_default();
        let now = self.env.monotonic();
        match self.sessions.open(token, now) {
            // A page that goes on by itself: a redirect from elsewhere would not bring the cookie along.
            Opened::Session(cookie, key) => {
                let mut answer = html(StatusCode::OK, assets::welcome(&key));
                answer.headers_mut().insert(header::SET_COOKIE, cookie);
                answer
            }
            Opened::Refused => match self.sessions.knows(request.headers(), now) {
                true => html(StatusCode::OK, assets::welcome("")),
                false => html(StatusCode::FORBIDDEN, assets::USED),
            },
        }
    }
}

/// What somebody is told who has no session.
fn stranger(request: &Request<Incoming>) -> Answer {
    let accept = request.headers().get(header::ACCEPT);
    let is_person = accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    match is_person {
        true => html(StatusCode::UNAUTHORIZED, assets::STRANGER),
        false => text(
            StatusCode::UNAUTHORIZED,
            "no session: open the link that stowplan printed",
        ),
    }
}

/// A plain answer.
pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    typed(status, "text/plain; charset=utf-8", text.into().into())
}

fn html(status: StatusCode, page: impl Into<Body>) -> Answer {
    typed(status, "text/html; charset=utf-8", page.into())
}

pub(crate) fn typed(status: StatusCode, kind: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let kind = http::HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
