//! The owning thread: it has the queue, the log and all connections, and waits for nothing but sockets. Another
//! thread makes the log durable meanwhile; answers that depend on that are held back.

mod compact;
mod conn;
mod hear;
mod settings;
mod stream;
mod sync;

use crate::fwp::{Core, greet};
use crate::log::{Disk, Log};
use crate::metrics::Metrics;
use compact::Compacting;
use conn::Conn;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stowplan_base::Time;
use stowplan_env::Env;
use stowplan_jobs::Machine;
use sync::Syncer;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How long a connection may take to say HELLO.
const HELLO_TIME: Duration = Duration::from_secs(2);
/// A client that does not read what it asked for is not read from.
const UNSENT_MAX: usize = 16 << 20;
/// How often a sync is put off at most while others have something to say.
const GATHERING_ROUNDS: u32 = 8;

pub use settings::{ServeError, ServeSettings};

/// Ends a server.
#[derive(Clone)]
pub struct Stop {
    told: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Stop {
    /// What was accepted is durable; connections are closed.
    pub fn stop(&self) {
        self.told.store(true, Ordering::SeqCst);
        let _ = self.waker.wake();
    }
}

/// A server that is bound and not yet serving.
pub struct Server {
    core: Core,
    settings: ServeSettings,
    poll: Poll,
    listener: TcpListener,
    conns: Vec<Option<Conn>>,
    free: Vec<usize>,
    serial: u64,
    syncer: Syncer,
    /// Connections with answers that wait for the log.
    held: Vec<usize>,
    /// Up to where the log was durable when they were last looked at.
    released: u64,
    /// How many of them there were when a sync was last thought of, and how often it was put off.
    seen_held: usize,
    rounds: u32,
    /// It is put off now.
    gathers: bool,
    /// Connections that have something to be sent.
    touched: Vec<usize>,
    hellos: VecDeque<(Time, u64)>,
    /// A connection could not be accepted, and no event tells of it again.
    starved: bool,
    /// One was closed since.
    freed: bool,
    compacting: Option<Compacting>,
    metrics: Arc<Metrics>,
    measured: Time,
    now: Time,
    buffer: Vec<u8>,
    stop: Stop,
}

impl Server {
    /// Reads the log and binds the address.
    pub fn bind(
        address: SocketAddr,
        disk: Arc<dyn Disk>,
        settings: ServeSettings,
        env: Arc<dyn Env>,
    ) -> Result<Self, ServeError> {
        let now = env.now();
        let mut machine = Machine::new(settings.queue, env.random(), now);
        machine.begin_replay();
        let log = Log::open(disk, settings.log, |at, records| {
            machine.replay(at, records)
        })?;
        machine.end_replay(now);
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let mut core = Core::new(machine, log, env, settings.password.clone(), now);
        core.machine.skip_tokens(&mut core.out);
        core.write()?;
        core.log.file().map_or(Ok(()), |file| file.sync())?;
        let durable = core.log.end();
        Ok(Self {
            core,
            settings,
            poll,
            listener,
            conns: Vec::new(),
            free: Vec::new(),
            serial: 1,
            syncer: Syncer::start(waker.clone(), durable)?,
            held: Vec::new(),
            released: 0,
            seen_held: 0,
            rounds: 0,
            gathers: false,
            touched: Vec::new(),
            hellos: VecDeque::new(),
            starved: false,
            freed: false,
            compacting: None,
            metrics: Arc::new(Metrics::new()),
            measured: Time::default(),
            now,
            buffer: vec![0; 256 << 10],
            stop: Stop {
                told: Arc::new(AtomicBool::new(false)),
                waker,
            },
        })
    }

    /// The address, with the port that was chosen if 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The way to end it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// What it counts, for whoever serves it.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Serves until it is stopped, or the disk fails.
    pub fn serve(mut self) -> Result<(), ServeError> {
        let mut events = Events::with_capacity(1_024);
        loop {
            let wait = self.patience();
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.now = self.core.env.now().max(self.now);
            let quiet = events.is_empty();
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    WAKER => {}
                    Token(at) => {
                        if event.is_writable() {
                            self.touched.push(at);
                        }
                        if event.is_readable() || event.is_error() || event.is_read_closed() {
                            self.read(at);
                        }
                    }
                }
            }
            self.turn(quiet)?;
            if self.stop.told.load(Ordering::SeqCst) {
                self.core.write()?;
                let file = self.core.log.file();
                file.map_or(Ok(()), |file| file.sync())?;
                return Ok(());
            }
        }
    }

    fn patience(&self) -> Option<Duration> {
        // What was read while answers were sent has no event of its own.
        let more = !self.touched.is_empty() || self.core.is_dirty() || self.core.out.has_told();
        if self.compacting.is_some() || self.gathers || more {
            return Some(Duration::ZERO);
        }
        let timer = self.core.machine.next_timer();
        let hello = self.hellos.front().map(|(at, _)| *at);
        let next = timer.into_iter().chain(hello).min()?;
        let wait = next.since(self.now).min(Duration::from_secs(1));
        // The poll rounds down, and a timer is not due before its time.
        Some(wait + Duration::from_millis(1))
    }

    /// What follows from what was read: timers, answers to those who wait, the log.
    fn turn(&mut self, quiet: bool) -> Result<(), ServeError> {
        let due = self
            .core
            .machine
            .next_timer()
            .is_some_and(|at| at <= self.now);
        if due {
            self.core.machine.tick(&mut self.core.out, self.now);
        }
        self.close_silent();
        self.answer_waiting();
        self.compact()?;
        self.core.write()?;
        if self.core.log.is_full() {
            self.syncer.wait()?;
            self.core.log.roll()?;
            self.syncer.skip_to(self.core.log.end());
            // The frame that comes next begins in another place.
            self.core.write()?;
        }
        self.syncer.look()?;
        self.release();
        self.send();
        if std::mem::take(&mut self.freed) {
            self.accept()?;
        }
        self.sync(quiet);
        if self.now.since(self.measured) >= Duration::from_millis(500) {
            self.measured = self.now;
            self.core.counters.connections = self.count();
            let bytes = self.core.log.bytes();
            self.metrics
                .measure(&self.core.machine, &self.core.counters, bytes, self.now);
        }
        Ok(())
    }

    /// Begins a sync once nobody has more to say: one for all of them takes no longer than one for each.
    fn sync(&mut self, quiet: bool) {
        let grew = self.held.len() > self.seen_held;
        self.seen_held = self.held.len();
        self.gathers = false;
        // Leases are told of before they are durable; they become so soon, too.
        let unsynced = self.core.log.end() > self.syncer.durable();
        if (self.held.is_empty() && !unsynced) || self.syncer.is_busy() {
            return;
        }
        if !quiet && (grew || self.held.is_empty()) && self.rounds < GATHERING_ROUNDS {
            self.rounds += 1;
            self.gathers = true;
            return;
        }
        self.rounds = 0;
        if let Some(file) = self.core.log.file() {
            self.syncer.begin(file, self.core.log.end());
            self.core.counters.syncs += 1;
        }
    }

    fn count(&self) -> u64 {
        (self.conns.len() - self.free.len()) as u64
    }

    fn accept(&mut self) -> Result<(), ServeError> {
        self.starved = false;
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) =>
                {
                    continue;
                }
                Err(error) => {
                    // Out of file handles, most likely: those who wait are taken when others go.
                    self.starved = true;
                    tracing::warn!(%error, "cannot accept a connection");
                    return Ok(());
                }
            };
            if self.count() as usize >= self.settings.connections_max {
                continue;
            }
            let at = self.free.pop().unwrap_or_else(|| {
                self.conns.push(None);
                self.conns.len() - 1
            });
            let serial = (self.serial << 32) | at as u64;
            self.serial += 1;
            let Ok(mut conn) = Conn::new(stream, serial, self.settings.tls.as_ref()) else {
                self.free.push(at);
                continue;
            };
            let (greeting, line) = greet(self.settings.password.as_ref(), self.core.env.random());
            conn.session.greeting = greeting;
            conn.ready.extend_from_slice(&line);
            let both = Interest::READABLE | Interest::WRITABLE;
            if self
                .poll
                .registry()
                .register(conn.socket(), Token(at), both)
                .is_err()
            {
                self.free.push(at);
                continue;
            }
            self.hellos.push_back((self.now + HELLO_TIME, serial));
            self.conns[at] = Some(conn);
            self.touched.push(at);
            self.core.counters.connections = self.count();
        }
    }

    fn close_silent(&mut self) {
        while let Some((_, serial)) = self
            .hellos
            .front()
            .copied()
            .filter(|(at, _)| *at <= self.now)
        {
            self.hellos.pop_front();
            let index = serial as u32 as usize;
            let conn = self.conns.get(index).and_then(Option::as_ref);
            if conn.is_some_and(|conn| conn.session.conn == serial && !conn.session.ready) {
                self.close(index);
            }
        }
    }

    /// What is durable by now may be said.
    fn release(&mut self) {
        let durable = self.syncer.durable();
        if durable <= self.released {
            return;
        }
        self.released = durable;
        let mut held = std::mem::take(&mut self.held);
        held.retain(|at| {
            let Some(conn) = self.conns.get_mut(*at).and_then(Option::as_mut) else {
                return false;
            };
            let holds = conn.release(durable);
            if !conn.touched {
                conn.touched = true;
                self.touched.push(*at);
            }
            holds
        });
        self.held = held;
    }

    fn send(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for at in touched.drain(..) {
            let Some(conn) = self.conns.get_mut(at).and_then(Option::as_mut) else {
                continue;
            };
            conn.touched = false;
            let sent = conn.send();
            let empty = conn.ready.is_empty() && conn.held.is_empty();
            let over = conn.ends && empty && !conn.stream.wants_write();
            if sent.is_err() || over {
                self.close(at);
                continue;
            }
            conn.stopped = conn.ready.len() + conn.held.len() > UNSENT_MAX;
            if conn.unread && !conn.is_stopped() {
                conn.unread = false;
                self.read(at);
            }
        }
        if self.touched.is_empty() {
            self.touched = touched;
        }
    }

    fn close(&mut self, at: usize) {
        let Some(mut conn) = self.conns.get_mut(at).and_then(Option::take) else {
            return;
        };
        let _ = conn.send();
        let _ = self.poll.registry().deregister(conn.socket());
        self.core.machine.disconnect(self.now, conn.session.who());
        self.free.push(at);
        self.freed |= self.starved;
        self.core.counters.connections = self.count();
    }
}
