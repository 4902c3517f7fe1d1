//! The server itself: what all requests share, and the way of one request through it.

use crate::answer::{self, Answer};
use crate::env::Env;
use crate::request::{Info, Query, Request, User, unescape};
use crate::resource::Resources;
use crate::storage::Store;
use crate::{dispatch, negotiate};
use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_machinery::Status;

/// The largest body that is read, in bytes. Upstream: `MaxRequestBodyBytes`.
const BODY_MAX: usize = 3 * 1024 * 1024;

/// What a server is made from.
pub struct Config {
    /// The clock and randomness.
    pub env: Box<dyn Env>,
    /// Bearer tokens and whom they stand for.
    pub tokens: BTreeMap<String, User>,
}

/// An API server.
pub struct Api {
    env: Box<dyn Env>,
    store: Store,
    resources: Resources,
    tokens: BTreeMap<String, User>,
}

impl Api {
    /// A server with nothing in it but what every cluster has.
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            env: config.env,
            store: Store::new(),
            resources: Resources::default(),
            tokens: config.tokens,
        })
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.env
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Answers one request.
    pub async fn call(self: &Arc<Self>, request: http::Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let path = unescape(parts.uri.path(), false).unwrap_or_default();
        let info = Info::new(&parts.method, &path, &query);
        let user = self.authenticate(&parts.headers);
        let mut request = Request::new(parts.method, info, query, parts.headers, User::default());
        let outcome = match user {
            Ok(user) => {
                request.user = user;
                self.read_and_answer(&mut request, body).await
            }
            Err(status) => Err(status),
        };
        let mut answer = match outcome {
            Ok(answer) => answer,
            Err(status) => answer::failure(&status, negotiate::for_errors(&request)),
        };
        answer::add_warnings(&mut answer, &request.warnings());
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

    fn authenticate(&self, headers: &http::HeaderMap) -> Result<User, Status> {
        let header = headers.get(http::header::AUTHORIZATION);
        let Some(header) = header.and_then(|h| h.to_str().ok()) else {
            return Ok(User {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
            });
        };
        let token = header.strip_prefix("Bearer ").unwrap_or_default().trim();
        let user = self.tokens.get(token).cloned();
        user.ok_or_else(Status::unauthorized)
    }
}
