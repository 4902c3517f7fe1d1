//! A client over TLS that does no more than it must: the processor is needed by the server.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Where a server is, and who asks.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) authority: String,
    token: String,
    config: Arc<ClientConfig>,
}

impl Place {
    pub(super) fn from_kubeconfig(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let file: Value = serde_yaml_ng::from_str(&text)?;
        let part = |pointer: &str| {
            let value = file.pointer(pointer).and_then(Value::as_str);
            value.with_context(|| format!("the kubeconfig has no {pointer}"))
        };
        let server = part("/clusters/0/cluster/server")?;
        let ca = STANDARD.decode(part("/clusters/0/cluster/certificate-authority-data")?)?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&ca)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            authority: server.strip_prefix("https://").context("https")?.to_owned(),
            token: part("/users/0/user/token")?.to_owned(),
            config: Arc::new(config),
        })
    }

    pub(super) fn with_token(&self, token: &str) -> Self {
        let token = token.to_owned();
        Self {
            token,
            ..self.clone()
        }
    }
}

/// A connection; copies share it.
#[derive(Clone)]
pub(super) struct Client {
    place: Place,
    sender: http2::SendRequest<Full<Bytes>>,
}

impl Client {
    pub(super) async fn connect(place: &Place) -> Result<Self> {
        let tcp = TcpStream::connect(&place.authority).await?;
        tcp.set_nodelay(true)?;
        let tls = TlsConnector::from(Arc::clone(&place.config));
        let stream = tls.connect(ServerName::try_from("127.0.0.1")?, tcp).await?;
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            place: place.clone(),
            sender,
        })
    }

    /// The answer as soon as its header is there.
    pub(super) async fn open(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.place.authority))
            .header("authorization", format!("Bearer {}", self.place.token))
            .header("content-type", content_type);
        self.sender.ready().await?;
        Ok(self
            .sender
            .send_request(request.body(Full::new(body))?)
            .await?)
    }

    /// The code of the answer, which is read to its end.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<(u16, Bytes)> {
        let answer = self.open(method, path, content_type, body).await?;
        let code = answer.status().as_u16();
        Ok((code, answer.into_body().collect().await?.to_bytes()))
    }

    pub(super) async fn get(&mut self, path: &str) -> Result<(u16, Bytes)> {
        self.send("GET", path, "application/json", Bytes::new())
            .await
    }

    /// Creates something, which must succeed.
    pub(super) async fn create(&mut self, path: &str, object: &Value) -> Result<Bytes> {
        let body = Bytes::from(object.to_string());
        let (code, answer) = self.send("POST", path, "application/json", body).await?;
        match code {
            200..300 => Ok(answer),
            _ => bail!("{path}: {code}: {}", String::from_utf8_lossy(&answer)),
        }
    }
}
