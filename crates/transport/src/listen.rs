//! Connections: TLS, HTTP/1 and HTTP/2, limits on what one client may take.

use crate::certificates::Certificates;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::recognition::Recognition;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::Service;

/// How often a certificate that is made here is made anew. It is good for a year.
const RENEWAL: Duration = Duration::from_secs(30 * 24 * 3_600);

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
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) recognition: Recognition,
    /// The names that are served; any, if nothing is said.
    pub(crate) hosts: Option<Arc<Hosts>>,
    /// What it was made from.
    certificates: Arc<Certificates>,
}

impl Tls {
    fn new(certificates: &Certificates, address: IpAddr) -> io::Result<Self> {
        let made = certificates.config(address).map_err(io::Error::other)?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(made.config)),
            recognition: made.recognition,
            hosts: made.hosts.map(Arc::new),
            certificates: Arc::new(certificates.clone()),
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

    /// Makes the certificate anew, if it was made here: no process ends because it runs for a year.
    fn again(&self) {
        let certificates = self.present().certificates;
        if certificates.is_made()
            && let Err(error) = self.renew(&certificates)
        {
            tracing::warn!(%error, "the certificate cannot be made anew");
        }
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
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let connections = Connections::new(self.limits);
        let (stops, _) = watch::channel(());
        let mut stop = std::pin::pin!(stop);
        let mut due = std::pin::pin!(tokio::time::sleep(RENEWAL));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.tcp, &self.limits) => accepted,
                () = &mut due => {
                    due.set(tokio::time::sleep(RENEWAL));
                    self.tls.again();
                    continue;
                }
                () = &mut stop => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file handles, most likely: waiting is all that helps.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let connection = Connection {
                stream,
                peer,
                slot: connections.add(peer.ip()),
                tls: self.tls.present(),
                limits: self.limits,
                stop: stops.subscribe(),
            };
            tokio::spawn(connection.serve(service.clone()));
        }
        drop(self.tcp);
        stops.send_replace(());
        let _ = tokio::time::timeout(self.limits.drain_time, stops.closed()).await;
    }
}

async fn accept(tcp: &TcpListener, limits: &Limits) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, peer) = tcp.accept().await?;
    stream.set_nodelay(true)?;
    hold_little(&stream, limits.unsent_bytes)?;
    Ok((stream, peer))
}

/// The kernel takes no more to send than it is about to.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn hold_little(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(bytes)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn hold_little(_: &TcpStream, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
