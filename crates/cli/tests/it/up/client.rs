//! A `stowplan up` of the test's own, and a client that speaks to it over TLS.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A folder that is gone when the test is over.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let folder = crate::temporary("-up");
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A process that ends with its owner.
pub(super) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// `stowplan up` on a free port, its data in this folder.
pub(super) fn up(folder: &Path) -> Command {
    up_on("127.0.0.1:0", folder)
}

/// `stowplan up` on this address.
pub(super) fn up_on(address: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--no-scheduler", "--no-controllers", "--no-nodes"]);
    command
        .args(["--listen", address, "--data-dir"])
        .arg(folder);
    command
}

impl Server {
    pub(super) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdout }
    }

    /// Waits until it says where its kubeconfig is.
    pub(super) fn ready(&mut self) -> PathBuf {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("text");
        let path = line.trim_end().strip_prefix("kubeconfig: ");
        path.unwrap_or_else(|| panic!("no kubeconfig but {line:?}"))
            .into()
    }

    /// What it says next, without the end of the line; nothing if it is over.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    /// Tells it to stop, and waits until it has.
    pub(super) fn stop(&mut self, signal: &str) -> ExitStatus {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends")
    }

    /// Ends it at once, as the kernel does when memory is short.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("it runs");
        let status = self.child.wait().expect("it ends");
        assert!(status.code().is_none(), "it ended by itself: {status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a kubeconfig tells.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) address: SocketAddr,
    tls: TlsConnector,
    token: String,
}

impl Client {
    pub(super) fn read(kubeconfig: &Path) -> Self {
        let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig");
        let file: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        let cluster = &file["clusters"][0]["cluster"];
        let field = |value: &Value| value.as_str().expect("text").to_owned();
        let ca = STANDARD.decode(field(&cluster["certificate-authority-data"]));
        let ca = CertificateDer::from_pem_slice(&ca.expect("base64")).expect("a certificate");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca).expect("a CA");
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let server = field(&cluster["server"]);
        let address = server.strip_prefix("https://").expect("TLS");
        Self {
            address: address.parse().expect("an address"),
            tls: TlsConnector::from(Arc::new(config)),
            token: field(&file["users"][0]["user"]["token"]),
        }
    }

    pub(super) fn with_token(&self, token: &str) -> Self {
        let token = token.to_owned();
        Self {
            token,
            ..self.clone()
        }
    }

    pub(super) async fn connect(&self) -> Result<Connection, Lost> {
        let tcp = TcpStream::connect(self.address).await.map_err(lost)?;
        tcp.set_nodelay(true).map_err(lost)?;
        let name = ServerName::from(self.address.ip());
        let tls = self.tls.connect(name, tcp).await.map_err(lost)?;
        let made = hyper::client::conn::http1::handshake(TokioIo::new(tls)).await;
        let (sender, connection) = made.map_err(lost)?;
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            token: self.token.clone(),
        })
    }

    /// One request on a connection of its own.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, Value) {
        let mut connection = self.connect().await.expect("a connection");
        connection
            .ask(Method::GET, path, None)
            .await
            .expect("an answer")
    }
}

/// Nobody knows what became of the request.
#[derive(Debug)]
pub(super) struct Lost(#[expect(dead_code, reason = "for Debug")] String);

impl Lost {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

fn lost(error: impl std::fmt::Display) -> Lost {
    Lost(error.to_string())
}

/// One connection, used by one request after the other.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    token: String,
}

impl Connection {
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<http::Response<Incoming>, Lost> {
        let body = body.map(|value| value.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Host", "localhost")
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        self.sender.ready().await.map_err(lost)?;
        self.sender.send_request(request).await.map_err(lost)
    }

    /// The whole answer. One that broke off is lost, whatever its status said.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(StatusCode, Value), Lost> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await.map_err(lost)?;
        let json = serde_json::from_slice(&bytes.to_bytes()).map_err(lost)?;
        Ok((status, json))
    }

    /// The whole answer as text.
    pub(super) async fn text(&mut self, path: &str) -> Result<String, Lost> {
        let response = self.send(Method::GET, path, None).await?;
        let bytes = response.into_body().collect().await.map_err(lost)?;
        Ok(String::from_utf8_lossy(&bytes.to_bytes()).into_owned())
    }

    /// A watch: one JSON object per line.
    pub(super) async fn watch(mut self, path: &str) -> Result<Watch, Lost> {
        let response = self.send(Method::GET, path, None).await?;
        Ok(Watch {
            body: response.into_body(),
            buffer: BytesMut::new(),
            _connection: self,
        })
    }
}

/// The lines of a watch.
pub(super) struct Watch {
    body: Incoming,
    buffer: BytesMut,
    _connection: Connection,
}

impl Watch {
    /// The next event; nothing if the stream is over or lost.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return Some(serde_json::from_slice(&line).expect("JSON"));
            }
            let Some(frame) = self.body.frame().await else {
                // An answer that is no stream ends without a line's end.
                let rest = std::mem::take(&mut self.buffer);
                return serde_json::from_slice(&rest).ok();
            };
            let frame = frame.ok()?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}
