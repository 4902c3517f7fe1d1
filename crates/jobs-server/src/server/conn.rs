//! One connection: what it said and was not yet listened to, what it is told and was not yet sent.

use super::stream::Stream;
use crate::fwp::Session;
use mio::net::TcpStream;
use rustls::{ServerConfig, ServerConnection};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

pub(super) struct Conn {
    pub(super) stream: Stream,
    pub(super) session: Session,
    /// Part of a line, or what came after a FETCH that waits.
    pending: Vec<u8>,
    /// How much of `pending` was listened to already.
    heard: usize,
    /// Up to where the rest of it has no end of a line.
    searched: usize,
    /// May be sent.
    pub(super) ready: Vec<u8>,
    /// May be sent when the log is durable far enough: see `gates`.
    pub(super) held: Vec<u8>,
    /// Up to which byte of `held` may be sent when the log is durable up to where.
    gates: VecDeque<(usize, u64)>,
    pub(super) scratch: Vec<u8>,
    /// A FETCH waits.
    pub(super) waits: bool,
    /// It is closed when all is sent.
    pub(super) ends: bool,
    /// It does not read what it asked for.
    pub(super) stopped: bool,
    /// There was something to read when it was not read from.
    pub(super) unread: bool,
    /// It is in the list of those that have something to be sent.
    pub(super) touched: bool,
}

/// The next line of a connection.
pub(super) enum Line<'a> {
    None,
    /// In what was just read.
    Here(&'a [u8]),
    /// Begun earlier.
    Pending(Vec<u8>),
}

impl Conn {
    pub(super) fn new(
        socket: TcpStream,
        serial: u64,
        tls: Option<&Arc<ServerConfig>>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let stream = match tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                Stream::Tls(Box::new((socket, tls)))
            }
        };
        Ok(Self {
            stream,
            session: Session {
                conn: serial,
                ..Session::default()
            },
            pending: Vec::new(),
            heard: 0,
            searched: 0,
            ready: Vec::new(),
            held: Vec::new(),
            gates: VecDeque::new(),
            scratch: Vec::new(),
            waits: false,
            ends: false,
            stopped: false,
            unread: false,
            touched: false,
        })
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        self.stream.socket()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped || self.ends
    }

    /// Cuts the next line off what was read.
    pub(super) fn next_line<'a>(&mut self, bytes: &mut &'a [u8]) -> Line<'a> {
        if self.pending.is_empty() {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.pending.extend_from_slice(bytes);
                self.searched = self.pending.len();
                *bytes = &[];
                return Line::None;
            };
            let (line, rest) = bytes.split_at(end);
            *bytes = &rest[1..];
            return Line::Here(line.strip_suffix(b"\r").unwrap_or(line));
        }
        self.put_off(bytes);
        *bytes = &[];
        let found = self.pending[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(found) = found else {
            self.searched = self.pending.len();
            return Line::None;
        };
        let (from, end) = (self.heard, self.searched + found);
        let mut line = if from == 0 && end + 1 == self.pending.len() {
            std::mem::take(&mut self.pending)
        } else {
            self.pending[from..=end].to_vec()
        };
        (self.heard, self.searched) = (end + 1, end + 1);
        if self.heard >= self.pending.len() {
            // Nobody keeps what many commands took.
            if self.pending.capacity() > 64 << 10 {
                self.pending = Vec::new();
            }
            self.pending.clear();
            (self.heard, self.searched) = (0, 0);
        }
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Pending(line)
    }

    /// Keeps what cannot be listened to now.
    pub(super) fn put_off(&mut self, bytes: &[u8]) {
        // Moved only when at least half of it goes: many short lines do not move the rest again and again.
        if self.heard > 0 && self.heard >= self.pending.len() / 2 {
            self.pending.drain(..self.heard);
            self.searched -= self.heard;
            self.heard = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// How much was said and not listened to yet.
    pub(super) fn unheard(&self) -> usize {
        self.pending.len() - self.heard
    }

    /// Says something, now or when the log is durable. Whether it is the first that waits for that.
    pub(super) fn answer(&mut self, reply: &[u8], until: Option<u64>) -> bool {
        match until {
            None if self.held.is_empty() => {
                self.ready.extend_from_slice(reply);
                false
            }
            None => {
                self.held.extend_from_slice(reply);
                if let Some((end, _)) = self.gates.back_mut() {
                    *end = self.held.len();
                }
                false
            }
            Some(until) => {
                let first = self.held.is_empty();
                self.held.extend_from_slice(reply);
                match self.gates.back_mut().filter(|(_, last)| *last == until) {
                    Some((end, _)) => *end = self.held.len(),
                    None => self.gates.push_back((self.held.len(), until)),
                }
                first
            }
        }
    }

    /// What may be sent now that the log is durable up to there. Whether something is still held.
    pub(super) fn release(&mut self, durable: u64) -> bool {
        let open = self.gates.partition_point(|(_, until)| *until <= durable);
        let Some((end, _)) = self.gates.drain(..open).next_back() else {
            return !self.held.is_empty();
        };
        self.gates.iter_mut().for_each(|(later, _)| *later -= end);
        if self.ready.is_empty() && end == self.held.len() {
            std::mem::swap(&mut self.ready, &mut self.held);
        } else {
            self.ready.extend(self.held.drain(..end));
        }
        !self.held.is_empty()
    }

    /// Sends what may be sent and the socket takes.
    pub(super) fn send(&mut self) -> io::Result<()> {
        self.stream.flush()?;
        let mut sent = 0;
        while sent < self.ready.len() {
            match self.stream.write(&self.ready[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if sent == self.ready.len() {
            self.ready.clear();
            // Nobody keeps what one large job took.
            if self.ready.capacity() > 64 << 10 {
                self.ready = Vec::new();
            }
        } else {
            self.ready.drain(..sent);
        }
        Ok(())
    }
}
