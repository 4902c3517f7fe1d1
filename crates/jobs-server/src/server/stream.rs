//! Bytes of a connection, with TLS or without.

use mio::net::TcpStream;
use rustls::ServerConnection;
use std::io::{self, Read, Write};

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<(TcpStream, ServerConnection)>),
}

impl Stream {
    pub(super) fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(both) => &mut both.0,
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    pub(super) fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (socket, tls) = match self {
            Self::Plain(socket) => return socket.read(to),
            Self::Tls(both) => (&mut both.0, &mut both.1),
        };
        loop {
            match tls.reader().read(to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            let read = tls.read_tls(socket)?;
            let processed = tls.process_new_packets();
            flush(socket, tls)?;
            processed.map_err(io::Error::other)?;
            if read == 0 {
                return Ok(0);
            }
        }
    }

    /// Writes some of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (socket, tls) = match self {
            Self::Plain(socket) => return socket.write(bytes),
            Self::Tls(both) => (&mut both.0, &mut both.1),
        };
        flush(socket, tls)?;
        if tls.wants_write() || tls.is_handshaking() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let written = tls.writer().write(bytes)?;
        flush(socket, tls)?;
        Ok(written)
    }

    /// Sends what TLS has to say, its own part of the conversation included.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(both) => flush(&mut both.0, &mut both.1),
        }
    }

    /// Whether something was taken that the socket did not take yet.
    pub(super) fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(both) if both.1.wants_write())
    }
}

fn flush(socket: &mut TcpStream, tls: &mut ServerConnection) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
