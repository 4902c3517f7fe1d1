//! Requests to the cluster, handed on with the session's credentials.

use crate::{Answer, text};
use axum::body::Body;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use std::sync::Arc;

/// How much of a request is read, in bytes. Upstream takes 3 MiB.
const BODY_MAX: usize = 3 << 20;

/// What the cluster is told of a request, and the browser of an answer. Nothing else passes: no cookie, no
/// user whom somebody wants to be.
const ASKED: [HeaderName; 2] = [ACCEPT, CONTENT_TYPE];
const TOLD: [HeaderName; 3] = [CONTENT_TYPE, RETRY_AFTER, WARNING];

/// Where decisions are told, if the API server does not know them.
const DECISIONS: &str = "/apis/stowplan.dev/v1/";

/// Knows the scheduler that leads.
pub trait Leader: Send + Sync {
    /// A client that asks it with the same credentials; an error says what was tried.
    fn client(&self) -> BoxFuture<'_, Result<Client, String>>;
}

/// A cluster, and who tells its decisions.
#[derive(Clone)]
pub(crate) struct Cluster {
    client: Client,
    leader: Option<Arc<dyn Leader>>,
}

/// Whether a path is one of the cluster's that the page asks for.
pub(crate) fn concerns(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    let is_ours = matches!(first, Some("api" | "apis" | "openapi" | "version"));
    is_ours && path.starts_with('/')
}

/// Whether a path leads to what somebody else wrote: it would be shown as a part of this page.
fn leads_elsewhere(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| {
        matches!(
            part,
            "proxy" | "exec" | "attach" | "portforward" | ".." | "."
        )
    }) || path.contains('%')
}

impl Cluster {
    pub(crate) fn new(client: Client, leader: Option<Arc<dyn Leader>>) -> Self {
        Self { client, leader }
    }

    /// Hands a request on, and the answer back.
    pub(crate) async fn forward<B>(&self, request: Request<B>) -> Answer
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let body = match Limited::new(body, BODY_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => return text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"),
        };
        let mut handed_on = Request::new(body);
        *handed_on.method_mut() = parts.method.clone();
        let Ok(uri) = path.parse() else {
            return text(StatusCode::BAD_REQUEST, "this is no path");
        };
        *handed_on.uri_mut() = uri;
        copy(&ASKED, &parts.headers, handed_on.headers_mut());
        self.send(handed_on).await
    }

    /// Asks the cluster to get a path.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let mut request = Request::new(bytes::Bytes::new());
        let Ok(uri) = path.parse() else {
            return text(StatusCode::BAD_REQUEST, "this is no path");
        };
        *request.uri_mut() = uri;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        self.send(request).await
    }

    async fn send(&self, request: Request<bytes::Bytes>) -> Answer {
        let path = request.uri().path();
        if !concerns(path) || leads_elsewhere(path) {
            return text(StatusCode::NOT_FOUND, "the page does not lead there");
        }
        let is_decision = path.starts_with(DECISIONS);
        let known = [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ];
        if !known.contains(request.method()) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "the page does not ask so");
        }
        let client = match (&self.leader, is_decision) {
            (Some(leader), true) => match leader.client().await {
                Ok(client) => client,
                Err(why) => return text(StatusCode::BAD_GATEWAY, why),
            },
            _ => self.client.clone(),
        };
        let request = request.map(kube::client::Body::from);
        match client.send(request).await {
            Ok(answer) => handed_back(answer),
            Err(error) => {
                let why = format!("the cluster does not answer: {}", chain(&error));
                text(StatusCode::BAD_GATEWAY, why)
            }
        }
    }
}

fn handed_back(answer: Response<kube::client::Body>) -> Answer {
    let (parts, body) = answer.into_parts();
    let mut out = Response::new(Body::new(body));
    *out.status_mut() = parts.status;
    copy(&TOLD, &parts.headers, out.headers_mut());
    // What a cluster says is data, whatever it calls itself.
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
    let headers = out.headers_mut();
    headers.insert(http::header::CONTENT_SECURITY_POLICY, policy);
    out
}

fn copy(names: &[HeaderName], from: &HeaderMap, to: &mut HeaderMap) {
    for name in names {
        for value in from.get_all(name) {
            to.append(name, value.clone());
        }
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = error.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A cluster that tells what it was asked.
    fn echo() -> Cluster {
        let service = tower::service_fn(|request: Request<kube::client::Body>| async move {
            let (parts, body) = request.into_parts();
            let names: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
            let body = body.collect_bytes().await?;
            let told = json!({
                "method": parts.method.as_str(), "uri": parts.uri.to_string(),
                "headers": names, "body": String::from_utf8_lossy(&body),
            });
            let answer = Response::builder()
                .header("content-type", "application/json")
                .header("set-cookie", "a=b")
                .body(http_body_util::Full::new(bytes::Bytes::from(
                    told.to_string(),
                )));
            Ok::<_, tower::BoxError>(answer?)
        });
        Cluster::new(stowplan_client::in_process(service), None)
    }

    async fn ask(request: http::request::Builder, body: &'static str) -> (u16, Value, HeaderMap) {
        let request = request.body(Body::from(body)).unwrap();
        let answer = echo().forward(request).await;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let told = serde_json::from_slice(&body).unwrap_or(Value::Null);
        (parts.status.as_u16(), told, parts.headers)
    }

    #[tokio::test]
    async fn nothing_but_the_question_is_handed_on() {
        let request = Request::post("/api/v1/namespaces/n/pods?dryRun=All")
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("cookie", "stowplan-1=secret")
            .header("authorization", "Bearer other")
            .header("impersonate-user", "admin");
        let (code, told, headers) = ask(request, "{}").await;
        assert_eq!(code, 200);
        assert_eq!(told["uri"], "/api/v1/namespaces/n/pods?dryRun=All");
        assert_eq!(
            (&told["method"], &told["body"]),
            (&json!("POST"), &json!("{}"))
        );
        assert_eq!(told["headers"], json!(["accept", "content-type"]));
        assert!(!headers.contains_key("set-cookie"));
        let policy = headers.get("content-security-policy").unwrap();
        assert!(policy.to_str().unwrap().ends_with("sandbox"));
    }

    #[tokio::test]
    async fn the_page_leads_nowhere_else() {
        for path in [
            "/metrics",
            "/apisx",
            "/api/v1/namespaces/n/pods/p/proxy/x.js",
            "/api/v1/nodes/n/proxy",
            "/api/v1/namespaces/n/services/s/%70roxy/",
            "/api/v1/namespaces/n/pods/p/exec",
            "/api/../metrics",
        ] {
            assert_eq!(ask(Request::get(path), "").await.0, 404, "{path}");
        }
        let request = Request::builder().method("CONNECT").uri("/api/v1");
        assert_eq!(ask(request, "").await.0, 405);
        assert_eq!(ask(Request::get("/version"), "").await.0, 200);
    }
}
