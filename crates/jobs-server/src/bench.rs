//! A load client: many connections on one thread, so that it takes little from the server beside it.

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What the connections do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// PUSH, or PUSHB if there are several jobs per command.
    Push,
    /// FETCH and then ACK.
    Work,
    /// Half of the connections push, half of them work.
    Both,
}

/// How much of it.
#[derive(Clone, Debug)]
pub struct LoadSettings {
    /// What the connections do.
    pub load: Load,
    /// How many there are.
    pub connections: usize,
    /// How many jobs altogether.
    pub jobs: u64,
    /// How many jobs a push has.
    pub batch: u64,
    /// How many commands are on their way at once, per connection.
    pub pipeline: usize,
    /// How long the argument of a job is.
    pub bytes: usize,
    /// The queue.
    pub queue: String,
    /// What the server asks for.
    pub password: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct LoadResult {
    /// Jobs that were pushed.
    pub pushed: u64,
    /// Jobs that were fetched and acknowledged.
    pub worked: u64,
    /// How long it took.
    pub took: Duration,
    /// How long commands took, in microseconds: half, 99 of 100, the longest.
    pub latency_us: [u64; 3],
}

struct Client {
    socket: TcpStream,
    pushes: bool,
    read: Vec<u8>,
    from: usize,
    write: Vec<u8>,
    sent: usize,
    /// When the commands were sent that are not answered, and what they were.
    waiting: std::collections::VecDeque<(Instant, Sent)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Push(u64),
    Fetch,
    Ack,
}

struct Run<'a> {
    settings: &'a LoadSettings,
    pushed: u64,
    asked: u64,
    worked: u64,
    fetching: u64,
    latencies: Vec<u32>,
    argument: String,
    run: u64,
}

/// One answer off the front: its first byte and its content, and how long it is.
fn answer(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let (kind, line) = (bytes[0], &bytes[1..end]);
    if kind != b'$' || line.starts_with(b"-") {
        return Some((if kind == b'$' { b'0' } else { kind }, line, end + 2));
    }
    let len: usize = std::str::from_utf8(line).ok()?.parse().ok()?;
    let body = bytes.get(end + 2..end + 2 + len)?;
    bytes.get(end + 4 + len - 1)?;
    Some((b'$', body, end + 4 + len))
}

fn hello(
    settings: &LoadSettings,
    address: SocketAddr,
    wid: Option<String>,
) -> io::Result<std::net::TcpStream> {
    let socket = std::net::TcpStream::connect(address)?;
    let conn =
        crate::client::Client::handshake(socket, settings.password.as_deref(), wid.as_deref());
    conn.map(crate::client::Client::into_stream)
}

/// Runs it.
pub fn run(address: SocketAddr, settings: &LoadSettings) -> io::Result<LoadResult> {
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    let stamp = stowplan_env::wall_clock().as_nanos().unsigned_abs();
    for at in 0..settings.connections {
        let pushes = match settings.load {
            Load::Push => true,
            Load::Work => false,
            Load::Both => at % 2 == 0,
        };
        let wid = (!pushes).then(|| format!("bench-{stamp:x}-{at}"));
        let socket = hello(settings, address, wid)?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let mut socket = TcpStream::from_std(socket);
        poll.registry().register(
            &mut socket,
            Token(at),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        clients.push(Client {
            socket,
            pushes,
            read: Vec::new(),
            from: 0,
            write: Vec::new(),
            sent: 0,
            waiting: std::collections::VecDeque::new(),
        });
    }
    let mut run = Run {
        settings,
        pushed: 0,
        asked: 0,
        worked: 0,
        fetching: 0,
        latencies: Vec::new(),
        argument: "x".repeat(settings.bytes),
        run: stamp,
    };
    let begin = Instant::now();
    for client in &mut clients {
        run.fill(client);
        client.flush()?;
    }
    let mut events = Events::with_capacity(1_024);
    let mut buffer = vec![0; 256 << 10];
    while !run.is_over() {
        poll.poll(&mut events, Some(Duration::from_secs(10)))?;
        for event in &events {
            let client = &mut clients[event.token().0];
            if event.is_readable() {
                client.take(&mut buffer)?;
                run.hear(client)?;
                run.fill(client);
            }
            client.flush()?;
        }
    }
    let took = begin.elapsed();
    run.latencies.sort_unstable();
    let at = |part: usize| {
        let place = (run.latencies.len() * part / 1_000).min(run.latencies.len().saturating_sub(1));
        run.latencies.get(place).copied().unwrap_or(0).into()
    };
    let latency_us = [at(500), at(990), at(1_000)];
    Ok(LoadResult {
        pushed: run.pushed,
        worked: run.worked,
        took,
        latency_us,
    })
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        let jobs = self.settings.jobs;
        let pushed = self.settings.load == Load::Work || self.pushed >= jobs;
        pushed && (self.settings.load == Load::Push || self.worked >= jobs)
    }

    /// Says as much as may be on its way.
    fn fill(&mut self, client: &mut Client) {
        let now = Instant::now();
        while client.waiting.len() < self.settings.pipeline {
            let left = self.settings.jobs.saturating_sub(self.asked);
            let sent = match client.pushes {
                true if left > 0 => self.push(client, left.min(self.settings.batch)),
                false if self.worked + self.fetching < self.settings.jobs => {
                    client.write.extend_from_slice(b"FETCH ");
                    client
                        .write
                        .extend_from_slice(self.settings.queue.as_bytes());
                    client.write.extend_from_slice(b"\r\n");
                    self.fetching += 1;
                    Sent::Fetch
                }
                _ => return,
            };
            client.waiting.push_back((now, sent));
        }
    }

    fn push(&mut self, client: &mut Client, jobs: u64) -> Sent {
        let many = self.settings.batch > 1;
        client
            .write
            .extend_from_slice(if many { b"PUSHB [" } else { b"PUSH " });
        for i in 0..jobs {
            if i > 0 {
                client.write.push(b',');
            }
            let job = format!(
                "{{\"jid\":\"{:x}-{}\",\"queue\":\"{}\",\"jobtype\":\"Bench\",\"args\":[\"{}\"],\"retry\":25}}",
                self.run, self.asked, self.settings.queue, self.argument
            );
            client.write.extend_from_slice(job.as_bytes());
            self.asked += 1;
        }
        client
            .write
            .extend_from_slice(if many { b"]\r\n" } else { b"\r\n" });
        Sent::Push(jobs)
    }

    fn hear(&mut self, client: &mut Client) -> io::Result<()> {
        let now = Instant::now();
        while let Some((kind, body, len)) = answer(&client.read[client.from..]) {
            let Some((since, sent)) = client.waiting.pop_front() else {
                return Err(io::Error::other("an answer to nothing"));
            };
            let took = now.duration_since(since).as_micros();
            match (sent, kind) {
                (_, b'-') => {
                    return Err(io::Error::other(String::from_utf8_lossy(body).into_owned()));
                }
                (Sent::Push(jobs), _) => self.pushed += jobs,
                (Sent::Ack, _) => self.worked += 1,
                (Sent::Fetch, b'0') => self.fetching -= 1,
                (Sent::Fetch, _) => {
                    let jid = jid(body).ok_or_else(|| io::Error::other("a job without jid"))?;
                    client.write.extend_from_slice(b"ACK {\"jid\":\"");
                    client.write.extend_from_slice(jid);
                    client.write.extend_from_slice(b"\"}\r\n");
                    client.waiting.push_back((now, Sent::Ack));
                    self.fetching -= 1;
                    // It counts as asked for until it is done.
                    self.fetching += 1;
                }
            }
            if sent == Sent::Ack {
                self.fetching -= 1;
            }
            self.latencies.push(u32::try_from(took).unwrap_or(u32::MAX));
            client.from += len;
        }
        if client.from == client.read.len() {
            client.read.clear();
            client.from = 0;
        }
        Ok(())
    }
}

fn jid(job: &[u8]) -> Option<&[u8]> {
    let key = b"\"jid\":\"";
    let from = job.windows(key.len()).position(|part| part == key)? + key.len();
    let len = job[from..].iter().position(|byte| *byte == b'"')?;
    Some(&job[from..from + len])
}

impl Client {
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            match self.socket.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.read.extend_from_slice(&buffer[..read]);
                    if read < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.write.len() {
            match self.socket.write(&self.write[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.write.clear();
        self.sent = 0;
        Ok(())
    }
}
