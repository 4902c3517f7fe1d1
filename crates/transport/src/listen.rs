//! Connections: TLS, HTTP/1 and HTTP/2, limits on what one client may take.

use crate::certificates::Certificates;
use crate::impatient::Impatient;
use crate::recognition::{Recognition, Recognized};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::{Service, ServiceExt};

/// What one server takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections; more wait to be accepted.
    pub connections: usize,
    /// Bytes of a request's header.
    pub header_bytes: u32,
    /// How long a client may take for the handshake, and for the header of its first request.
    pub header_time: Duration,
    /// How long an HTTP/1 connection may wait for its next request.
    pub idle_time: Duration,
    /// Requests at once on one HTTP/2 connection.
    pub streams: u32,
    /// How long a client may leave what it is sent unread.
    pub write_time: Duration,
    /// How long requests under way may take to end when the server stops.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_bytes: 1 << 20,
            // These two are upstream's: `secure_serving.go`.
            header_time: Duration::from_secs(32),
            idle_time: Duration::from_secs(90),
            streams: 250,
            write_time: Duration::from_secs(60),
            drain_time: Duration::from_secs(5),
        }
    }
}

/// A bound address with its certificate, not yet serving.
pub struct Listener {
    tcp: TcpListener,
    tls: Renewal,
    limits: Limits,
}

/// Gives a listener other certificates while it serves; connections that are open keep theirs.
#[derive(Clone)]
pub struct Renewal {
    address: IpAddr,
    present: Arc<RwLock<Tls>>,
}

/// How connections are accepted, and who is known then.
#[derive(Clone)]
struct Tls {
    acceptor: TlsAcceptor,
    recognition: Recognition,
}

impl Tls {
    fn new(certificates: &Certificates, address: IpAddr) -> io::Result<Self> {
        let made = certificates.config(address).map_err(io::Error::other);
        let (config, recognition) = made?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            recognition,
        })
    }
}

impl Renewal {
    /// From now on these certificates are shown and asked for.
    pub fn renew(&self, certificates: &Certificates) -> io::Result<()> {
        let tls = Tls::new(certificates, self.address)?;
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = tls;
        Ok(())
    }

    fn present(&self) -> Tls {
        let present = self.present.read();
        present.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Listener {
    /// Binds the address.
    pub async fn bind(
        address: SocketAddr,
        certificates: &Certificates,
        limits: Limits,
    ) -> io::Result<Self> {
        let tcp = TcpListener::bind(address).await?;
        let tls = Tls::new(certificates, address.ip())?;
        Ok(Self {
            tcp,
            tls: Renewal {
                address: address.ip(),
                present: Arc::new(RwLock::new(tls)),
            },
            limits,
        })
    }

    /// The way to give it other certificates later.
    pub fn renewal(&self) -> Renewal {
        self.tls.clone()
    }

    /// The address, with the port that was chosen if 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `stop` ends; then takes no more connections and lets requests end.
    pub async fn serve<S, B>(self, service: S, stop: impl Future<Output = ()>)
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.tcp, &room) => accepted,
                () = &mut stop => break,
            };
            let (stream, peer, permit) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file handles, most likely: waiting is all that helps.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (tls, limits, service) = (self.tls.present(), self.limits, service.clone());
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                let _permit = permit;
                let stream = Impatient::new(stream, limits.write_time);
                let handshake =
                    tokio::time::timeout(limits.header_time, tls.acceptor.accept(stream));
                let Ok(Ok(stream)) = handshake.await else {
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates();
                let Recognized { user, proxy } = tls.recognition.of(shown);
                let asked = Arc::new(AtomicBool::new(false));
                let has_asked = Arc::clone(&asked);
                let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                    has_asked.store(true, Ordering::Relaxed);
                    request.extensions_mut().insert(peer);
                    if let Some(user) = &user {
                        request.extensions_mut().insert(user.clone());
                    }
                    if let Some(proxy) = &proxy {
                        request.extensions_mut().insert(proxy.clone());
                    }
                    service.clone().oneshot(request)
                });
                let builder = builder(&limits);
                let connection =
                    builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
                // hyper's own timers run only once it knows which HTTP is spoken.
                let silence = async {
                    tokio::time::sleep(limits.header_time).await;
                    if asked.load(Ordering::Relaxed) {
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    ended = watcher.watch(connection.into_owned()) => if let Err(error) = ended {
                        tracing::debug!(error, "a connection broke");
                    },
                    () = silence => tracing::debug!("a connection was never used"),
                }
            });
        }
        drop(self.tcp);
        let _ = tokio::time::timeout(self.limits.drain_time, graceful.shutdown()).await;
    }
}

type Permit = tokio::sync::OwnedSemaphorePermit;

async fn accept(
    tcp: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, Permit)> {
    let permit = room
        .clone()
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = tcp.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, peer, permit))
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
        .max_concurrent_streams(limits.streams)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(15));
    builder
}

#[cfg(test)]
mod tests;
