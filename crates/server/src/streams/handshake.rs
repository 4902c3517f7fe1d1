//! From a request to a WebSocket.
//!
//! Upstream: `golang.org/x/net/websocket` (`hybiServerHandshaker`) and `wsstream.Conn`.

use super::channels::Protocol;
use crate::answer::{self, Answer};
use crate::limits::STREAM_MESSAGE_BYTES_MAX;
use crate::request::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderValue, Method, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::{Mutex, PoisonError};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// What a WebSocket's key is completed with (RFC 6455).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The connection of a request, for whoever takes it over.
#[derive(Default)]
pub(crate) struct Upgrade(Mutex<Option<OnUpgrade>>);

impl Upgrade {
    /// What the connection left with the request.
    pub(crate) fn of(extensions: &mut http::Extensions) -> Self {
        Self(Mutex::new(extensions.remove::<OnUpgrade>()))
    }

    fn take(&self) -> Option<OnUpgrade> {
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        connection.take()
    }
}

/// Whether the client wants another protocol. Upstream: `httpstream.IsUpgradeRequest`.
pub(crate) fn wants_upgrade(request: &Request) -> bool {
    let all = request.headers.get_all(header::CONNECTION).iter();
    let mut all = all.filter_map(|value| value.to_str().ok());
    all.any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// What was agreed upon.
pub(crate) struct Handshake {
    pub(crate) protocol: Protocol,
    connection: OnUpgrade,
}

impl Handshake {
    /// Agrees with a client that wants an upgrade; if that cannot be, says what it is told. The second
    /// part is what it is told otherwise.
    pub(crate) fn on(request: &Request) -> Result<(Self, Answer), Box<Answer>> {
        let wanted = request.header("upgrade");
        if !wanted.eq_ignore_ascii_case("websocket") {
            return Err(refused(400, &not_spoken(wanted)));
        }
        if request.method != Method::GET {
            return Err(refused(405, "bad method"));
        }
        let key = request.header("sec-websocket-key");
        if key.is_empty() {
            return Err(refused(400, "mismatch challenge/response"));
        }
        if request.header("sec-websocket-version") != "13" {
            let mut answer = refused(400, "missing or bad WebSocket Version");
            let version = HeaderValue::from_static("13");
            answer
                .headers_mut()
                .insert(header::SEC_WEBSOCKET_VERSION, version);
            return Err(answer);
        }
        let (name, protocol) =
            negotiate(request.header("sec-websocket-protocol")).ok_or_else(|| refused(403, ""))?;
        let unable = "the connection cannot be upgraded: it is none of HTTP/1.1";
        let connection = request.upgrade.take();
        let connection = connection.ok_or_else(|| refused(400, unable))?;
        let agreed = Self {
            protocol,
            connection,
        };
        Ok((agreed, switching(key, name)))
    }

    /// The WebSocket, once the client has been answered.
    pub(super) async fn socket(&mut self) -> Option<WebSocketStream<TokioIo<Upgraded>>> {
        let upgraded = (&mut self.connection).await.ok()?;
        let config = WebSocketConfig::default()
            .read_buffer_size(16 << 10)
            // What is sent waits in the session, not here.
            .write_buffer_size(0)
            .max_message_size(Some(STREAM_MESSAGE_BYTES_MAX))
            .max_frame_size(Some(STREAM_MESSAGE_BYTES_MAX));
        let io = TokioIo::new(upgraded);
        Some(WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await)
    }
}

/// The first of the client's protocols that is known. One with `v5.channel.k8s.io` anywhere among them
/// gets that.
fn negotiate(offered: &str) -> Option<(&str, Protocol)> {
    let offered = || offered.split(',').map(str::trim);
    let known = |name| Some((name, Protocol::named(name)?));
    let fifth = offered()
        .filter_map(known)
        .find(|(_, p)| *p == Protocol::V5);
    fifth.or_else(|| offered().find_map(known))
}

/// 101.
fn switching(key: &str, protocol: &str) -> Answer {
    let sha1 = &ring::digest::SHA1_FOR_LEGACY_USE_ONLY;
    let accept = ring::digest::digest(sha1, format!("{key}{GUID}").as_bytes());
    let mut answer = Answer::default();
    *answer.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&BASE64.encode(accept)) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if !protocol.is_empty()
        && let Ok(protocol) = HeaderValue::from_str(protocol)
    {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    answer
}

fn refused(code: u16, text: &str) -> Box<Answer> {
    Box::new(answer::bytes(
        code,
        "text/plain; charset=utf-8",
        text.to_owned(),
    ))
}

fn not_spoken(wanted: &str) -> String {
    format!(
        "unable to upgrade: {wanted:?} is not spoken here, only WebSocket (kubectl 1.31 and later)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_answered_as_the_standard_has_it() {
        let answer = switching("dGhlIHNhbXBsZSBub25jZQ==", "v4.channel.k8s.io");
        let header = |name: &str| answer.headers()[name].to_str().expect("text");
        assert_eq!(
            header("sec-websocket-accept"),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(header("sec-websocket-protocol"), "v4.channel.k8s.io");
    }

    #[test]
    fn the_first_protocol_that_is_known_is_taken() {
        let v4 = Protocol::V4 { base64: false };
        for (offered, agreed) in [
            ("", Some(("", Protocol::Unversioned { base64: false }))),
            ("v4.channel.k8s.io", Some(("v4.channel.k8s.io", v4))),
            (
                "v9.channel.k8s.io, v4.channel.k8s.io",
                Some(("v4.channel.k8s.io", v4)),
            ),
            (
                "v4.channel.k8s.io, v5.channel.k8s.io",
                Some(("v5.channel.k8s.io", Protocol::V5)),
            ),
            ("v9.channel.k8s.io", None),
            ("SPDY/3.1+portforward.k8s.io", None),
        ] {
            assert_eq!(negotiate(offered), agreed, "{offered}");
        }
    }
}
