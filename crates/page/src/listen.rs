//! Plain HTTP on loopback: browsers distrust certificates that nobody they know signed.

use crate::Page;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// How many connections there may be. A browser opens six, and one for watches.
const CONNECTIONS_MAX: usize = 256;

/// How long a request's header may take.
const HEADER_TIME: Duration = Duration::from_secs(15);

/// How long requests may take to end when the process does.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A bound address, not yet serving.
pub struct PageListener {
    tcp: TcpListener,
}

/// The address is one that others reach.
#[derive(Debug)]
pub struct NotLoopback;

impl std::fmt::Display for NotLoopback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "the page is served without TLS, so on loopback only; reach it from elsewhere with \
             ssh -L PORT:127.0.0.1:PORT HOST",
        )
    }
}

impl std::error::Error for NotLoopback {}

impl PageListener {
    /// Binds the address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NotLoopback));
        }
        let tcp = TcpListener::bind(address).await?;
        Ok(Self { tcp })
    }

    /// The address, with the port that was chosen if 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `stop` ends.
    pub async fn serve(self, page: Arc<Page>, stop: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (stops, _) = watch::channel(());
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                () = &mut stop => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the page cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // Who comes when all places are taken is turned away at once.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                continue;
            };
            let (page, mut stopped) = (Arc::clone(&page), stops.subscribe());
            tokio::spawn(async move {
                tokio::select! {
                    () = talk(stream, page) => {}
                    _ = stopped.changed() => {}
                }
                drop(place);
            });
        }
        drop(self.tcp);
        page.stop();
        stops.send_replace(());
        let _ = tokio::time::timeout(DRAIN_TIME, stops.closed()).await;
    }
}

async fn talk(stream: TcpStream, page: Arc<Page>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let page = Arc::clone(&page);
        async move { Ok::<_, Infallible>(page.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(64 << 10);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "a connection of the page broke"
        );
    }
}
