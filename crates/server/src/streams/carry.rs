//! Carries bytes between a client and a session, to the end of either.

use super::channels::{ClientMessage, ERROR, Protocol, RESIZE, STDERR, STDIN, STDOUT};
use super::outcome;
use crate::limits::STREAM_IDLE_TIME;
use crate::provider::{Outcome, PIECE_BYTES_MAX, Session, StreamOptions, TerminalSize};
use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use std::pin::pin;
use std::time::Duration;
use stowplan_apimachinery::Status;
use stowplan_base::Env;
use stowplan_env::timeout;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// How long a client may take to say good-bye.
const CLOSE_TIME: Duration = Duration::from_secs(10);

/// Carries a session to its end, or until the client is gone or silent for too long.
pub(super) async fn carry<S>(
    socket: WebSocketStream<S>,
    protocol: Protocol,
    options: &StreamOptions,
    session: Session,
    env: &dyn Env,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (sink, stream) = socket.split();
    let something = Notify::new();
    let (sizes, changed) = watch::channel(TerminalSize::default());
    let listening = Listening {
        protocol,
        stdin: options.stdin.then_some(session.stdin),
        sizes: Some(sizes),
        something: &something,
    };
    let telling = OutputPump {
        protocol,
        options,
        something: &something,
    };
    let mut listening = pin!(listening.to(stream));
    let telling = telling.of(sink, session.stdout, session.stderr, session.outcome);
    tokio::select! {
        () = &mut listening => return,
        _ = telling => {}
        () = resize(changed, session.resize) => return,
        () = silence(&something, env) => return,
    }
    // Who is told the end and cut off at once may miss it.
    let _ = timeout(env, CLOSE_TIME, listening).await;
}

/// What the client says.
struct Listening<'a> {
    protocol: Protocol,
    /// Gone once nobody reads it, or nothing more comes.
    stdin: Option<mpsc::Sender<Bytes>>,
    sizes: Option<watch::Sender<TerminalSize>>,
    something: &'a Notify,
}

impl Listening<'_> {
    /// Listens until the client is gone.
    async fn to(mut self, stream: impl Stream<Item = Result<Message, Error>>) {
        let mut stream = pin!(stream);
        while let Some(Ok(message)) = stream.next().await {
            let bytes = match message {
                Message::Binary(bytes) => bytes,
                Message::Text(text) => text.into(),
                _ => continue,
            };
            self.something.notify_one();
            match self.protocol.read(bytes) {
                ClientMessage::Stdin(bytes) => self.stdin(bytes).await,
                ClientMessage::Resized(size) => {
                    if let Some(sizes) = &self.sizes {
                        sizes.send_replace(size);
                    }
                }
                ClientMessage::Closed(STDIN) => self.stdin = None,
                ClientMessage::Closed(RESIZE) => self.sizes = None,
                ClientMessage::Closed(_) | ClientMessage::Nothing => {}
                ClientMessage::Nonsense => return,
            }
        }
    }

    async fn stdin(&mut self, mut bytes: Bytes) {
        while let Some(stdin) = &self.stdin
            && !bytes.is_empty()
        {
            let piece = bytes.split_to(bytes.len().min(PIECE_BYTES_MAX));
            if stdin.send(piece).await.is_err() {
                self.stdin = None;
            }
        }
    }
}

/// What the process says.
struct OutputPump<'a> {
    protocol: Protocol,
    options: &'a StreamOptions,
    something: &'a Notify,
}

impl OutputPump<'_> {
    /// Tells everything, and in the end how it ended.
    async fn of(
        self,
        sink: impl Sink<Message, Error = Error>,
        mut stdout: mpsc::Receiver<Bytes>,
        mut stderr: mpsc::Receiver<Bytes>,
        mut outcome: oneshot::Receiver<Outcome>,
    ) -> Result<(), Error> {
        let mut sink = pin!(sink);
        let protocol = self.protocol;
        // An empty message says that the connection is there.
        let lowest = match (self.options.stdout, self.options.stderr) {
            (true, _) => STDOUT,
            (false, true) => STDERR,
            (false, false) => ERROR,
        };
        sink.send(protocol.message(lowest, b"")).await?;
        let mut open = [true, true];
        let mut ended = None;
        while ended.is_none() || open != [false, false] {
            let (channel, piece) = tokio::select! {
                piece = stdout.recv(), if open[0] => (STDOUT, piece),
                piece = stderr.recv(), if open[1] => (STDERR, piece),
                told = &mut outcome, if ended.is_none() => {
                    ended = Some(told.unwrap_or_else(|_| lost()));
                    continue;
                }
            };
            match piece {
                Some(piece) => sink.send(protocol.message(channel, &piece)).await?,
                None => open[usize::from(channel - STDOUT)] = false,
            }
            self.something.notify_one();
        }
        let told = ended.and_then(|ended| outcome::told(protocol, &ended));
        if let Some(told) = told {
            sink.send(protocol.message(ERROR, &told)).await?;
        }
        // Clients take an end without a code for a failure.
        let farewell = CloseFrame {
            code: CloseCode::Normal,
            reason: Utf8Bytes::default(),
        };
        sink.send(Message::Close(Some(farewell))).await?;
        sink.close().await
    }
}

/// Nobody said how it ended.
fn lost() -> Outcome {
    Outcome::Failed(Status::internal("nobody knows how the command ended"))
}

/// Tells the process the last size of its terminal, as often as it changes. Never ends.
async fn resize(mut changed: watch::Receiver<TerminalSize>, sizes: mpsc::Sender<TerminalSize>) {
    while changed.changed().await.is_ok() {
        let size = *changed.borrow_and_update();
        if sizes.send(size).await.is_err() {
            break;
        }
    }
    drop(sizes);
    std::future::pending().await
}

/// Ends when nothing was said for too long.
async fn silence(something: &Notify, env: &dyn Env) {
    while timeout(env, STREAM_IDLE_TIME, something.notified())
        .await
        .is_ok()
    {}
}
