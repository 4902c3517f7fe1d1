//! A client that costs little: one connection, no parsing.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// What is spoken above TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    /// With the connection kept.
    Http1,
    Http2,
}

/// Where a server is, and how it is talked to.
#[derive(Clone)]
pub(super) struct Place {
    authority: String,
    token: String,
    roots: Arc<RootCertStore>,
}

impl Place {
    pub(super) fn from_kubeconfig(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let file: serde_json::Value = serde_yaml_ng::from_str(&text)?;
        let part = |pointer: &str| {
            let value = file.pointer(pointer).and_then(|v| v.as_str());
            value.with_context(|| format!("the kubeconfig has no {pointer}"))
        };
        let server = part("/clusters/0/cluster/server")?;
        let authority = server.strip_prefix("https://").context("https")?;
        let ca = STANDARD.decode(part("/clusters/0/cluster/certificate-authority-data")?)?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&ca)?)?;
        Ok(Self {
            authority: authority.to_owned(),
            token: part("/users/0/user/token")?.to_owned(),
            roots: Arc::new(roots),
        })
    }
}

/// One connection.
pub(super) struct Sender {
    place: Place,
    connection: Connection,
}

enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    pub(super) async fn connect(place: &Place, protocol: Protocol) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(Arc::clone(&place.roots))
            .with_no_client_auth();
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        let tcp = TcpStream::connect(&place.authority).await?;
        tcp.set_nodelay(true)?;
        let tls = TlsConnector::from(Arc::new(config));
        let stream = tls.connect(ServerName::try_from("127.0.0.1")?, tcp).await?;
        let stream = TokioIo::new(stream);
        let connection = match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(stream).await?;
                tokio::spawn(connection);
                Connection::Http1(sender)
            }
            Protocol::Http2 => {
                // The windows of Go's client.
                let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .initial_stream_window_size(4 << 20)
                    .initial_connection_window_size(1 << 30)
                    .handshake(stream)
                    .await?;
                tokio::spawn(connection);
                Connection::Http2(sender)
            }
        };
        Ok(Self {
            place: place.clone(),
            connection,
        })
    }

    /// Sends a request and returns the answer as soon as its header is there.
    pub(super) async fn open(
        &mut self,
        method: &str,
        path: &str,
        accept: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let authority = &self.place.authority;
        let mut request = Request::builder()
            .method(method)
            .header("authorization", format!("Bearer {}", self.place.token))
            .header("accept", accept)
            .header("user-agent", "stowplan-bench");
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        Ok(match &mut self.connection {
            Connection::Http1(sender) => {
                let request = request.uri(path).header("host", authority);
                sender.ready().await?;
                sender.send_request(request.body(Full::new(body))?).await?
            }
            Connection::Http2(sender) => {
                let request = request.uri(format!("https://{authority}{path}"));
                sender.ready().await?;
                sender.send_request(request.body(Full::new(body))?).await?
            }
        })
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        accept: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let answer = self.open(method, path, accept, body).await?;
        let code = answer.status();
        Ok((code, answer.into_body().collect().await?.to_bytes()))
    }

    /// A GET that must succeed.
    pub(super) async fn get(&mut self, path: &str, accept: &str) -> Result<Bytes> {
        let (code, body) = self.ask("GET", path, accept, Bytes::new()).await?;
        match code.is_success() {
            true => Ok(body),
            false => bail!("{path}: {code}: {}", String::from_utf8_lossy(&body)),
        }
    }

    /// A POST that must create something, or find it there.
    pub(super) async fn post(&mut self, path: &str, body: Bytes) -> Result<()> {
        let (code, body) = self.ask("POST", path, "application/json", body).await?;
        match code.is_success() || code == StatusCode::CONFLICT {
            true => Ok(()),
            false => bail!("{path}: {code}: {}", String::from_utf8_lossy(&body)),
        }
    }
}
