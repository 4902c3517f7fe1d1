//! Stands between a scheduler and the server: notes what is asked, and answers some of it itself.

use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use std::sync::{Arc, Mutex};
use tower::{BoxError, service_fn};

/// What was asked: methods and paths.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    /// How many requests have these in their method and path.
    pub(crate) fn count(&self, parts: &[&str]) -> usize {
        let all = self.0.lock().unwrap();
        let found = all
            .iter()
            .filter(|asked| parts.iter().all(|part| asked.contains(part)));
        found.count()
    }
}

/// An answer in the server's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instead {
    pub(crate) code: u16,
    pub(crate) retry_after: Option<&'static str>,
    /// Whether the server is asked all the same.
    pub(crate) arrives: bool,
}

impl Instead {
    fn response(self) -> Response<Body> {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "message": "as planned", "code": self.code});
        let mut response = Response::builder().status(self.code);
        if let Some(seconds) = self.retry_after {
            response = response.header("Retry-After", seconds);
        }
        let body = Body::from(body.to_string().into_bytes());
        response.body(body).expect("a response")
    }
}

/// A client whose requests are noted, and answered as `plan` says, which is told method and path.
pub(crate) fn proxied(
    client: kube::Client,
    plan: impl Fn(&str) -> Option<Instead> + Clone + Send + Sync + 'static,
) -> (kube::Client, Asked) {
    let asked = Asked::default();
    let told = asked.clone();
    let service = service_fn(move |request: Request<Body>| {
        let what = format!("{} {}", request.method(), request.uri());
        let instead = plan(&what);
        told.0.lock().unwrap().push(what);
        let client = client.clone();
        async move {
            let Some(instead) = instead else {
                return client.send(request).await.map_err(BoxError::from);
            };
            if instead.arrives {
                client.send(request).await.map_err(BoxError::from)?;
            }
            Ok(instead.response())
        }
    });
    (kube::Client::new(service, "default"), asked)
}
