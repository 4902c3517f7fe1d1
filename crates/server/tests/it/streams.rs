//! exec and attach over a real socket, and logs that go on.

use crate::client::{Client, TOKEN};
use axum::body::Body;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use stowplan_base::Time;
use stowplan_server::{
    Answering, Attached, ExecOptions, LogOptions, Outcome, PortStream, Provider, Session, Status,
    StreamOptions, TerminalSize,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Runs what is on node `n`: a command `cat` gives back what it reads, `exit 3` exits so, and `big` writes
/// much.
#[derive(Clone, Default)]
struct Runtime(Arc<State>);

#[derive(Default)]
struct State {
    asked: Mutex<Vec<ExecOptions>>,
    sizes: Mutex<Vec<TerminalSize>>,
    /// Takes what is written to the log.
    log: Mutex<Option<mpsc::Sender<Bytes>>>,
}

impl Provider for Runtime {
    fn has_node(&self, node: &str) -> bool {
        node == "n"
    }

    fn log<'a>(&'a self, _: &'a Value, options: &'a LogOptions, _: Time) -> Answering<'a, Body> {
        let (tell, lines) = mpsc::channel(1);
        *self.0.log.lock().expect("no panic") = Some(tell);
        Box::pin(async move {
            if !options.follow {
                return Ok(Body::from("all\n"));
            }
            let lines = futures_util::stream::unfold(lines, async |mut lines| {
                Some((Ok::<_, std::io::Error>(lines.recv().await?), lines))
            });
            Ok(Body::from_stream(lines))
        })
    }

    fn exec<'a>(&'a self, _: &'a Value, options: &'a ExecOptions) -> Answering<'a, Session> {
        self.0.asked.lock().expect("no panic").push(options.clone());
        let runtime = self.clone();
        Box::pin(async move {
            let (session, process) = Session::new(&options.streams);
            match options.command[0].as_str() {
                "cat" => drop(tokio::spawn(cat(runtime, process))),
                "big" => drop(tokio::spawn(big(process))),
                "lost" => drop(process),
                "exit" => {
                    let code = options.command[1].parse().expect("a code");
                    let told = process.outcome.send(Outcome::Exited(code));
                    told.expect("somebody listens");
                }
                _ => return Err(Status::plain_error("container not found (\"c\")")),
            }
            Ok(session)
        })
    }

    fn attach<'a>(&'a self, pod: &'a Value, options: &'a StreamOptions) -> Answering<'a, Session> {
        let command = ["cat".to_owned()].to_vec();
        let runtime = self.clone();
        Box::pin(async move {
            let options = ExecOptions {
                command,
                streams: options.clone(),
            };
            Provider::exec(&runtime, pod, &options).await
        })
    }

    fn port_forward<'a>(&'a self, _: &'a Value, _: u16) -> Answering<'a, Box<dyn PortStream>> {
        Box::pin(async { Err(Status::plain_error("nobody listens")) })
    }
}

/// Gives back what it reads, and complains at the end.
async fn cat(runtime: Runtime, process: Attached) {
    let mut process = process;
    if let Some(mut sizes) = process.resize.take() {
        tokio::spawn(async move {
            while let Some(size) = sizes.recv().await {
                runtime.0.sizes.lock().expect("no panic").push(size);
            }
        });
    }
    let stdout = process.stdout.take().expect("it is wanted");
    let mut stdin = process.stdin.take().expect("it is wanted");
    while let Some(piece) = stdin.recv().await {
        if stdout.send(piece).await.is_err() {
            return;
        }
    }
    if let Some(stderr) = process.stderr.take() {
        let _ = stderr.send(Bytes::from_static(b"end of input")).await;
    }
    drop(stdout);
    let _ = process.outcome.send(Outcome::Exited(0));
}

async fn big(process: Attached) {
    let stdout = process.stdout.expect("it is wanted");
    for _ in 0..100 {
        let piece = Bytes::from(vec![b'x'; 30_000]);
        if stdout.send(piece).await.is_err() {
            return;
        }
    }
    let _ = process.outcome.send(Outcome::Exited(0));
}

/// A server on a socket.
struct Served {
    client: Client,
    runtime: Runtime,
    address: std::net::SocketAddr,
}

impl Served {
    async fn new() -> Self {
        let client = Client::new().await;
        let runtime = Runtime::default();
        client.api().provide(Arc::new(runtime.clone()));
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {"nodeName": "n", "containers": [
                {"name": "c", "image": "i"}, {"name": "t", "image": "i", "tty": true}]},
        });
        client.create(PODS, pod).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        let api = Arc::clone(client.api());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let api = Arc::clone(&api);
                let service = hyper::service::service_fn(
                    move |request: http::Request<hyper::body::Incoming>| {
                        let api = Arc::clone(&api);
                        async move {
                            let request = request.map(Body::new);
                            Ok::<_, std::convert::Infallible>(api.call(request).await)
                        }
                    },
                );
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades();
                tokio::spawn(served);
            }
        });
        Self {
            client,
            runtime,
            address,
        }
    }

    /// Sends a request, with these headers beside the token.
    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> http::Response<hyper::body::Incoming> {
        let stream = TcpStream::connect(self.address).await.expect("a server");
        let io = TokioIo::new(stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
            .await
            .expect("HTTP");
        tokio::spawn(connection.with_upgrades());
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {TOKEN}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        sender.send_request(request).await.expect("an answer")
    }

    async fn websocket(&self, path: &str, protocol: &str) -> Result<Socket, (u16, String)> {
        let mut headers = vec![
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        if !protocol.is_empty() {
            headers.push(("sec-websocket-protocol", protocol));
        }
        let answer = self.send("GET", path, &headers).await;
        if answer.status() != 101 {
            return Err(text(answer).await);
        }
        let agreed = answer.headers().get("sec-websocket-protocol").cloned();
        assert_eq!(agreed.is_some(), !protocol.is_empty());
        let io = TokioIo::new(hyper::upgrade::on(answer).await.expect("an upgrade"));
        Ok(Socket(
            WebSocketStream::from_raw_socket(io, Role::Client, None).await,
        ))
    }
}

async fn text(answer: http::Response<hyper::body::Incoming>) -> (u16, String) {
    let code = answer.status().as_u16();
    let bytes = answer
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    (code, String::from_utf8_lossy(&bytes).into_owned())
}

struct Socket(WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>);

impl Socket {
    async fn say(&mut self, bytes: &[u8]) {
        let message = Message::Binary(Bytes::copy_from_slice(bytes));
        self.0.send(message).await.expect("sent");
    }

    /// What is said next, as channel and bytes.
    async fn hear(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Binary(bytes) => return Some((bytes[0], bytes[1..].to_vec())),
                Message::Text(text) => {
                    let bytes = text.as_bytes();
                    return Some((bytes[0], bytes[1..].to_vec()));
                }
                Message::Close(frame) => {
                    let code = frame.map(|frame| u16::from(frame.code));
                    assert_eq!(
                        code,
                        Some(1000),
                        "kubectl takes any other end for a failure"
                    );
                    return None;
                }
                _ => {}
            }
        }
    }

    /// All that is still said, by channel.
    async fn rest(&mut self) -> [Vec<u8>; 4] {
        let mut all = <[Vec<u8>; 4]>::default();
        while let Some((channel, bytes)) = self.hear().await {
            all[usize::from(channel)].extend_from_slice(&bytes);
        }
        all
    }

    async fn status(&mut self) -> Value {
        let [_, _, _, error] = self.rest().await;
        serde_json::from_slice(&error).expect("a Status")
    }
}

fn exec(query: &str) -> String {
    format!("{PODS}/p/exec?container=c&{query}")
}

#[tokio::test]
async fn a_command_reads_and_writes_until_its_input_is_closed() {
    let served = Served::new().await;
    let path = exec("command=cat&command=-&stdin=true&stdout=true&stderr=true");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    assert_eq!(socket.hear().await, Some((1, Vec::new())), "it is there");
    socket.say(b"\x00hello ").await;
    assert_eq!(socket.hear().await, Some((1, b"hello ".to_vec())));
    socket.say(b"\x00world").await;
    socket.say(b"\xff\x00").await;
    let [_, stdout, stderr, error] = socket.rest().await;
    assert_eq!((&*stdout, &*stderr), (&b"world"[..], &b"end of input"[..]));
    let status: Value = serde_json::from_slice(&error).expect("JSON");
    assert_eq!(status, json!({"metadata": {}, "status": "Success"}));
    let asked = served.runtime.0.asked.lock().expect("no panic");
    assert_eq!(asked[0].command, ["cat", "-"]);
    assert!(asked[0].streams.stdin && !asked[0].streams.tty);
}

#[tokio::test]
async fn exit_codes_and_failures_are_told() {
    let served = Served::new().await;
    let path = exec("command=exit&command=3&stdout=1");
    let mut socket = served
        .websocket(&path, "v4.channel.k8s.io")
        .await
        .expect("a stream");
    let status = socket.status().await;
    assert_eq!(status["reason"], "NonZeroExitCode");
    assert_eq!(status["details"]["causes"][0]["message"], "3");
    let path = exec("command=lost&stdout=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    assert_eq!(socket.status().await["reason"], "InternalError");
    // The server speaks the fifth version, kubelets those before.
    let path = exec("command=none&stdout=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    let message =
        "Internal error occurred: unable to upgrade connection: container not found (\"c\")";
    assert_eq!(socket.status().await["message"], message);
    let refused = served.websocket(&path, "v4.channel.k8s.io").await.err();
    assert_eq!(
        refused,
        Some((500, "container not found (\"c\")".to_owned()))
    );
}

#[tokio::test]
async fn older_protocols_are_spoken() {
    let served = Served::new().await;
    let path = exec("command=exit&command=3&stdout=1");
    let message = "command terminated with non-zero exit code: command terminated with exit code 3";
    for protocol in ["", "channel.k8s.io"] {
        let mut socket = served.websocket(&path, protocol).await.expect("a stream");
        let [_, _, _, error] = socket.rest().await;
        assert_eq!(String::from_utf8_lossy(&error), message, "{protocol}");
    }
    let path = exec("command=cat&stdin=1&stdout=1");
    let coded = served.websocket(&path, "base64.channel.k8s.io").await;
    let mut coded = coded.expect("a stream");
    assert_eq!(coded.hear().await, Some((b'1', Vec::new())));
    coded
        .0
        .send(Message::Text("0aGk=".into()))
        .await
        .expect("sent");
    assert_eq!(coded.hear().await, Some((b'1', b"aGk=".to_vec())));
}

#[tokio::test]
async fn much_is_written_and_read_in_order() {
    let served = Served::new().await;
    let path = exec("command=big&stdout=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    let [_, stdout, _, _] = socket.rest().await;
    assert_eq!(stdout.len(), 3_000_000);
    let path = exec("command=cat&stdin=1&stdout=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    let mut message = vec![0];
    message.extend((0..200_000).map(|i| (i % 251) as u8));
    socket.say(&message).await;
    socket.say(b"\xff\x00").await;
    let [_, stdout, _, _] = socket.rest().await;
    assert_eq!(stdout, message[1..]);
}

#[tokio::test]
async fn attaching_takes_the_terminal_that_there_is() {
    let served = Served::new().await;
    let path = format!("{PODS}/p/attach?container=t&stdin=1&stdout=1&stderr=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    assert_eq!(socket.hear().await, Some((1, Vec::new())));
    socket.say(b"\x04{\"Width\":80,\"Height\":24}").await;
    while served.runtime.0.sizes.lock().expect("no panic").is_empty() {
        tokio::task::yield_now().await;
    }
    socket.say(b"\xff\x00").await;
    let [_, _, stderr, _] = socket.rest().await;
    assert_eq!(stderr, b"", "a terminal has no second output");
    let size = TerminalSize {
        width: 80,
        height: 24,
    };
    assert_eq!(*served.runtime.0.sizes.lock().expect("no panic"), [size]);
    let asked = served.runtime.0.asked.lock().expect("no panic");
    assert!(asked[0].streams.tty && !asked[0].streams.stderr);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_in_upstreams_words() {
    let served = Served::new().await;
    let upgrade = ("connection", "Upgrade");
    let socket = ("upgrade", "websocket");
    let key = ("sec-websocket-key", "x");
    let fine = exec("command=cat&stdout=1");
    let message = async |method: &str, path: &str, headers: &[(&str, &str)]| {
        let (code, text) = text(served.send(method, path, headers).await).await;
        let status: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = status["message"].as_str().map(str::to_owned);
        (code, message.unwrap_or(text))
    };
    let refused =
        async |method: &str, path: &str, headers: &[(&str, &str)], expected: (u16, &str)| {
            let got = message(method, path, headers).await;
            let (code, text) = expected;
            assert_eq!(got, (code, text.to_owned()), "{method} {path}");
        };
    let no_upgrade = (400, "Upgrade request required");
    refused("GET", &fine, &[], no_upgrade).await;
    refused("POST", &fine, &[], no_upgrade).await;
    let method = "the server does not allow this method on the requested resource";
    refused("PUT", &fine, &[], (405, method)).await;
    refused("POST", &fine, &[upgrade, socket, key], (405, "bad method")).await;
    let challenge = (400, "mismatch challenge/response");
    refused("GET", &fine, &[upgrade, socket], challenge).await;
    let version = (400, "missing or bad WebSocket Version");
    refused("GET", &fine, &[upgrade, socket, key], version).await;
    let spdy = "unable to upgrade: \"SPDY/3.1\" is not spoken here, only WebSocket (kubectl 1.31 and later)";
    let speaks = [upgrade, ("upgrade", "SPDY/3.1")];
    refused("POST", &fine, &speaks, (400, spdy)).await;
    for (below, expected) in [
        (
            "p/exec?container=c&dryRun=All",
            (400, "dryRun is not supported"),
        ),
        ("q/exec?stdout=1", (404, "pods \"q\" not found")),
        (
            "p/exec?stdout=1",
            (
                400,
                "a container name must be specified for pod p, choose one of: [c t]",
            ),
        ),
        (
            "p/attach?container=x",
            (400, "container x is not valid for pod p"),
        ),
    ] {
        refused("GET", &format!("{PODS}/{below}"), &[], expected).await;
    }
    let nothing = exec("command=cat");
    let unwanted = served.websocket(&nothing, "v4.channel.k8s.io").await.err();
    let expected = "you must specify at least 1 of stdin, stdout, stderr";
    assert_eq!(unwanted, Some((400, expected.to_owned())));
    let unknown = served.websocket(&fine, "v9.channel.k8s.io").await.err();
    assert_eq!(unknown, Some((403, String::new())));
}

#[tokio::test]
async fn streams_end_when_the_server_stops() {
    let served = Served::new().await;
    let path = exec("command=cat&stdin=1&stdout=1");
    let mut socket = served
        .websocket(&path, "v5.channel.k8s.io")
        .await
        .expect("a stream");
    assert_eq!(socket.hear().await, Some((1, Vec::new())));
    let follow = format!("{PODS}/p/log?container=c&follow=true");
    let mut log = served.send("GET", &follow, &[]).await;
    let tell = served
        .runtime
        .0
        .log
        .lock()
        .expect("no panic")
        .take()
        .expect("a log");
    tell.send(Bytes::from_static(b"line\n"))
        .await
        .expect("somebody reads");
    let frame = log.frame().await.expect("more").expect("no error");
    assert_eq!(
        frame.into_data().expect("data"),
        "line\n",
        "as it is written"
    );
    served.client.api().end_watches();
    assert_eq!(socket.rest().await, <[Vec<u8>; 4]>::default());
    assert!(log.frame().await.is_none());
}
