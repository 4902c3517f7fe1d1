//! A client that waits for each answer: for the command line and for tests.

use crate::fwp::pwdhash;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection to a job server, past HELLO.
pub struct Client {
    reader: BufReader<TcpStream>,
}

/// What a server answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// `+…`
    Simple(String),
    /// `-…`
    Error(String),
    /// A bulk string; `None` is nothing.
    Bulk(Option<Vec<u8>>),
}

impl Client {
    /// Connects, and says HELLO.
    pub fn connect(address: &str, password: Option<&str>, wid: Option<&str>) -> io::Result<Self> {
        Self::handshake(TcpStream::connect(address)?, password, wid)
    }

    /// Says HELLO on a connection.
    pub fn handshake(
        socket: TcpStream,
        password: Option<&str>,
        wid: Option<&str>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let mut client = Self {
            reader: BufReader::new(socket),
        };
        let Reply::Simple(hi) = client.reply()? else {
            return Err(io::Error::other("the server does not greet"));
        };
        let json = hi.strip_prefix("HI ").unwrap_or("");
        let greeting: Value = serde_json::from_str(json).map_err(io::Error::other)?;
        let mut hello = serde_json::json!({ "v": 2 });
        if let Some(wid) = wid {
            hello["wid"] = wid.into();
            hello["pid"] = std::process::id().into();
            hello["labels"] = serde_json::json!(["stowplan"]);
        }
        if let Some(salt) = greeting["s"].as_str() {
            let rounds = greeting["i"].as_u64().unwrap_or(1).min(100_000) as u32;
            let password =
                password.ok_or_else(|| io::Error::other("the server asks for a password"))?;
            hello["pwdhash"] = pwdhash(password, salt, rounds).into();
        }
        match client.call(&format!("HELLO {hello}"))? {
            Reply::Simple(_) => Ok(client),
            Reply::Error(text) => Err(io::Error::other(text)),
            Reply::Bulk(_) => Err(io::Error::other(
                "the server does not speak Faktory's protocol",
            )),
        }
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.reader.into_inner()
    }

    /// Says a line, and hears the answer.
    pub fn call(&mut self, line: &str) -> io::Result<Reply> {
        let socket = self.reader.get_mut();
        socket.write_all(format!("{line}\r\n").as_bytes())?;
        self.reply()
    }

    /// Sends bytes, and hears nothing.
    pub fn call_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Says a line; the answer is a JSON value, `+OK` is null.
    pub fn ask(&mut self, line: &str) -> io::Result<Value> {
        match self.call(line)? {
            Reply::Simple(_) | Reply::Bulk(None) => Ok(Value::Null),
            Reply::Bulk(Some(bytes)) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Reply::Error(text) => Err(io::Error::other(text)),
        }
    }

    /// Hears the answer to a line that was sent before.
    pub fn hear(&mut self) -> io::Result<Reply> {
        self.reply()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let rest = line.get(1..).unwrap_or("").to_owned();
        match line.as_bytes().first() {
            Some(b'+') => Ok(Reply::Simple(rest)),
            Some(b'-') => Ok(Reply::Error(rest)),
            Some(b'$') if rest.starts_with('-') => Ok(Reply::Bulk(None)),
            Some(b'$') => {
                let len: usize = rest.parse().map_err(io::Error::other)?;
                let mut bytes = vec![0; len + 2];
                self.reader.read_exact(&mut bytes)?;
                bytes.truncate(len);
                Ok(Reply::Bulk(Some(bytes)))
            }
            _ => Err(io::Error::other(format!(
                "an answer of an unknown kind: {line:?}"
            ))),
        }
    }
}
