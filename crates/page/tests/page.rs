//! The page as a browser, and as a program that is none, meets it.

use axum::body::Body;
use http::{Request, Response};
use std::net::SocketAddr;
use stowplan_page::{Page, PageListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A page that is served, about a cluster that says `{}` to everything.
struct Served {
    address: SocketAddr,
    link: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn serve() -> Served {
    let cluster = tower::service_fn(|_: Request<kube::client::Body>| async {
        Ok::<_, tower::BoxError>(Response::new(Body::from("{}\n")))
    });
    let client = stowplan_client::in_process(cluster);
    let listener = PageListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let address = listener.address().unwrap();
    let page = Page::new(address, client, None);
    let link = page.link().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move { drop(stopped.await) };
    Served {
        address,
        link: link.split_once("/open").unwrap().1.to_owned(),
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
