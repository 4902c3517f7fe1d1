//! What connections say, and what they are told.

use super::Server;
use super::conn::{Conn, Line};
use crate::fwp::{Answer, Core};
use std::io;

impl Server {
    /// Reads what a connection sent, and does what it says.
    pub(super) fn read(&mut self, at: usize) {
        let Some(mut conn) = self.conns.get_mut(at).and_then(Option::take) else {
            return;
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        let alive = self.read_all(at, &mut conn, &mut buffer);
        self.buffer = buffer;
        self.conns[at] = Some(conn);
        if !alive {
            self.close(at);
        }
    }

    /// Whether the connection goes on.
    fn read_all(&mut self, at: usize, conn: &mut Conn, buffer: &mut [u8]) -> bool {
        loop {
            if conn.is_stopped() {
                // What it asked for is answered first.
                conn.unread = true;
                return true;
            }
            let read = match conn.stream.read(buffer) {
                Ok(0) => return false,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return false,
            };
            if !self.take(at, conn, &buffer[..read]) {
                return false;
            }
            // The rest comes with another event, but not what TLS has decoded already.
            if read < buffer.len() && !conn.stream.is_tls() {
                return true;
            }
        }
    }

    fn take(&mut self, at: usize, conn: &mut Conn, mut bytes: &[u8]) -> bool {
        // Before HELLO nothing long is listened to.
        let line_max = if conn.session.ready {
            self.settings.line_max
        } else {
            64 << 10
        };
        loop {
            if conn.waits {
                // A FETCH waits: what comes after it waits, too.
                conn.put_off(bytes);
                return conn.unheard() <= line_max;
            }
            match conn.next_line(&mut bytes) {
                Line::None => return conn.unheard() <= line_max,
                Line::Here(line) => {
                    if !self.obey(at, conn, line) {
                        return true;
                    }
                }
                Line::Pending(line) => {
                    if !self.obey(at, conn, &line) {
                        return true;
                    }
                }
            }
        }
    }

    /// Does what a line says. Whether more lines are listened to.
    fn obey(&mut self, at: usize, conn: &mut Conn, line: &[u8]) -> bool {
        let before = self.core.reached();
        let mut reply = std::mem::take(&mut conn.scratch);
        reply.clear();
        let mut answer = self
            .core
            .line(&mut conn.session, line, self.now, &mut reply);
        if answer == Answer::Now && self.settings.durable_leases && self.core.reached() > before {
            answer = Answer::Durable;
        }
        match answer {
            Answer::Later => conn.waits = true,
            Answer::End => {
                conn.ends = true;
                let _ = conn.answer(&reply, None);
            }
            Answer::Now => {
                let _ = conn.answer(&reply, None);
            }
            Answer::Durable => {
                let durable = self.syncer.durable();
                let until = self
                    .core
                    .is_pending(durable)
                    .then(|| self.core.durable_from());
                if conn.answer(&reply, until) {
                    self.held.push(at);
                }
            }
        }
        conn.scratch = reply;
        if !conn.touched {
            conn.touched = true;
            self.touched.push(at);
        }
        !conn.ends
    }

    /// Those who waited are answered, and what they said meanwhile is done.
    pub(super) fn answer_waiting(&mut self) {
        while !(self.core.out.delivered.is_empty()
            && self.core.out.empty_handed.is_empty()
            && self.core.out.reaped.is_empty())
        {
            for delivery in std::mem::take(&mut self.core.out.delivered) {
                self.answer_fetch(delivery.conn, |core, conn, reply| {
                    core.deliver(&conn.session, &delivery, reply)
                });
            }
            for conn in std::mem::take(&mut self.core.out.empty_handed) {
                self.answer_fetch(conn, |_, _, reply| reply.extend_from_slice(b"$-1\r\n"));
            }
            for worker in std::mem::take(&mut self.core.out.reaped) {
                for at in 0..self.conns.len() {
                    let conn = self.conns[at].as_ref();
                    if conn.is_some_and(|conn| conn.session.worker == Some(worker)) {
                        self.close(at);
                    }
                }
            }
        }
    }

    fn answer_fetch(&mut self, serial: u64, write: impl FnOnce(&mut Core, &Conn, &mut Vec<u8>)) {
        let at = serial as u32 as usize;
        let conn = self.conns.get_mut(at).and_then(Option::take);
        let Some(mut conn) = conn else {
            return;
        };
        if conn.session.conn == serial {
            let mut reply = Vec::new();
            write(&mut self.core, &conn, &mut reply);
            let until = self
                .settings
                .durable_leases
                .then(|| self.core.durable_from());
            if conn.answer(&reply, until) {
                self.held.push(at);
            }
            conn.waits = false;
            if !conn.touched {
                conn.touched = true;
                self.touched.push(at);
            }
            if conn.unheard() > 0 && !self.take(at, &mut conn, &[]) {
                conn.ends = true;
            }
        }
        self.conns[at] = Some(conn);
    }
}
