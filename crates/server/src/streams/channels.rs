//! How several streams share one connection: each message begins with the number of its channel.

use crate::provider::TerminalSize;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

/// What the process reads.
pub(super) const STDIN: u8 = 0;
/// What it writes.
pub(super) const STDOUT: u8 = 1;
/// Its errors.
pub(super) const STDERR: u8 = 2;
/// How it ended.
pub(super) const ERROR: u8 = 3;
/// The sizes of its terminal.
pub(super) const RESIZE: u8 = 4;
/// The channel that is named next is closed.
const CLOSE: u8 = 255;

/// How channels are told apart, and what is said of the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// No name at all, `channel.k8s.io` or `base64.channel.k8s.io`: failures are told as plain text.
    Unversioned { base64: bool },
    /// `v4.channel.k8s.io` or `v4.base64.channel.k8s.io`: the end is told as a Status.
    V4 { base64: bool },
    /// `v5.channel.k8s.io`: the client can also close a channel.
    V5,
}

impl Protocol {
    /// The protocol of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "channel.k8s.io" => Self::Unversioned { base64: false },
            "base64.channel.k8s.io" => Self::Unversioned { base64: true },
            "v4.channel.k8s.io" => Self::V4 { base64: false },
            "v4.base64.channel.k8s.io" => Self::V4 { base64: true },
            "v5.channel.k8s.io" => Self::V5,
            _ => return None,
        })
    }

    fn is_base64(self) -> bool {
        match self {
            Self::Unversioned { base64 } | Self::V4 { base64 } => base64,
            Self::V5 => false,
        }
    }

    /// A message on a channel.
    pub(super) fn message(self, channel: u8, bytes: &[u8]) -> Message {
        if self.is_base64() {
            let mut text = String::from(char::from(b'0' + channel));
            BASE64.encode_string(bytes, &mut text);
            return Message::Text(text.into());
        }
        let mut message = BytesMut::with_capacity(bytes.len() + 1);
        message.put_u8(channel);
        message.put_slice(bytes);
        Message::Binary(message.freeze())
    }

    /// What a client's message says.
    pub(super) fn read(self, mut message: Bytes) -> ClientMessage {
        if message.is_empty() {
            return ClientMessage::Nothing;
        }
        let channel = message.split_to(1)[0];
        if self == Self::V5 && channel == CLOSE {
            return match *message {
                [channel @ STDIN..=RESIZE] => ClientMessage::Closed(channel),
                _ => ClientMessage::Nonsense,
            };
        }
        let (channel, bytes) = match self.is_base64() {
            false => (channel, Some(message)),
            true => {
                let bytes = BASE64.decode(&message).ok();
                (channel.wrapping_sub(b'0'), bytes.map(Bytes::from))
            }
        };
        match (channel, bytes) {
            (STDIN, Some(bytes)) => ClientMessage::Stdin(bytes),
            (RESIZE, Some(bytes)) => {
                size(&bytes).map_or(ClientMessage::Nothing, ClientMessage::Resized)
            }
            _ => ClientMessage::Nothing,
        }
    }
}

/// What a client said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ClientMessage {
    /// Something for the process to read.
    Stdin(Bytes),
    /// The terminal has another size.
    Resized(TerminalSize),
    /// Nothing more comes on a channel.
    Closed(u8),
    /// Nothing that matters. Upstream passes over it as well.
    Nothing,
    /// What no client says; the connection ends.
    Nonsense,
}

/// `{"Width":80,"Height":24}`; Go does not mind the case of names.
fn size(bytes: &[u8]) -> Option<TerminalSize> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let number = |name: &str| {
        let mut fields = value.as_object()?.iter();
        let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or(Some(0), |(_, value)| u16::try_from(value.as_u64()?).ok())
    };
    Some(TerminalSize {
        width: number("Width")?,
        height: number("Height")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_channel() {
        let raw = Protocol::V5.message(STDOUT, b"hi");
        assert_eq!(raw, Message::Binary(Bytes::from_static(b"\x01hi")));
        let coded = Protocol::V4 { base64: true }.message(STDERR, b"hi");
        assert_eq!(coded, Message::Text("2aGk=".into()));
    }

    #[test]
    fn what_clients_say_is_understood() {
        let v4 = Protocol::V4 { base64: false };
        let coded = Protocol::Unversioned { base64: true };
        let size = TerminalSize {
            width: 80,
            height: 24,
        };
        let stdin = |text: &'static str| ClientMessage::Stdin(Bytes::from_static(text.as_bytes()));
        let rows: [(Protocol, &[u8], ClientMessage); 13] = [
            (Protocol::V5, b"\x00hi", stdin("hi")),
            (Protocol::V5, b"\x00", stdin("")),
            (Protocol::V5, b"", ClientMessage::Nothing),
            (Protocol::V5, b"\xff\x00", ClientMessage::Closed(0)),
            (Protocol::V5, b"\xff", ClientMessage::Nonsense),
            (Protocol::V5, b"\xff\x07", ClientMessage::Nonsense),
            (v4, b"\xff\x00", ClientMessage::Nothing),
            (v4, b"\x01hi", ClientMessage::Nothing),
            (
                v4,
                b"\x04{\"Width\":80,\"Height\":24}",
                ClientMessage::Resized(size),
            ),
            (
                v4,
                b"\x04{\"width\":80,\"height\":24}",
                ClientMessage::Resized(size),
            ),
            (v4, b"\x04{\"Width\":-1}", ClientMessage::Nothing),
            (coded, b"0aGk=", stdin("hi")),
            (coded, b"0?", ClientMessage::Nothing),
        ];
        for (protocol, message, heard) in rows {
            let message = Bytes::from_static(message);
            assert_eq!(protocol.read(message.clone()), heard, "{message:?}");
        }
    }
}
