//! The server itself: what all requests share, and the way of one request through it.

use crate::answer::{self, Answer};
use crate::audit::{self, Arrival, Outcome};
use crate::env::Env;
use crate::provider::Provider;
use crate::request::{Info, Query, Request, unescape};
use crate::resource::Resources;
use crate::{bootstrap, dispatch, gate, negotiate, storage};
use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stowplan_access::{User, token};
use stowplan_machinery::{Status, meta};
use stowplan_store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest body that is read, in bytes. Upstream: `MaxRequestBodyBytes`.
const BODY_MAX: usize = 3 * 1024 * 1024;
/// How long a client may take to send it.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Requests that are worked on at a time, watches aside.
const IN_FLIGHT_MAX: usize = 1_000;
/// Open watches.
const WATCHES_MAX: usize = 20_000;

/// What a server is made from.
pub struct Config {
    /// The clock and randomness.
    pub env: Box<dyn Env>,
    /// Where objects are kept.
    pub store: Store,
    /// Bearer tokens and whom they stand for.
    pub tokens: BTreeMap<String, User>,
    /// Signs the tokens of service accounts; without it there are none.
    pub token_key: Option<token::Key>,
}

/// An API server.
pub struct Api {
    config: Config,
    resources: Resources,
    provider: OnceLock<Box<dyn Provider>>,
    /// Held while a service is given addresses and stored.
    addresses: tokio::sync::Mutex<()>,
    in_flight: Semaphore,
    watches: Arc<Semaphore>,
    audit: OnceLock<audit::Log>,
    /// Whether watches shall end.
    stopping: tokio::sync::watch::Sender<bool>,
}

impl Api {
    /// A server over a store, to which it adds what every cluster has.
    pub async fn new(config: Config) -> Arc<Self> {
        let api = Arc::new(Self {
            config,
            resources: Resources::default(),
            provider: OnceLock::new(),
            addresses: tokio::sync::Mutex::default(),
            in_flight: Semaphore::new(IN_FLIGHT_MAX),
            watches: Arc::new(Semaphore::new(WATCHES_MAX)),
            audit: OnceLock::new(),
            stopping: tokio::sync::watch::Sender::new(false),
        });
        bootstrap::run(&api).await;
        api
    }

    /// Says who runs pods. The first one stays.
    pub fn provide(&self, provider: Box<dyn Provider>) {
        let _ = self.provider.set(provider);
    }

    /// Says where a line about every request goes. The first one stays.
    pub fn audit_to(&self, log: audit::Log) {
        let _ = self.audit.set(log);
    }

    pub(crate) fn audit_log(&self) -> Option<&audit::Log> {
        self.audit.get()
    }

    /// Ends all watches, those to come included: the server is about to stop.
    pub fn end_watches(&self) {
        self.stopping.send_replace(true);
    }

    /// Tells when watches shall end.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub(crate) fn provider(&self) -> Option<&dyn Provider> {
        self.provider.get().map(|provider| &**provider)
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.config.env
    }

    pub(crate) fn store(&self) -> &Store {
        &self.config.store
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    pub(crate) fn addresses(&self) -> &tokio::sync::Mutex<()> {
        &self.addresses
    }

    pub(crate) fn tokens(&self) -> &BTreeMap<String, User> {
        &self.config.tokens
    }

    pub(crate) fn token_key(&self) -> Option<&token::Key> {
        self.config.token_key.as_ref()
    }

    /// Where an object is kept.
    pub(crate) fn key_of(&self, group: &str, plural: &str, object: &serde_json::Value) -> String {
        let resource = self.resources.by_group(group, plural);
        let key = |r| storage::key(&r, meta::namespace(object), meta::name(object));
        resource.map(key).unwrap_or_default()
    }

    /// Answers one request.
    pub async fn call(self: &Arc<Self>, request: http::Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let arrival = Arrival::new(self.env(), &parts);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let path = unescape(parts.uri.path(), false).unwrap_or_default();
        let info = Info::new(&parts.method, &path, &query);
        let certified = parts.extensions.get::<User>().cloned();
        let head = parts.method == http::Method::HEAD;
        let mut request = Request::new(parts.method, info, query, parts.headers);
        let (outcome, panicked) = match gate::pass(self, &mut request, certified) {
            Ok(()) => self.guarded(&mut request, body).await,
            Err(status) => (Err(status), false),
        };
        let (mut answer, failure) = match outcome {
            Ok(answer) => (answer, None),
            Err(status) => {
                let answer = answer::failure(&status, negotiate::for_errors(&request));
                (answer, Some(status))
            }
        };
        answer::add_warnings(&mut answer, &request.warnings());
        arrival.sign(&mut answer);
        if head {
            *answer.body_mut() = Body::empty();
        }
        let outcome = Outcome {
            code: answer.status().as_u16(),
            failure: failure.as_ref(),
            panicked,
        };
        audit::record(self, &arrival, &request, outcome, answer).await
    }

    /// What goes wrong inside is the server's fault, and one client's only. Says whether it did.
    async fn guarded(
        self: &Arc<Self>,
        request: &mut Request,
        body: Body,
    ) -> (Result<Answer, Status>, bool) {
        let answer = AssertUnwindSafe(self.read_and_answer(request, body));
        match answer.catch_unwind().await {
            Ok(outcome) => (outcome, false),
            Err(_) => {
                tracing::error!("a request brought its handler down");
                let status = Status::internal("this request could not be handled");
                (Err(status), true)
            }
        }
    }

    async fn read_and_answer(
        self: &Arc<Self>,
        request: &mut Request,
        body: Body,
    ) -> Result<Answer, Status> {
        request.body = read(body).await?;
        // Watches last, and are counted on their own.
        let _permit = match request.info.verb == "watch" {
            true => None,
            false => match self.in_flight.try_acquire() {
                Ok(permit) => Some(permit),
                Err(_) => return Ok(answer::too_many_requests()),
            },
        };
        dispatch::answer(self, request).await
    }

    /// A place for one more watch.
    pub(crate) fn watch_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.watches).try_acquire_owned().ok()
    }
}

/// The whole body, if it is not too large and does not take forever.
async fn read(body: Body) -> Result<Bytes, Status> {
    let body = Limited::new(body, BODY_MAX).collect();
    match tokio::time::timeout(BODY_TIME, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {BODY_MAX}");
            Err(Status::failure(413, "RequestEntityTooLarge", message))
        }
        Ok(Err(error)) => Err(Status::bad_request(error.to_string())),
        Err(_) => {
            let message = "Timeout: request did not complete within the allotted timeout";
            Err(Status::failure(504, "Timeout", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused() {
        let api = testing::api().await;
        let body = json!({"data": {"k": "x".repeat(super::BODY_MAX)}});
        let url = "/api/v1/namespaces/default/configmaps";
        let (code, status) = testing::send(&api, "POST", url, &[], &body).await;
        let reason = json!("RequestEntityTooLarge");
        assert_eq!((code, &status["reason"]), (413, &reason));
    }

    /// The code, the header `Retry-After` and the body.
    async fn ask(api: &Arc<Api>, url: &str) -> (u16, String, String) {
        let request = http::Request::get(url).header("authorization", "Bearer test");
        let answer = api.call(request.body(Body::empty()).expect("a request"));
        let answer = answer.await;
        let code = answer.status().as_u16();
        let after = answer.headers().get("retry-after");
        let after = after.map_or("", |v| v.to_str().unwrap_or_default());
        let after = after.to_owned();
        let body = answer.into_body().collect().await.expect("a body");
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        (code, after, body)
    }

    const SHORT_WATCH: &str = "/api/v1/pods?watch=1&timeoutSeconds=1";

    fn refused() -> (u16, String, String) {
        let text = "Too many requests, please try again later.\n";
        (429, "1".to_owned(), text.to_owned())
    }

    #[tokio::test]
    async fn too_many_at_once_are_told_to_come_back() {
        let api = testing::api().await;
        let all = u32::try_from(IN_FLIGHT_MAX).expect("fits");
        let permits = api.in_flight.acquire_many(all).await.expect("all are free");
        assert_eq!(ask(&api, "/api/v1/pods").await, refused());
        assert_eq!(
            ask(&api, SHORT_WATCH).await.0,
            200,
            "watches have places of their own"
        );
        drop(permits);
        assert_eq!(ask(&api, "/api/v1/pods").await.0, 200);
    }

    #[tokio::test]
    async fn too_many_watches_are_told_to_come_back() {
        let api = testing::api().await;
        let all = u32::try_from(WATCHES_MAX).expect("fits");
        let permits = api.watches.acquire_many(all).await.expect("all are free");
        assert_eq!(ask(&api, SHORT_WATCH).await, refused());
        assert_eq!(ask(&api, "/api/v1/pods").await.0, 200);
        drop(permits);
        assert_eq!(ask(&api, SHORT_WATCH).await.0, 200);
        let free = api.watches.available_permits();
        assert_eq!(free, WATCHES_MAX, "a watch gives its place back");
    }

    #[tokio::test]
    async fn a_slow_body_holds_no_place() {
        let api = testing::api().await;
        let never = futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
        let request = http::Request::post("/api/v1/namespaces")
            .header("authorization", "Bearer test")
            .body(Body::from_stream(never))
            .expect("a request");
        let mut slow = std::pin::pin!(api.call(request));
        let poll =
            std::future::poll_fn(|cx| std::task::Poll::Ready(slow.as_mut().poll(cx).is_pending()));
        assert!(poll.await, "nothing has come yet");
        assert_eq!(api.in_flight.available_permits(), IN_FLIGHT_MAX);
    }
}
