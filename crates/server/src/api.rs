//! The server itself: what all requests share, and the way of one request through it.

use crate::answer::{self, Answer};
use crate::env::Env;
use crate::provider::Provider;
use crate::request::{Info, Query, Request, unescape};
use crate::resource::Resources;
use crate::{bootstrap, dispatch, gate, negotiate, storage};
use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use stowplan_access::{User, token};
use stowplan_machinery::{Status, meta};
use stowplan_store::Store;

/// The largest body that is read, in bytes. Upstream: `MaxRequestBodyBytes`.
const BODY_MAX: usize = 3 * 1024 * 1024;

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
}

impl Api {
    /// A server over a store, to which it adds what every cluster has.
    pub async fn new(config: Config) -> Arc<Self> {
        let api = Arc::new(Self {
            config,
            resources: Resources::default(),
            provider: OnceLock::new(),
            addresses: tokio::sync::Mutex::default(),
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
            Ok(()) => self.read_and_answer(&mut request, body).await,
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

    async fn read_and_answer(
        self: &Arc<Self>,
        request: &mut Request,
        body: Body,
    ) -> Result<Answer, Status> {
        let read = Limited::new(body, BODY_MAX).collect().await;
        request.body = read
            .map_err(|_| {
                let message = format!("Request entity too large: limit is {BODY_MAX}");
                Status::failure(413, "RequestEntityTooLarge", message)
            })?
            .to_bytes();
        dispatch::answer(self, request).await
    }
}
