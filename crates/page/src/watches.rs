//! Many watches over one connection: a browser opens no more than six to a server that speaks HTTP/1, for
//! all tabs together.
//!
//! The browser sends `{"open": ID, "path": PATH}` and `{"close": ID}`. It is told of each watch in messages
//! whose first line is JSON: `{"id": ID, "status": CODE}` when it is answered, `{"id": ID}` before lines of
//! it as they came, `{"id": ID, "end": true}` when it is over. `{"beat": true}` says that there is nothing
//! else to say.

use crate::forward::Cluster;
use crate::lines::Lines;
use crate::{Answer, text};
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// What is spoken. Browsers end a connection that chooses none of what they offer; the other one is the key.
const PROTOCOL: &str = "stowplan-watches";

/// How many connections there may be: as many tabs as anybody has open.
pub(crate) const SOCKETS_MAX: usize = 16;

/// How many watches one connection may have.
const WATCHES_MAX: usize = 64;

/// How often a browser hears something.
const BEAT: Duration = Duration::from_secs(5);

/// How many messages wait for a browser that reads slowly, before watches wait, too.
const QUEUE: usize = 64;

/// How many bytes of them wait, at most. One message that is larger waits alone.
const QUEUE_BYTES: usize = 32 << 20;

/// How long an error may be that is told, in bytes.
const ERROR_MAX: usize = 64 << 10;

/// What a browser wants.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wish {
    Open { open: String, path: String },
    Close { close: String },
}

/// Answers the request for such a connection, which lasts until `end` at most.
pub(crate) fn upgrade(
    cluster: Cluster,
    request: &mut Request<Incoming>,
    place: OwnedSemaphorePermit,
    end: impl Future<Output = ()> + Send + 'static,
) -> Answer {
    let Some(accept) = accept(request.headers()) else {
        return text(StatusCode::UPGRADE_REQUIRED, "watches need a WebSocket");
    };
    let is_offered = offers(request.headers());
    let upgrade = hyper::upgrade::on(request);
    let served = async move {
        let Ok(stream) = upgrade.await else { return };
        let limits = WebSocketConfig::default()
            .max_message_size(Some(64 << 10))
            .max_frame_size(Some(64 << 10));
        let stream = TokioIo::new(stream);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(limits)).await;
        serve(cluster, socket).await;
    };
    tokio::spawn(async move {
        tokio::select! {
            () = served => {}
            () = end => {}
        }
        drop(place);
    });
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if is_offered {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    answer
}

fn offers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|name| name.trim() == PROTOCOL))
}

/// RFC 6455, section 4.2.2.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let is = |name, value: &str| {
        let given = headers.get(name).and_then(|given| given.to_str().ok());
        given.is_some_and(|given| given.eq_ignore_ascii_case(value))
    };
    if !is(UPGRADE, "websocket") || !is(SEC_WEBSOCKET_VERSION, "13") {
        return None;
    }
    let mut key = headers.get(SEC_WEBSOCKET_KEY)?.as_bytes().to_vec();
    key.extend_from_slice(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &key).as_ref());
    HeaderValue::try_from(accept).ok()
}

async fn serve<S>(cluster: Cluster, mut socket: WebSocketStream<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (told, mut messages) = queue();
    let mut watches = Watches {
        cluster,
        told,
        open: HashMap::new(),
    };
    let mut beat = tokio::time::interval(BEAT);
    loop {
        let sent = tokio::select! {
            wish = socket.next() => match wish {
                Some(Ok(Message::Text(text))) => {
                    watches.carry_out(&text);
                    Ok(())
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => Ok(()),
            },
            Some((message, room)) = messages.recv() => {
                let sent = socket.send(message).await;
                drop(room);
                sent
            }
            _ = beat.tick() => {
                socket.send(Message::text(json!({"beat": true}).to_string())).await
            }
        };
        if sent.is_err() {
            break;
        }
    }
}

/// A message that waits, and the room that it takes up until it is sent.
type Waiting = (Message, OwnedSemaphorePermit);

/// The way of messages to a browser, which is only so wide.
#[derive(Clone)]
struct Told {
    messages: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

fn queue() -> (Told, mpsc::Receiver<Waiting>) {
    let (messages, waiting) = mpsc::channel(QUEUE);
    let room = Arc::new(Semaphore::new(QUEUE_BYTES));
    (Told { messages, room }, waiting)
}

impl Told {
    /// Waits for room. `None` if nobody listens.
    async fn send(&self, message: Message) -> Option<()> {
        let bytes = u32::try_from(message.len().min(QUEUE_BYTES)).ok()?;
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await;
        self.messages.send((message, room.ok()?)).await.ok()
    }
}

/// The watches of one connection; they end with it.
struct Watches {
    cluster: Cluster,
    told: Told,
    open: HashMap<String, AbortHandle>,
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.open.values().for_each(AbortHandle::abort);
    }
}

impl Watches {
    fn carry_out(&mut self, text: &str) {
        match serde_json::from_str(text) {
            Ok(Wish::Open { open, path }) => self.open(open, path),
            Ok(Wish::Close { close }) => {
                if let Some(watch) = self.open.remove(&close) {
                    watch.abort();
                }
            }
            Err(error) => tracing::debug!(%error, "a browser wants what cannot be understood"),
        }
    }

    fn open(&mut self, id: String, path: String) {
        self.open.retain(|_, watch| !watch.is_finished());
        if self.open.len() >= WATCHES_MAX {
            tracing::debug!("a browser wants too many watches");
            return;
        }
        let (cluster, told) = (self.cluster.clone(), self.told.clone());
        let own = id.clone();
        let watch = tokio::spawn(async move {
            // If nobody listens any more, the watch ends.
            let _ = watch(&cluster, &told, &own, &path).await;
            let end = json!({"id": own, "end": true}).to_string();
            let _ = told.send(Message::text(end)).await;
        });
        if let Some(before) = self.open.insert(id, watch.abort_handle()) {
            before.abort();
        }
    }
}

/// Tells of one watch until it ends. `None` if nobody listens.
async fn watch(cluster: &Cluster, told: &Told, id: &str, path: &str) -> Option<()> {
    let answer = cluster.get(path).await;
    let status = answer.status();
    let head = json!({"id": id, "status": status.as_u16()}).to_string();
    let mut body = answer.into_body();
    if status != StatusCode::OK {
        let body = http_body_util::Limited::new(body, ERROR_MAX)
            .collect()
            .await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let said = String::from_utf8_lossy(&body);
        return told.send(Message::text(format!("{head}\n{said}"))).await;
    }
    told.send(Message::text(head)).await?;
    let head = json!({"id": id}).to_string();
    let mut lines = Lines::default();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        match lines.add(&chunk) {
            Ok(Some(whole)) => told.send(message(&head, &whole)?).await?,
            Ok(None) => {}
            Err(_) => break,
        }
    }
    Some(())
}

/// Lines of a watch, as one message.
fn message(head: &str, lines: &Bytes) -> Option<Message> {
    let mut text = Vec::with_capacity(head.len() + 1 + lines.len());
    text.extend_from_slice(head.as_bytes());
    text.push(b'\n');
    text.extend_from_slice(lines);
    let text = Utf8Bytes::try_from(Bytes::from(text)).ok()?;
    Some(Message::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// A cluster whose watches say one thing, and then another when they are told to.
    fn cluster(more: tokio::sync::watch::Receiver<bool>) -> Cluster {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let mut more = more.clone();
            async move {
                let path = request.uri().path().to_owned();
                if path.ends_with("/secrets") {
                    let body = Body::from("{\"code\":403}");
                    return Ok::<_, tower::BoxError>(Response::builder().status(403).body(body)?);
                }
                let first = futures::stream::iter([format!("{{\"path\":\"{path}\"}}\n{{\"ha")]);
                let rest = async move {
                    let _ = more.wait_for(|more| *more).await;
                    "lf\":1}\n".to_owned()
                };
                let body = first.chain(futures::stream::once(rest));
                let body = body.map(Ok::<_, std::convert::Infallible>);
                Ok(Response::new(Body::from_stream(body)))
            }
        });
        Cluster::new(stowplan_client::in_process(service), None)
    }

    #[tokio::test]
    async fn watches_share_a_connection() {
        let (go, more) = tokio::sync::watch::channel(false);
        let (here, there) = tokio::io::duplex(1 << 16);
        let server = WebSocketStream::from_raw_socket(there, Role::Server, None).await;
        let served = tokio::spawn(serve(cluster(more), server));
        let mut client = WebSocketStream::from_raw_socket(here, Role::Client, None).await;
        for wish in [
            json!({"open": "pods", "path": "/api/v1/pods?watch=1"}),
            json!({"open": "nodes", "path": "/api/v1/nodes?watch=1"}),
            json!({"open": "secrets", "path": "/api/v1/secrets"}),
            json!({"open": "x", "path": "/metrics"}),
        ] {
            client.send(Message::text(wish.to_string())).await.unwrap();
        }
        let mut told: HashMap<String, Vec<String>> = HashMap::new();
        let mut ends = 0;
        while let Some(Ok(Message::Text(text))) = client.next().await {
            let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
            let head: Value = serde_json::from_str(head).unwrap();
            let Some(id) = head["id"].as_str() else {
                continue;
            };
            let list = told.entry(id.to_owned()).or_default();
            match head["status"].as_u64() {
                Some(code) => list.push(code.to_string()),
                None if head["end"] == true => ends += 1,
                None => list.push(rest.to_owned()),
            }
            let firsts = told.values().filter(|list| list.len() > 1).count();
            if firsts == 2 {
                go.send_replace(true);
            }
            if ends == 4 {
                break;
            }
        }
        let lines = |path| vec!["200".to_owned(), path, "{\"half\":1}\n".to_owned()];
        assert_eq!(
            told["pods"],
            lines("{\"path\":\"/api/v1/pods\"}\n".to_owned())
        );
        assert_eq!(
            told["nodes"],
            lines("{\"path\":\"/api/v1/nodes\"}\n".to_owned())
        );
        assert_eq!(told["secrets"], ["403"]);
        assert_eq!(told["x"], ["404"]);
        client.close(None).await.unwrap();
        served.await.unwrap();
    }

    #[tokio::test]
    async fn what_waits_for_a_slow_browser_is_bounded_by_bytes() {
        let (told, mut waiting) = queue();
        let large = || Message::text("x".repeat(QUEUE_BYTES / 2));
        let send = || futures::FutureExt::now_or_never(told.send(large()));
        assert_eq!([send(), send()], [Some(Some(())); 2]);
        assert_eq!(send(), None);
        drop(waiting.recv().await);
        assert_eq!([send(), send()], [Some(Some(())), None]);
        while waiting.try_recv().is_ok() {}
        // What is larger than the room passes alone.
        let huge = Message::text("x".repeat(QUEUE_BYTES + 1));
        assert_eq!(told.send(huge).await, Some(()));
        assert_eq!(told.room.available_permits(), 0);
    }

    #[test]
    fn the_handshake_is_that_of_the_rfc() {
        let mut headers = HeaderMap::new();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(UPGRADE, "websocket");
        set(SEC_WEBSOCKET_VERSION, "13");
        set(SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept(&headers).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        headers.remove(SEC_WEBSOCKET_VERSION);
        assert!(accept(&headers).is_none());
    }
}
