//! A listener and clients of it.

mod unauthenticated;
mod unread;

use super::*;
use crate::pki::Pki;
use crate::recognition::{FrontProxies, FrontProxy};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use stowplan_auth::User;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

type Certificate = Option<(String, String)>;

/// A server, and the way to stop it.
struct Running {
    address: SocketAddr,
    pki: Pki,
    renewal: Renewal,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    async fn start<S, B>(service: S, limits: Limits) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let pki = Pki::generate().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = Listener::bind(any, &pki.clone().into(), limits)
            .await
            .unwrap();
        let address = listener.address().unwrap();
        let renewal = listener.renewal();
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(listener.serve(service, async move {
            let _ = stopped.await;
        }));
        Self {
            address,
            pki,
            renewal,
            stop,
            ended,
        }
    }

    async fn connect(&self, protocol: &str, client: Certificate) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.pki.ca_pem.as_bytes());
        roots.add(ca.unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match client {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => config
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        // Little of what is sent to a client that does not read is held on its side.
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8 << 10).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.unwrap()
    }

    /// Sends a request over HTTP/1.
    async fn send(&self, request: Request<Empty<Bytes>>, client: Certificate) -> (u16, String) {
        let stream = TokioIo::new(self.connect("http/1.1", client).await);
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        read(sender.send_request(request).await.unwrap()).await
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap();
    }
}

async fn read(response: Response<Incoming>) -> (u16, String) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(path).body(Empty::new()).unwrap()
}

type Text = Full<Bytes>;

fn text(text: impl Into<Bytes>) -> Result<Response<Text>, Infallible> {
    Ok(Response::new(Full::new(text.into())))
}

#[tokio::test]
async fn certificates_of_the_ca_name_users_and_others_are_nobody() {
    let whoami = tower::service_fn(|request: Request<Incoming>| async move {
        let user = request.extensions().get::<User>();
        let peer = request.extensions().get::<SocketAddr>();
        assert!(peer.is_some_and(|peer| peer.ip().is_loopback()));
        text(user.map_or("nobody".to_owned(), |u| {
            format!("{} {:?}", u.name, u.groups)
        }))
    });
    let server = Running::start(whoami, Limits::default()).await;
    assert_eq!(server.send(get("/"), None).await.1, "nobody");
    let client = server.pki.client("jane", &["devs"]).unwrap();
    assert_eq!(
        server.send(get("/"), Some(client)).await.1,
        r#"jane ["devs", "system:authenticated"]"#
    );
    let address = server.address;
    server.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
}

/// The user, and the proxy that may say for whom it asks.
fn who(request: &Request<Incoming>) -> String {
    let user = request.extensions().get::<User>();
    let proxy = request.extensions().get::<FrontProxy>();
    let name = |name: Option<&str>| name.unwrap_or("nobody").to_owned();
    let user = name(user.map(|user| &*user.name));
    format!("{user} {}", name(proxy.map(|proxy| &*proxy.0)))
}

#[tokio::test]
async fn users_and_proxies_are_told_apart_by_who_signed_their_certificates() {
    let service = tower::service_fn(|request: Request<Incoming>| {
        let who = who(&request);
        async move { text(who) }
    });
    let server = Running::start(service, Limits::default()).await;
    let proxies = Pki::generate().unwrap();
    let front_proxies = FrontProxies {
        ca_pem: proxies.ca_pem.clone(),
        allowed_names: vec!["aggregator".to_owned()],
    };
    let certificates = Certificates::from(server.pki.clone());
    let certificates = certificates.with_front_proxies(front_proxies).unwrap();
    server.renewal.renew(&certificates).unwrap();
    for (ca, name, expected) in [
        (&server.pki, "jane", "jane nobody"),
        (&server.pki, "aggregator", "aggregator nobody"),
        (&proxies, "aggregator", "nobody aggregator"),
        (&proxies, "jane", "nobody nobody"),
    ] {
        let client = ca.client(name, &[]).unwrap();
        assert_eq!(server.send(get("/"), Some(client)).await.1, expected);
    }
}

#[tokio::test]
async fn other_certificates_are_shown_once_they_are_given() {
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let mut server = Running::start(fine, Limits::default()).await;
    assert_eq!(server.send(get("/"), None).await.1, "fine");
    let other = Pki::generate().unwrap();
    server.renewal.renew(&other.clone().into()).unwrap();
    // Who trusts the other CA alone is answered now.
    server.pki = other;
    assert_eq!(server.send(get("/"), None).await.1, "fine");
}

#[tokio::test]
async fn a_certificate_that_is_made_is_made_anew_in_time() {
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let server = Running::start(fine, Limits::default()).await;
    let shown = async || {
        let stream = server.connect("http/1.1", None).await;
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let first = shown().await;
    assert_eq!(shown().await, first);
    server.renewal.again();
    assert_ne!(shown().await, first);
    let (chain, key) = server.pki.server_pem([127, 0, 0, 1].into(), &[]).unwrap();
    let given = Certificates::given(chain, key).unwrap();
    server.renewal.renew(&given).unwrap();
    let own = shown().await;
    server.renewal.again();
    assert_eq!(shown().await, own, "it is not ours to renew");
}

#[tokio::test]
async fn a_request_for_another_host_is_turned_away() {
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let server = Running::start(fine, Limits::default()).await;
    let for_host = |host: &str| {
        let mut request = get("/version");
        let host = host.parse().unwrap();
        request.headers_mut().insert("host", host);
        request
    };
    assert_eq!(server.send(for_host("evil.example"), None).await.0, 200);
    let certificates = Certificates::from(server.pki.clone()).reached_by("own.example");
    let strict = certificates.only_for_its_hosts();
    server.renewal.renew(&strict).unwrap();
    let (code, why) = server.send(for_host("evil.example:6443"), None).await;
    assert_eq!(code, 421);
    assert!(why.contains("\"evil.example\"") && why.contains("own.example"));
    for host in ["127.0.0.1:6443", "localhost", "own.example:6443"] {
        assert_eq!(server.send(for_host(host), None).await.0, 200, "{host}");
    }
}

#[tokio::test]
async fn a_header_that_is_too_large_is_refused() {
    let limits = Limits {
        header_bytes: 16 << 10,
        ..Limits::default()
    };
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let server = Running::start(fine, limits).await;
    let with = |bytes: usize| {
        let mut request = get("https://127.0.0.1/");
        let value = "x".repeat(bytes).parse().unwrap();
        request.headers_mut().insert("x-large", value);
        request
    };
    assert_eq!(server.send(with(8 << 10), None).await.0, 200);
    let too_large = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.as_u16();
    assert_eq!(server.send(with(20 << 10), None).await.0, too_large);
    let stream = TokioIo::new(server.connect("h2", None).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream)
        .await
        .unwrap();
    tokio::spawn(connection);
    for (bytes, code) in [(8 << 10, 200), (20 << 10, too_large), (8 << 10, 200)] {
        let answer = sender.send_request(with(bytes)).await.unwrap();
        assert_eq!(answer.status().as_u16(), code, "{bytes}");
    }
}

/// A body without an end, and a channel that closes when the server gives it up.
fn endless() -> (
    impl http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
    oneshot::Receiver<()>,
) {
    let (held, dropped) = oneshot::channel::<()>();
    let chunks = futures_util::stream::unfold(held, |held| async {
        let frame = http_body::Frame::data(Bytes::from_static(&[b'x'; 16 << 10]));
        Some((Ok::<_, Infallible>(frame), held))
    });
    (StreamBody::new(chunks), dropped)
}

#[tokio::test]
async fn a_client_that_does_not_read_is_dropped_and_others_are_served() {
    let (body, dropped) = endless();
    let body = Arc::new(std::sync::Mutex::new(Some(body)));
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let endless = match request.uri().path() {
            "/endless" => body.lock().unwrap().take(),
            _ => None,
        };
        async move {
            Ok::<_, Infallible>(Response::new(match endless {
                Some(body) => body.boxed_unsync(),
                None => Full::new(Bytes::from("fine")).boxed_unsync(),
            }))
        }
    });
    let limits = Limits {
        write_time: Duration::from_millis(20),
        ..Limits::default()
    };
    let server = Running::start(service, limits).await;
    let mut lazy = server.connect("http/1.1", None).await;
    lazy.write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(server.send(get("/"), None).await.1, "fine");
    assert!(dropped.await.is_err(), "the server gives it up");
    assert_eq!(server.send(get("/"), None).await.1, "fine");
    drop(lazy);
}

#[tokio::test]
async fn a_connection_that_has_been_used_may_rest() {
    let limits = Limits {
        header_time: Duration::from_millis(300),
        idle_time: Duration::from_millis(1_500),
        ..Limits::default()
    };
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let server = Running::start(fine, limits).await;
    let stream = TokioIo::new(server.connect("http/1.1", None).await);
    let (mut sender, connection) = http1::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    for _ in 0..2 {
        let answer = sender.send_request(get("/")).await.unwrap();
        assert_eq!(read(answer).await.1, "fine");
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    // Not for ever.
    let end = tokio::time::timeout(Duration::from_secs(60), connection).await;
    assert!(end.is_ok(), "still connected");
}

#[tokio::test]
async fn a_client_that_never_asks_is_dropped() {
    let limits = Limits {
        header_time: Duration::from_millis(200),
        ..Limits::default()
    };
    let fine = tower::service_fn(|_: Request<Incoming>| async { text("fine") });
    let server = Running::start(fine, limits).await;
    // Nothing, what could become either HTTP, and HTTP/2 without a request.
    let beginnings: [&[u8]; 3] = [b"", b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"];
    for beginning in beginnings {
        let mut silent = server.connect("h2", None).await;
        silent.write_all(beginning).await.unwrap();
        silent.flush().await.unwrap();
        let mut rest = Vec::new();
        // It may end in an error or in good order, but it ends.
        let end = silent.read_to_end(&mut rest);
        let end = tokio::time::timeout(Duration::from_secs(60), end).await;
        assert!(end.is_ok(), "still connected after {beginning:?}");
    }
    assert_eq!(server.send(get("/"), None).await.1, "fine");
}

#[tokio::test]
async fn requests_under_way_end_before_the_server_does() {
    let (begun, arrived) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let once = Arc::new(std::sync::Mutex::new(Some((begun, released))));
    let service = tower::service_fn(move |_: Request<Incoming>| {
        let once = once.lock().unwrap().take();
        async move {
            if let Some((begun, released)) = once {
                begun.send(()).unwrap();
                let _ = released.await;
            }
            text("done")
        }
    });
    let server = Running::start(service, Limits::default()).await;
    let stream = TokioIo::new(server.connect("http/1.1", None).await);
    let (mut sender, connection) = http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let answer = tokio::spawn(sender.send_request(get("/")));
    arrived.await.unwrap();
    server.stop.send(()).unwrap();
    while TcpStream::connect(server.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    let (code, body) = read(answer.await.unwrap().unwrap()).await;
    assert_eq!((code, body.as_str()), (200, "done"));
    server.ended.await.unwrap();
}
