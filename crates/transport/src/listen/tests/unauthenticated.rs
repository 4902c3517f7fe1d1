//! Clients that nobody knows, and those that they might keep out.

use super::*;

fn limits() -> Limits {
    Limits {
        authenticated: 2,
        unauthenticated: 4,
        unauthenticated_per_address: 4,
        ..Limits::default()
    }
}

/// Knows one token; one path is open to anybody.
async fn server(limits: Limits) -> Running {
    let service = tower::service_fn(|request: Request<Incoming>| async move {
        let token = request.headers().get("authorization");
        let mut answer = text("fine")?;
        *answer.status_mut() = match token.map(|token| token.as_bytes()) {
            Some(b"Bearer known") => StatusCode::OK,
            Some(b"Basic known") => StatusCode::OK,
            Some(_) => StatusCode::UNAUTHORIZED,
            None if request.uri().path() == "/livez" => StatusCode::OK,
            None => StatusCode::UNAUTHORIZED,
        };
        Ok::<_, Infallible>(answer)
    });
    Running::start(service, limits).await
}

fn with(authorization: &str) -> Request<Empty<Bytes>> {
    let mut request = get("/");
    let authorization = authorization.parse().unwrap();
    request.headers_mut().insert("authorization", authorization);
    request
}

fn with_token(token: &str) -> Request<Empty<Bytes>> {
    with(&format!("Bearer {token}"))
}

type Sender = http1::SendRequest<Empty<Bytes>>;

/// A connection that has been used once.
async fn used(server: &Running, request: Request<Empty<Bytes>>, code: u16) -> Sender {
    let stream = TokioIo::new(server.connect("http/1.1", None).await);
    let (mut sender, connection) = http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(read(answer).await.0, code);
    sender
}

async fn is_open(sender: &mut Sender) -> bool {
    sender.send_request(get("/livez")).await.is_ok()
}

#[tokio::test]
async fn strangers_that_ask_for_nothing_keep_nobody_out() {
    let server = server(limits()).await;
    let mut known = used(&server, with_token("known"), 200).await;
    let mut strangers = vec![
        used(&server, with_token("unknown"), 401).await,
        used(&server, with("Basic known"), 200).await,
        used(&server, get("/livez"), 200).await,
        used(&server, get("/"), 401).await,
    ];
    // Without a word, and with half a handshake; each is taken at once.
    let mut silent = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&[22, 3, 1]).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(server.send(with_token("known"), None).await.0, 200);
    assert!(is_open(&mut known).await);
    for stranger in &mut strangers {
        assert!(!is_open(stranger).await);
    }
    let end = silent[0].read(&mut [0; 8]).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}

#[tokio::test]
async fn a_certificate_makes_a_client_known() {
    let server = server(limits()).await;
    let client = server.pki.client("jane", &[]).unwrap();
    let mut known = server.connect("http/1.1", Some(client)).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(server.send(get("/livez"), None).await.0, 200);
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    known.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    known.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn an_http_2_connection_without_requests_ends_in_good_order() {
    let server = server(Limits {
        idle_time: Duration::from_millis(200),
        ..limits()
    })
    .await;
    let stream = TokioIo::new(server.connect("h2", None).await);
    let executor = TokioExecutor::new();
    let (mut sender, connection) = http2::handshake(executor, stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(get("https://localhost/livez")).await;
    assert_eq!(read(answer.unwrap()).await.0, 200);
    let end = tokio::time::timeout(Duration::from_secs(60), connection).await;
    end.expect("it ends").unwrap().expect("in good order");
}
