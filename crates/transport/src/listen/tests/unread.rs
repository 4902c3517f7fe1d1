//! What answers cost that nobody reads: counted where they are made.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const CONNECTIONS: usize = 20;
const STREAMS: usize = 50;
const PIECE: &[u8] = &[b'x'; 16 << 10];

/// A server whose answers have no end, and how many bytes of them it was asked for.
async fn endless() -> (Running, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let service = tower::service_fn(move |_: Request<Incoming>| {
        let made = Arc::clone(&counted);
        let pieces = futures_util::stream::repeat_with(move || {
            made.fetch_add(PIECE.len(), Ordering::Relaxed);
            Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(PIECE)))
        });
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(pieces))) }
    });
    (Running::start(service, Limits::default()).await, made)
}

/// Waits until no more is asked for.
async fn settled(made: &AtomicUsize) -> usize {
    let (mut before, mut rounds) = (0, 0);
    while rounds < 10 {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let now = made.load(Ordering::Relaxed);
        rounds = if now == before && now > 0 {
            rounds + 1
        } else {
            0
        };
        before = now;
    }
    before
}

#[tokio::test]
async fn a_connection_that_is_not_read_holds_little() {
    let (server, made) = endless().await;
    let mut unread = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut lazy = server.connect("http/1.1", None).await;
        let request = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        lazy.write_all(request).await.unwrap();
        unread.push(lazy);
    }
    let each = settled(&made).await / CONNECTIONS;
    assert!(each <= 256 << 10, "{each} bytes");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A client that says that it has room for everything, asks a lot, and reads nothing.
#[tokio::test]
async fn a_stream_that_is_not_read_holds_little() {
    const SETTINGS: u8 = 4;
    const WINDOW_UPDATE: u8 = 8;
    const HEADERS: u8 = 1;
    const END_OF_STREAM_AND_HEADERS: u8 = 5;
    let (server, made) = endless().await;
    let mut lazy = server.connect("h2", None).await;
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // The initial window of streams, then that of the connection.
    sent.extend(frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]));
    sent.extend(frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0, 0]));
    // GET, https, /, and a name that is not in the table.
    let mut header = vec![0x82, 0x87, 0x84, 0x41, 9];
    header.extend(b"127.0.0.1");
    for i in 0..STREAMS as u32 {
        sent.extend(frame(
            HEADERS,
            END_OF_STREAM_AND_HEADERS,
            2 * i + 1,
            &header,
        ));
    }
    lazy.write_all(&sent).await.unwrap();
    lazy.flush().await.unwrap();
    let each = settled(&made).await / STREAMS;
    assert!(each <= 128 << 10, "{each} bytes");
}
