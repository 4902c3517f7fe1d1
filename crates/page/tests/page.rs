//! The page as a browser, and as a program that is none, meets it.

use axum::body::Body;
use http::{Request, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Sleep;
use stowplan_base::{Env, Time};
use stowplan_page::{Page, PageListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// A clock that is set.
struct Clock(watch::Sender<Duration>);

impl Default for Clock {
    fn default() -> Self {
        Self(watch::Sender::new(Duration::ZERO))
    }
}

impl Env for Clock {
    fn now(&self) -> Time {
        self.monotonic()
    }
    fn monotonic(&self) -> Time {
        Time::from_nanos(0) + *self.0.borrow()
    }
    fn sleep_until(&self, at: Time) -> Sleep {
        let mut clock = self.0.subscribe();
        Box::pin(async move {
            let come = clock.wait_for(|now| Time::from_nanos(0) + *now >= at).await;
            drop(come);
        })
    }
    fn random(&self) -> u64 {
        0
    }
}

/// A page that is served, about a cluster that says `{}` to everything.
struct Served {
    address: SocketAddr,
    link: String,
    env: Arc<Clock>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn serve() -> Served {
    let env = Arc::new(Clock::default());
    let cluster = tower::service_fn(|_: Request<kube::client::Body>| async {
        Ok::<_, tower::BoxError>(Response::new(Body::from("{}\n")))
    });
    let client = stowplan_client::in_process(cluster);
    let listener = PageListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let address = listener.address().unwrap();
    let page = Page::new(address, client, None, env.clone());
    let link = page.link().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move { drop(stopped.await) };
    Served {
        address,
        link: link.split_once("/open").unwrap().1.to_owned(),
        env,
        stop,
        task: tokio::spawn(listener.serve(page, stopped)),
    }
}

impl Served {
    /// Sends the head of a request.
    async fn send(&self, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let headers = [headers, &[("connection", "close")]].concat();
        let mut stream = self.send(path, &headers).await;
        let mut said = Vec::new();
        stream.read_to_end(&mut said).await.unwrap();
        let said = String::from_utf8_lossy(&said).into_owned();
        (code(&said), said)
    }

    /// Opens the link; the cookie and the key that it gives.
    async fn open(&self) -> (String, String) {
        let (code, said) = self.get(&format!("/open{}", self.link), &[]).await;
        assert_eq!(code, 200, "{said}");
        let after = |text: &str, end: char| {
            let (_, rest) = said.split_once(text).unwrap();
            rest.split(end).next().unwrap().to_owned()
        };
        let key = after("name=\"stowplan-key\" content=\"", '"');
        (after("set-cookie: ", ';'), key)
    }

    /// Asks for a WebSocket; its stream, and the head of the answer.
    async fn watches(&self, cookie: &str, protocols: &str) -> (TcpStream, String) {
        let origin = format!("http://{}", self.address);
        let headers = [
            ("origin", origin.as_str()),
            ("cookie", cookie),
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", protocols),
        ];
        let mut stream = self.send("/watches", &headers).await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        (stream, String::from_utf8(head).unwrap())
    }
}

fn code(said: &str) -> u16 {
    said.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_cookie_without_its_key_opens_nothing_of_the_cluster() {
    let served = serve().await;
    let (cookie, key) = served.open().await;
    let cookie = cookie.as_str();
    let (own, wrong) = (("x-stowplan-key", key.as_str()), ("x-stowplan-key", "x"));
    for path in ["/api/v1/nodes", "/apis", "/openapi/v3", "/version"] {
        assert_eq!(served.get(path, &[("cookie", cookie)]).await.0, 401);
        assert_eq!(served.get(path, &[("cookie", cookie), wrong]).await.0, 401);
        assert_eq!(served.get(path, &[own]).await.0, 401);
        assert_eq!(served.get(path, &[("cookie", cookie), own]).await.0, 200);
    }
    for path in ["/", "/app.js", "/welcome.js"] {
        assert_eq!(served.get(path, &[("cookie", cookie)]).await.0, 200);
        assert_eq!(served.get(path, &[own]).await.0, 401);
    }
    // Whoever has the cookie only is not told the key by the link, either.
    let again = format!("/open{}", served.link);
    let (code, said) = served.get(&again, &[("cookie", cookie)]).await;
    assert_eq!(code, 200);
    assert!(
        said.contains("name=\"stowplan-key\" content=\"\""),
        "{said}"
    );
}

#[tokio::test]
async fn a_websocket_brings_its_key_as_a_protocol() {
    let served = serve().await;
    let (cookie, key) = served.open().await;
    let (_, refused) = served.watches(&cookie, "stowplan-watches").await;
    assert_eq!(code(&refused), 401);
    let protocols = format!("stowplan-watches, stowplan-key.{key}");
    let (_stream, opened) = served.watches(&cookie, &protocols).await;
    assert_eq!(code(&opened), 101);
    assert!(opened.contains("sec-websocket-protocol: stowplan-watches\r\n"));
    assert!(!opened.contains(&key));
    let _ = served.stop.send(());
    served.task.await.unwrap();
}

#[tokio::test]
async fn links_end_after_a_quarter_of_an_hour_and_sessions_after_a_week() {
    const MINUTE: Duration = Duration::from_secs(60);
    let late = serve().await;
    late.env.0.send_replace(15 * MINUTE);
    assert_eq!(late.get(&format!("/open{}", late.link), &[]).await.0, 403);
    let served = serve().await;
    served.env.0.send_replace(14 * MINUTE);
    let (cookie, key) = served.open().await;
    let own = [("cookie", &*cookie), ("x-stowplan-key", &*key)];
    let protocols = format!("stowplan-watches, stowplan-key.{key}");
    let (mut stream, opened) = served.watches(&cookie, &protocols).await;
    assert_eq!(code(&opened), 101);
    let week = 7 * 24 * 60 * MINUTE;
    served.env.0.send_replace(week + 13 * MINUTE);
    assert_eq!(served.get("/version", &own).await.0, 200);
    served.env.0.send_replace(week + 14 * MINUTE);
    assert_eq!(served.get("/version", &own).await.0, 401);
    assert_eq!(served.get("/", &own).await.0, 401);
    // What was open ends, too.
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn there_are_16_websockets_at_most_and_they_end_with_the_page() {
    let served = serve().await;
    let (cookie, key) = served.open().await;
    let protocols = format!("stowplan-watches, stowplan-key.{key}");
    let mut open = Vec::new();
    for _ in 0..16 {
        let (stream, opened) = served.watches(&cookie, &protocols).await;
        assert_eq!(code(&opened), 101);
        open.push(stream);
    }
    let (_, refused) = served.watches(&cookie, &protocols).await;
    assert_eq!(code(&refused), 503);
    // One that ends makes room.
    drop(open.pop());
    let again = async {
        loop {
            let (stream, opened) = served.watches(&cookie, &protocols).await;
            match code(&opened) {
                101 => break stream,
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    open.push(again.await);
    served.stop.send(()).unwrap();
    served.task.await.unwrap();
    for mut stream in open {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
}
