//! Bodies that are not read to their end, over real connections.

use crate::client::{Client, TOKEN};
use axum::body::{Body, Bytes};
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::io::DuplexStream;
use tokio::sync::oneshot;

const MAPS: &str = "http://server/api/v1/namespaces/default/configmaps";
const PIECE: &[u8] = &[b'x'; 64 * 1024];

#[derive(Clone, Copy, Debug)]
enum Http {
    One,
    Two,
}

fn connect(client: &Client, http: Http) -> TokioIo<DuplexStream> {
    let (here, there) = tokio::io::duplex(64 * 1024);
    let api = client.api().clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let api = api.clone();
        async move { Ok::<_, Infallible>(api.call(request.map(Body::new)).await) }
    });
    let there = TokioIo::new(there);
    match http {
        Http::One => drop(tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(there, service),
        )),
        Http::Two => drop(tokio::spawn(
            hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(there, service),
        )),
    }
    TokioIo::new(here)
}

/// So many bytes, and whether somebody has taken all of them.
fn upload(bytes: usize) -> (Body, oneshot::Receiver<()>) {
    let (done, taken) = oneshot::channel();
    let pieces = stream::unfold((bytes, done), |(left, done)| async move {
        if left == 0 {
            let _ = done.send(());
            return None;
        }
        let piece = Bytes::from_static(&PIECE[..left.min(PIECE.len())]);
        Some((
            Ok::<_, Infallible>(piece.clone()),
            (left - piece.len(), done),
        ))
    });
    (Body::from_stream(pieces), taken)
}

/// The code and the reason of the answer, and whether the whole body was taken.
async fn post(client: &Client, http: Http, token: &str, bytes: usize) -> (u16, Value, bool) {
    let io = connect(client, http);
    let (body, taken) = upload(bytes);
    let request = http::Request::post(MAPS)
        .header("host", "server")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(body)
        .expect("a request");
    let answer = match http {
        Http::One => {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
                .await
                .expect("HTTP/1");
            tokio::spawn(connection);
            sender.send_request(request).await
        }
        Http::Two => {
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                    .await
                    .expect("HTTP/2");
            tokio::spawn(connection);
            sender.send_request(request).await
        }
    };
    let answer = answer.expect("an answer");
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("all of it");
    let status: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    (code, status["reason"].clone(), taken.await.is_ok())
}

#[tokio::test]
async fn a_client_that_is_answered_early_may_send_the_rest() {
    let client = Client::new().await;
    for http in [Http::One, Http::Two] {
        let answer = post(&client, http, TOKEN, 5_000_000).await;
        assert_eq!(
            answer,
            (413, json!("RequestEntityTooLarge"), true),
            "{http:?}"
        );
        let answer = post(&client, http, "wrong", 5_000_000).await;
        assert_eq!(answer, (401, json!("Unauthorized"), true), "{http:?}");
    }
}

#[tokio::test]
async fn but_nobody_sends_for_ever() {
    let client = Client::new().await;
    let answer = post(&client, Http::Two, TOKEN, usize::MAX).await;
    assert_eq!(answer, (413, json!("RequestEntityTooLarge"), false));
}
