//! One connection: its handshake, its requests, its end.

use crate::connections::Slot;
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::listen::Tls;
use crate::recognition::Recognized;
use crate::write_timeout::WriteTimeout;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use stowplan_auth::{ConnectionGuards, Owner};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;
use tower::{Service, ServiceExt};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A client that has come in.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) slot: Arc<Slot>,
    pub(crate) tls: Tls,
    pub(crate) limits: Limits,
    /// Changes once the server is about to stop.
    pub(crate) stop: watch::Receiver<()>,
}

impl Connection {
    /// Serves it to its end.
    pub(crate) async fn serve<S, B>(self, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Error>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Error>,
    {
        let slot = Arc::clone(&self.slot);
        tokio::select! {
            () = self.talk(service) => {}
            () = slot.displaced() => tracing::debug!("a connection made room for another"),
            // hyper's own timers run only once it knows which HTTP is spoken.
            () = slot.first_request_overdue() => tracing::debug!("a connection was never used"),
        }
    }

    async fn talk<S, B>(self, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Error>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Error>,
    {
        let stream = WriteTimeout::new(self.stream, self.limits.write_time);
        let Ok(mut stream) = self.tls.acceptor.accept(stream).await else {
            return;
        };
        let encrypted = Some(self.limits.encrypted_bytes);
        stream.get_mut().1.set_buffer_limit(encrypted);
        let client = Arc::new(Client::new(&stream, self.peer, &self.tls, self.slot));
        let answering = Arc::clone(&client);
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            answer(Arc::clone(&answering), service.clone(), request)
        });
        let builder = builder(&self.limits);
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut stop = self.stop;
        let mut idle_timeout = pin!(client.slot.idle_timeout());
        let mut ends = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "a connection broke");
                    }
                    return;
                }
                _ = stop.changed(), if !ends => {}
                () = &mut idle_timeout, if !ends => {}
            }
            ends = true;
            connection.as_mut().graceful_shutdown();
        }
    }
}

/// What is known of a client.
struct Client {
    peer: SocketAddr,
    recognized: Recognized,
    hosts: Option<Arc<Hosts>>,
    slot: Arc<Slot>,
}

impl Client {
    fn new<T>(stream: &TlsStream<T>, peer: SocketAddr, tls: &Tls, slot: Arc<Slot>) -> Self {
        let shown = stream.get_ref().1.peer_certificates();
        // A certificate that nobody trusted would have ended the handshake.
        let recognized = tls.recognition.of(shown);
        if shown.is_some() {
            let user = recognized.user.as_ref();
            let limited = user.filter(|user| !user.is_master());
            slot.authenticate(limited.map(|user| user.name.as_str().into()));
        }
        Self {
            peer,
            recognized,
            hosts: tls.hosts.clone(),
            slot,
        }
    }

    /// The answer to a request that was meant for another host.
    fn misdirected(&self, request: &Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        let hosts = self.hosts.as_ref()?;
        let host = hosts.stranger(request.uri(), request.headers())?;
        let mut response = Response::new(Full::new(hosts.refusal(&host).into()));
        *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, plain);
        let nosniff = HeaderValue::from_static("nosniff");
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
        Some(response)
    }

    fn introduce(&self, request: &mut Request<Incoming>) {
        let extensions = request.extensions_mut();
        extensions.insert(self.peer);
        if let Some(user) = &self.recognized.user {
            extensions.insert(user.clone());
        }
        if let Some(proxy) = &self.recognized.proxy {
            extensions.insert(proxy.clone());
        }
    }
}

async fn answer<S, B>(
    client: Arc<Client>,
    service: S,
    mut request: Request<Incoming>,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = Error>>, S::Error>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Error>,
{
    let mut active = Some(client.slot.begin_request());
    if let Some(refused) = client.misdirected(&request) {
        return Ok(refused.map(Either::Right));
    }
    client.introduce(&mut request);
    let with_token = has_token(request.headers());
    let response = service.oneshot(request).await?;
    if with_token && shows_who(response.status()) {
        let owner = response.extensions().get::<Owner>();
        client
            .slot
            .authenticate(owner.map(|owner| Arc::clone(&owner.0)));
    }
    if let Some(guards) = response.extensions().get::<ConnectionGuards>() {
        // The connection is another's from now on, and keeps its slot.
        guards.hold(active.take());
    }
    // The request is under way as long as there is something of the answer to send.
    Ok(response.map(|body| {
        Either::Left(body.map_err(move |error| {
            let _ = &active;
            error
        }))
    }))
}

fn has_token(headers: &HeaderMap) -> bool {
    let value = headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok());
    let token = value.and_then(|value| value.split_once(' '));
    token.is_some_and(|(scheme, token)| {
        scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()
    })
}

/// Whether a token was good, by the answer: one that is not is refused with 401 on every path, but
/// other errors may be found before anybody looks at it.
fn shows_who(status: StatusCode) -> bool {
    status.is_success()
        || status == StatusCode::FORBIDDEN
        || status == StatusCode::SWITCHING_PROTOCOLS
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // It also runs while nothing is asked. The header of the first request is waited for less long.
        .header_read_timeout(limits.idle_time.max(limits.header_time))
        .max_buf_size(limits.header_bytes as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.header_bytes)
        .max_send_buf_size(limits.stream_bytes)
        .max_concurrent_streams(limits.streams)
        // Streams that a client opens and resets at once, and errors of its making: as h2 and hyper
        // have them.
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(1024)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(15));
    builder
}
