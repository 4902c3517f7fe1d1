//! The server itself: what all requests share, and the way of one request through it.

use crate::answer::{self, Answer};
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
        });
        bootstrap::run(&api).await;
        api
    }

    /// Says who runs pods. The first one stays.
    pub fn provide(&self, provider: Box<dyn Provider>) {
        let _ = self.provider.set(provider);
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
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let path = unescape(parts.uri.path(), false).unwrap_or_default();
        let info = Info::new(&parts.method, &path, &query);
        let certified = parts.extensions.get::<User>().cloned();
        let head = parts.method == http::Method::HEAD;
        let mut request = Request::new(parts.method, info, query, parts.headers);
        let outcome = match gate::pass(self, &mut request, certified) {
            Ok(()) => self.guarded(&mut request, body).await,
            Err(status) => Err(status),
        };
        let mut answer = match outcome {
            Ok(answer) => answer,
            Err(status) => answer::failure(&status, negotiate::for_errors(&request)),
        };
        answer::add_warnings(&mut answer, &request.warnings());
        if head {
            *answer.body_mut() = Body::empty();
        }
        answer
    }

    /// What goes wrong inside is the server's fault, and one client's only.
    async fn guarded(
        self: &Arc<Self>,
        request: &mut Request,
        body: Body,
    ) -> Result<Answer, Status> {
        let answer = AssertUnwindSafe(self.read_and_answer(request, body));
        match answer.catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => {
                tracing::error!("a request brought its handler down");
                Err(Status::internal("this request could not be handled"))
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
            false => Some(self.in_flight.try_acquire().map_err(|_| busy())?),
        };
        dispatch::answer(self, request).await
    }

    /// A place for one more watch.
    pub(crate) fn watch_permit(&self) -> Result<OwnedSemaphorePermit, Status> {
        let watches = Arc::clone(&self.watches);
        watches.try_acquire_owned().map_err(|_| busy())
    }
}

/// 429.
fn busy() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
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
    use crate::testing;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused() {
        let api = testing::api().await;
        let body = json!({"data": {"k": "x".repeat(super::BODY_MAX)}});
        let url = "/api/v1/namespaces/default/configmaps";
        let (code, status) = testing::send(&api, "POST", url, &[], &body).await;
        let reason = json!("RequestEntityTooLarge");
        assert_eq!((code, &status["reason"]), (413, &reason));
    }

    #[tokio::test]
    async fn too_many_at_once_are_told_to_come_back() {
        let api = testing::api().await;
        let all = u32::try_from(super::IN_FLIGHT_MAX).expect("fits");
        let _permits = api.in_flight.acquire_many(all).await.expect("all are free");
        let (code, status) = testing::get(&api, "/api/v1/pods", "").await;
        let seconds = &status["details"]["retryAfterSeconds"];
        assert_eq!((code, seconds), (429, &json!(1)));
        let watch = "/api/v1/pods?watch=1&timeoutSeconds=1";
        let (code, _) = testing::send(&api, "GET", watch, &[], &Value::Null).await;
        assert_eq!(code, 200, "watches have places of their own");
    }
}
