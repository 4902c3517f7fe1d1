//! Requests to the API: how many at a time, how fast, and what is tried again.

use super::throttle::Throttle;
use crate::fence::Fence;
use http::Request;
use kube::Error;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How many requests may be under way.
const REQUESTS_MAX: usize = 128;

/// How often a request is sent that the server has no time for. client-go's limit.
const TRIES_MAX: u32 = 10;

/// The client with its limits.
pub(crate) struct Requests {
    client: kube::Client,
    fence: Arc<dyn Fence>,
    room: Semaphore,
    throttle: Throttle,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// It was not sent.
    #[error("this scheduler does not lead any more")]
    Fenced,
    /// The server said no, or nothing.
    #[error(transparent)]
    Api(#[from] Error),
}

impl Failed {
    /// The code of the server's answer; `None` if there was none.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Api(Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// Whether the request may have had its effect all the same.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Fenced => false,
            Self::Api(_) => self.code().is_none_or(|code| code >= 500),
        }
    }

    /// What the user is told: the server's own words where there are any.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Api(Error::Api(status)) => status.message.clone(),
            other => other.to_string(),
        }
    }
}

impl Requests {
    pub(crate) fn new(client: kube::Client, fence: Arc<dyn Fence>, qps: f32, burst: i32) -> Self {
        Self {
            client,
            fence,
            room: Semaphore::new(REQUESTS_MAX),
            throttle: Throttle::new(qps, burst),
        }
    }

    /// Whether this scheduler may change anything.
    pub(crate) fn may_act(&self) -> bool {
        self.fence.may_act()
    }

    /// Reads something.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        self.send("GET", path, "application/json", None).await
    }

    /// Changes something, if this scheduler may.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<T, Failed> {
        let body = serde_json::to_vec(body).map_err(Error::SerdeError)?;
        self.send(method, path, content_type, Some(body)).await
    }

    /// Sends a request; again if the server has no time (429), as client-go does.
    async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Option<Vec<u8>>,
    ) -> Result<T, Failed> {
        let mut tries = 0;
        loop {
            tries += 1;
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("Content-Type", content_type)
                .body(body.clone().unwrap_or_default())
                .map_err(Error::HttpError)?;
            let answer = {
                let _room = self.room.acquire().await;
                self.throttle.wait().await;
                if body.is_some() && !self.may_act() {
                    return Err(Failed::Fenced);
                }
                self.client.request(request).await
            };
            match answer {
                Err(Error::Api(status)) if status.code == 429 && tries < TRIES_MAX => {
                    let details = status.details.as_ref();
                    let seconds = details.map_or(0, |details| details.retry_after_seconds);
                    tokio::time::sleep(Duration::from_secs(seconds.max(1).into())).await;
                }
                answer => return Ok(answer?),
            }
        }
    }
}

/// `/api/v1/namespaces/N/pods/NAME` and what comes below it.
pub(crate) fn pod_path(namespace: &str, name: &str, subresource: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{name}{subresource}")
}

/// The pauses of client-go's `retry.DefaultBackoff`: four tries in all.
pub(crate) const PAUSES: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(250),
];
