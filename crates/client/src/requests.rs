//! Requests to the API: how many at a time, how fast, and what is tried again.

use crate::{Guard, RateLimiter};
use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use kube::Error;
use kube::client::Body;
use kube::core::Status;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use tokio::sync::Semaphore;

/// How many requests may be under way. Each has a connection of its own: more of them cost the server
/// more in handshakes than they gain.
const REQUESTS_MAX: usize = 48;

/// How long an answer is waited for: a server that vanished never says no.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a request is sent again that the server has no time for. client-go's limit.
const RETRIES_MAX: u32 = 10;

/// Nothing but metadata.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// What is asked, but for the body.
#[derive(Clone, Copy)]
struct Call<'a> {
    method: &'a str,
    path: &'a str,
    content_type: &'a str,
    accept: &'a str,
}

impl<'a> Call<'a> {
    fn new(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            content_type: "application/json",
            accept: "application/json",
        }
    }
}

/// A client with its limits: how many requests at a time, how fast, how long to wait for an answer, and
/// whether anything may be changed at all. What the server has no time for is sent again.
pub struct Requests {
    client: kube::Client,
    env: Arc<dyn Env>,
    guard: Arc<dyn Guard>,
    room: Semaphore,
    limiter: RateLimiter,
    patience: Duration,
    user_agent: Option<String>,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// It was not sent.
    #[error("this process does not lead any more")]
    Fenced,
    /// The server said no, or nothing.
    #[error(transparent)]
    Api(#[from] Error),
    /// The server said nothing for too long.
    #[error("the API server did not answer in time")]
    Late,
    /// The server said no, but an earlier try, to which it answered that something broke, may have had
    /// its effect.
    #[error(transparent)]
    Unsure(Box<Self>),
}

impl Failed {
    /// The server's answer, if there was one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(Error::Api(status)) => Some(status),
            Self::Unsure(last) => last.status(),
            _ => None,
        }
    }

    /// The code of the server's answer; `None` if there was none.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// Whether the request may have had its effect all the same.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Fenced => false,
            Self::Late | Self::Unsure(_) => true,
            Self::Api(_) => self.code().is_none_or(|code| code >= 500),
        }
    }

    /// What the user is told: the server's own words where there are any.
    pub fn message(&self) -> String {
        match self {
            Self::Api(Error::Api(status)) => status.message.clone(),
            Self::Unsure(last) => last.message(),
            other => other.to_string(),
        }
    }
}

impl Requests {
    /// A client without a rate limit.
    pub fn new(client: kube::Client, env: Arc<dyn Env>, guard: Arc<dyn Guard>) -> Self {
        Self {
            client,
            limiter: RateLimiter::new(env.clone(), 0.0, 0),
            env,
            guard,
            room: Semaphore::new(REQUESTS_MAX),
            patience: PATIENCE,
            user_agent: None,
        }
    }

    /// Tells the server by whom it is asked: what is written belongs to a field manager of that name.
    pub fn named(mut self, component: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        self.user_agent = Some(format!("{component}/{version}"));
        self
    }

    /// Lets so many requests be under way at a time.
    pub fn at_a_time(mut self, requests: usize) -> Self {
        self.room = Semaphore::new(requests);
        self
    }

    /// Sends so many requests per second at most, and so many at once; no limit if `qps` is not above 0.
    pub fn limited(mut self, qps: f32, burst: i32) -> Self {
        self.limiter = RateLimiter::new(self.env.clone(), qps, burst);
        self
    }

    /// The clock by which it waits.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    /// Whether this process may change anything.
    pub fn may_act(&self) -> bool {
        self.guard.may_act()
    }

    /// Reads something.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        read_answer(self.send(Call::new("GET", path), None).await?)
    }

    /// Reads nothing but the metadata of an object.
    pub async fn get_metadata<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        self.get_as(path, METADATA).await
    }

    /// Reads nothing but the metadata of the objects of a list.
    pub async fn list_metadata<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        self.get_as(path, METADATA_LIST).await
    }

    /// Reads something in a form that the server is asked for.
    pub async fn get_as<T: DeserializeOwned>(&self, path: &str, accept: &str) -> Result<T, Failed> {
        let call = Call {
            accept,
            ..Call::new("GET", path)
        };
        read_answer(self.send(call, None).await?)
    }

    /// Changes something, if this process may.
    pub async fn change<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<T, Failed> {
        let body = serde_json::to_vec(body).map_err(Error::SerdeError)?;
        read_answer(self.change_by(method, path, content_type, body).await?)
    }

    /// Changes something, if this process may, by a body that is ready to be sent. Returns the answer as it
    /// came.
    pub async fn change_by(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Bytes, Failed> {
        let call = Call {
            content_type,
            ..Call::new(method, path)
        };
        self.send(call, Some(body)).await
    }

    /// Sends a request; again if the server has no time and says when it will, as client-go does
    /// (`rest/with_retry.go`).
    async fn send(&self, call: Call<'_>, body: Option<Vec<u8>>) -> Result<Bytes, Failed> {
        let mut is_unsure = false;
        let sent = self.try_to_send(call, body, &mut is_unsure);
        let answer = sent.await;
        answer.map_err(|failed| match is_unsure {
            true => Failed::Unsure(failed.into()),
            false => failed,
        })
    }

    async fn try_to_send(
        &self,
        call: Call<'_>,
        body: Option<Vec<u8>>,
        is_unsure: &mut bool,
    ) -> Result<Bytes, Failed> {
        let mut retries = 0;
        loop {
            let mut request = Request::builder()
                .method(call.method)
                .uri(call.path)
                .header(CONTENT_TYPE, call.content_type)
                .header(ACCEPT, call.accept);
            if let Some(agent) = &self.user_agent {
                request = request.header(USER_AGENT, agent);
            }
            let request = request.body(body.clone().unwrap_or_default());
            let request = request.map_err(Error::HttpError)?;
            let answer = {
                let _room = self.room.acquire().await;
                self.limiter.wait().await;
                if body.is_some() && !self.may_act() {
                    return Err(Failed::Fenced);
                }
                let answer = timeout(&*self.env, self.patience, self.answer(request)).await;
                answer.map_err(|_| Failed::Late)??
            };
            match answer.retry_after() {
                Some(wait) if retries < RETRIES_MAX => {
                    retries += 1;
                    *is_unsure |= body.is_some() && answer.head.status.is_server_error();
                    self.env.sleep(wait).await;
                }
                _ => return Ok(answer.body()?),
            }
        }
    }

    async fn answer(&self, request: Request<Vec<u8>>) -> Result<Answer, Error> {
        let response = self.client.send(request.map(Body::from)).await?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await?;
        Ok(Answer { head, body })
    }
}

fn read_answer<T: DeserializeOwned>(answer: Bytes) -> Result<T, Failed> {
    Ok(serde_json::from_slice(&answer).map_err(Error::SerdeError)?)
}

/// A whole answer of the server.
struct Answer {
    head: http::response::Parts,
    body: Bytes,
}

impl Answer {
    /// When to ask again, if the server has no time now. client-go's `checkWait`.
    fn retry_after(&self) -> Option<Duration> {
        let code = self.head.status.as_u16();
        if code != 429 && code < 500 {
            return None;
        }
        let seconds = self.head.headers.get(RETRY_AFTER)?.to_str().ok()?;
        Some(Duration::from_secs(seconds.parse().ok()?))
    }

    /// What the server answered if it did as it was told.
    fn body(self) -> Result<Bytes, Error> {
        let code = self.head.status;
        if !code.is_client_error() && !code.is_server_error() {
            return Ok(self.body);
        }
        let status = serde_json::from_slice::<Status>(&self.body);
        let status = status.unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&self.body);
            Status::failure(text.trim(), "")
        });
        Err(Error::Api(status.with_code(code.as_u16()).boxed()))
    }
}

/// `/api/v1/namespaces/N/pods/NAME` and what comes below it.
pub fn pod_path(namespace: &str, name: &str, subresource: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{name}{subresource}")
}

/// The pauses of client-go's `retry.DefaultBackoff`: four tries in all.
pub const PAUSES: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(250),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unguarded;
    use std::future::pending;
    use stowplan_env::System;
    use tower::{BoxError, service_fn};

    fn requests(client: kube::Client) -> Requests {
        Requests::new(client, Arc::new(System::new()), Arc::new(Unguarded))
    }

    #[tokio::test]
    async fn what_broke_once_may_have_had_its_effect_whatever_is_said_later() {
        for (first, is_open) in [(500, true), (429, false)] {
            let answers = std::sync::Mutex::new(vec![(403, "0"), (first, "0")]);
            let answer = move |_: Request<Body>| {
                let (code, wait) = answers.lock().unwrap().pop().expect("two requests");
                let answer = http::Response::builder().status(code);
                let answer = answer.header(RETRY_AFTER, wait).body(Body::empty());
                std::future::ready(answer.map_err(BoxError::from))
            };
            let client = kube::Client::new(service_fn(answer), "default");
            let requests = requests(client);
            let body = Value::Null;
            let answer: Result<Value, _> = requests.change("POST", "/api", "", &body).await;
            let failed = answer.expect_err("the server says no");
            assert_eq!((failed.code(), failed.is_open()), (Some(403), is_open));
        }
    }

    #[tokio::test]
    async fn a_server_that_vanished_is_not_waited_for_forever() {
        let silent =
            service_fn(|_: Request<Body>| pending::<Result<http::Response<Body>, BoxError>>());
        let client = kube::Client::new(silent, "default");
        let requests = Requests {
            patience: Duration::from_millis(1),
            ..requests(client)
        };
        let answer = requests.get::<Value>("/api").await;
        let failed = answer.expect_err("nobody answers");
        assert!(failed.is_open(), "it may have had its effect");
        assert_eq!(failed.code(), None);
        assert_eq!(requests.room.available_permits(), REQUESTS_MAX);
    }
}
