//! A request that grows in one dimension, which its client controls.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whoever sends a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Sender {
    /// May do everything.
    #[default]
    Admin,
    /// May write roles, but holds little himself.
    Weak,
}

impl Sender {
    pub(crate) fn token(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Weak => "weak",
        }
    }
}

/// A request that can be written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) headers: Vec<(String, String)>,
    #[serde(with = "in_base64")]
    pub(crate) body: Vec<u8>,
    #[serde(default)]
    pub(crate) sender: Sender,
}

mod in_base64 {
    use super::{Engine, STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

impl Request {
    pub(crate) fn new(method: &str, url: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            sender: Sender::Admin,
        }
    }

    /// A POST of JSON.
    pub(crate) fn post(url: impl Into<String>, body: &Value) -> Self {
        Self::new("POST", url).json(body)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn by(mut self, sender: Sender) -> Self {
        self.sender = sender;
        self
    }

    /// All bytes that the client sent.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.headers.iter().map(|(n, v)| n.len() + v.len());
        self.url.len() + headers.sum::<usize>() + self.body.len()
    }

    pub(crate) fn to_http(&self) -> Option<http::Request<Body>> {
        let mut request = http::Request::builder()
            .method(self.method.as_str())
            .uri(self.url.as_str());
        if !self.headers.iter().any(|(name, _)| name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.sender.token()));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Body::from(self.body.clone())).ok()
    }
}

/// What makes the requests: the last one is measured, those before it set the scene.
type Make = Box<dyn Fn(usize) -> Vec<Request> + Send>;

/// A way to make the server work, of any size.
pub(crate) struct Attack {
    pub(crate) name: String,
    pub(crate) make: Make,
    /// Whether the last request is somebody else's, and shall not pay for what was sent before.
    pub(crate) by_bystander: bool,
}

impl Attack {
    pub(crate) fn new(
        name: impl Into<String>,
        make: impl Fn(usize) -> Vec<Request> + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            make: Box::new(make),
            by_bystander: false,
        }
    }

    /// One whose last request is not about what was sent before.
    pub(crate) fn bystander(
        name: impl Into<String>,
        make: impl Fn(usize) -> Vec<Request> + Send + 'static,
    ) -> Self {
        Self {
            by_bystander: true,
            ..Self::new(name, make)
        }
    }

    /// One that needs no scene.
    pub(crate) fn single(
        name: impl Into<String>,
        make: impl Fn(usize) -> Request + Send + 'static,
    ) -> Self {
        Self::new(name, move |n| vec![make(n)])
    }
}
