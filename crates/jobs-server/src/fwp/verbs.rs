//! From a line to what is done, and what is answered.

use super::hello::{Greeting, Hello, Password, Refusal, hello};
use super::job::{ParsedJob, is_queue_name};
use super::{NOTHING, OK, bulk, bulk_head, compose, error, refusal};
use crate::json::{Scanner, quote};
use crate::log::{FRAME_HEAD, Log};
use std::io;
use std::sync::Arc;
use stowplan_base::Time;
use stowplan_env::Env;
use stowplan_jobs::{Delivery, Fetched, Machine, Out, Place, Who};

/// How many jobs a PUSHB may have: they are in memory, parsed, before the first one is taken.
const PUSHB_MAX: usize = 100_000;

/// When an answer may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// As soon as all before it were.
    Now,
    /// When all that was written down so far is durable.
    Durable,
    /// There is none yet: a FETCH waits.
    Later,
    /// The connection ends; what was answered is sent first.
    End,
}

/// What is known of a connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) conn: u64,
    pub(crate) worker: Option<u32>,
    pub(crate) greeting: Greeting,
    pub(crate) ready: bool,
    pub(crate) tokens: bool,
}

impl Session {
    pub(crate) fn who(&self) -> Who {
        Who {
            conn: self.conn,
            worker: self.worker,
        }
    }
}

/// What the server counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commands: u64,
    pub(crate) connections: u64,
    pub(crate) pushed: u64,
    pub(crate) fetched: u64,
    pub(crate) syncs: u64,
}

/// The queue with its log: what the owning thread has.
pub(crate) struct Core {
    pub(crate) machine: Machine,
    pub(crate) out: Out,
    pub(crate) log: Log,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) password: Option<Password>,
    pub(crate) counters: Counters,
    pub(crate) began: Time,
    scratch: Vec<u8>,
    failure: Vec<u8>,
}

impl Core {
    pub(crate) fn new(
        machine: Machine,
        log: Log,
        env: Arc<dyn Env>,
        password: Option<Password>,
        began: Time,
    ) -> Self {
        let mut core = Self {
            machine,
            out: Out::default(),
            log,
            env,
            password,
            counters: Counters::default(),
            began,
            scratch: Vec::new(),
            failure: Vec::new(),
        };
        core.fresh();
        core
    }

    fn fresh(&mut self) {
        self.out.log.clear();
        self.out.log.resize(FRAME_HEAD, 0);
        self.out.base = self.log.end();
    }

    /// Whether something has to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        self.out.log.len() > FRAME_HEAD
    }

    /// Writes what was decided; it is not durable yet.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if self.is_dirty() {
            self.log.write(&mut self.out.log)?;
        }
        if self.out.log.capacity() > 4 << 20 {
            self.out.log = Vec::new();
        }
        self.fresh();
        Ok(())
    }

    /// Where the log will end when all that was decided is written.
    pub(crate) fn reached(&self) -> u64 {
        self.out.base + self.out.log.len() as u64
    }

    /// Whether something that was decided is not durable, if the log is up to there.
    pub(crate) fn is_pending(&self, durable: u64) -> bool {
        self.is_dirty() || self.log.end() > durable
    }

    /// About how many bytes of the log are about jobs that are not over.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.machine.bytes()
    }

    /// Writes jobs again, as they are.
    pub(crate) fn rewrite(&mut self, jobs: &[(u32, u64)]) -> io::Result<()> {
        for (slot, id) in jobs {
            let (log, out) = (&mut self.log, &mut self.out);
            let mut read = |place: Place| {
                let mut bytes = Vec::new();
                log.read(place, &mut bytes).ok().map(|()| bytes)
            };
            let rewritten = self.machine.rewrite(out, *slot, *id, &mut read);
            rewritten.map_err(io::Error::other)?;
        }
        Ok(())
    }

    pub(crate) fn rewrite_rest(&mut self, before: u64) {
        self.machine.rewrite_rest(&mut self.out, before);
    }

    /// Up to where the log has to be durable for all that was decided to be so.
    pub(crate) fn durable_from(&self) -> u64 {
        if self.is_dirty() {
            self.reached()
        } else {
            self.log.end()
        }
    }

    /// What the log has at a place, written or not.
    pub(crate) fn read(&mut self, place: Place, to: &mut Vec<u8>) -> io::Result<()> {
        match place.at.checked_sub(self.out.base) {
            Some(from) => {
                let from = from as usize;
                let bytes = self.out.log.get(from..from + place.len as usize);
                to.extend_from_slice(bytes.ok_or_else(|| io::Error::other("no such record"))?);
                Ok(())
            }
            None => self.log.read(place, to),
        }
    }

    /// What a line of a client leads to.
    pub(crate) fn line(
        &mut self,
        session: &mut Session,
        line: &[u8],
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        if !session.ready {
            return self.hello(session, line, now, reply);
        }
        self.counters.commands += 1;
        let space = line.iter().position(|byte| *byte == b' ');
        let verb = &line[..space.unwrap_or(line.len())];
        let rest = space.map(|at| &line[at + 1..]);
        if verb == b"END" {
            return Answer::End;
        }
        let Ok(text) = rest.map(std::str::from_utf8).transpose() else {
            error(reply, "invalid JSON: the text is not UTF-8");
            return Answer::Now;
        };
        match (verb, text) {
            (b"PUSH", Some(json)) => self.push(json, now, reply),
            (b"FETCH", queues) => self.fetch(session, queues.unwrap_or(""), now, reply),
            (b"ACK", Some(json)) => self.ack(session, json, now, reply),
            (b"FAIL", Some(json)) => self.fail(session, json, now, reply),
            (b"PUSHB", Some(json)) => self.push_all(json, now, reply),
            (b"BEAT", Some(json)) => self.beat(json, now, reply),
            (b"INFO", _) => self.info(now, reply),
            (b"FLUSH", _) => {
                self.machine.flush(&mut self.out);
                reply.extend_from_slice(OK);
                Answer::Durable
            }
            (b"QUEUE", Some(rest)) => self.queue(rest, now, reply),
            (b"MUTATE", Some(json)) => self.mutate(json, now, reply),
            (b"BATCH", Some(rest)) => self.batch(rest, now, reply),
            (b"TRACK", Some(rest)) => self.track(session, rest, now, reply),
            (b"CRON", Some(rest)) => self.cron(rest, now, reply),
            (b"STOWPLAN", Some(json)) => self.admin(json, now, reply),
            (
                b"PUSH" | b"PUSHB" | b"ACK" | b"FAIL" | b"BEAT" | b"QUEUE" | b"MUTATE" | b"BATCH"
                | b"TRACK" | b"CRON" | b"STOWPLAN",
                None,
            ) => {
                error(reply, "internal error");
                Answer::Now
            }
            _ => {
                let verb = String::from_utf8_lossy(&verb[..verb.len().min(100)]);
                error(reply, &format!("unknown command {verb}"));
                Answer::Now
            }
        }
    }

    fn hello(
        &mut self,
        session: &mut Session,
        line: &[u8],
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        match hello(line, &session.greeting, self.password.as_ref()) {
            Ok(Hello { wid, about, tokens }) => {
                session.ready = true;
                session.tokens = tokens;
                session.worker = wid.map(|wid| self.machine.connect(now, &wid, &about));
                reply.extend_from_slice(OK);
                Answer::Now
            }
            Err(Refusal::WrongPassword) => {
                error(reply, "Invalid password");
                Answer::End
            }
            Err(Refusal::Silent) => Answer::End,
        }
    }

    fn push(&mut self, json: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let mut scanner = Scanner::new(json);
        let parsed = ParsedJob::read(&mut scanner).and_then(|job| scanner.end().map(|()| job));
        let mut job = match parsed {
            Ok(job) => job,
            Err(bad) => {
                error(reply, &format!("invalid JSON: {bad}"));
                return Answer::Now;
            }
        };
        match self.take(&mut job, now) {
            Ok(()) => reply.extend_from_slice(OK),
            Err(Complaint { unique: true, text }) => refusal(reply, "NOTUNIQUE", &text),
            Err(complaint) => error(reply, &complaint.text),
        }
        Answer::Durable
    }

    fn take(&mut self, job: &mut ParsedJob<'_>, now: Time) -> Result<(), Complaint> {
        let new = job.complete(now).map_err(|text| Complaint {
            unique: false,
            text,
        })?;
        match self.machine.push(&mut self.out, now, &new) {
            Ok(()) => {
                self.counters.pushed += 1;
                Ok(())
            }
            Err(why) => {
                let unique = matches!(why, stowplan_jobs::Error::NotUnique { .. });
                Err(Complaint {
                    unique,
                    text: why.to_string(),
                })
            }
        }
    }

    fn push_all(&mut self, json: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let mut jobs = Vec::new();
        let mut many = false;
        let mut scanner = Scanner::new(json);
        let read = match scanner.looks_like() {
            Some(b'[') => scanner.elements(|scanner| {
                many = jobs.len() >= PUSHB_MAX;
                if many {
                    return Err(crate::json::BadJson("".into()));
                }
                jobs.push(ParsedJob::read(scanner)?);
                Ok(())
            }),
            _ => match scanner.value() {
                Ok("null") => Ok(()),
                Ok(_) => Err(crate::json::BadJson(
                    "json: cannot unmarshal into Go value of type []client.Job".into(),
                )),
                Err(bad) => Err(bad),
            },
        };
        if let Err(bad) = read.and_then(|()| scanner.end()) {
            let text = match many {
                true => format!("PUSHB takes at most {PUSHB_MAX} jobs"),
                false => format!("invalid JSON: {bad}"),
            };
            error(reply, &text);
            return Answer::Now;
        }
        let mut refused = b"{".to_vec();
        for mut job in jobs {
            let Err(complaint) = self.take(&mut job, now) else {
                continue;
            };
            if refused.len() > 1 {
                refused.push(b',');
            }
            quote(&mut refused, &job.jid);
            refused.push(b':');
            quote(&mut refused, &complaint.text);
        }
        refused.push(b'}');
        bulk(reply, &refused);
        Answer::Durable
    }

    fn fetch(&mut self, session: &Session, queues: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let names = queues.split_ascii_whitespace();
        if names.clone().next().is_none() {
            error(reply, "must call fetch with at least one queue");
            return Answer::Now;
        }
        let names = names.filter(|name| is_queue_name(name));
        match self.machine.fetch(&mut self.out, now, session.who(), names) {
            Fetched::Waits => Answer::Later,
            Fetched::Delivered => {
                if let Some(delivery) = self.out.delivered.pop() {
                    self.deliver(session, &delivery, reply);
                }
                Answer::Now
            }
        }
    }

    /// Writes the job of a FETCH.
    pub(crate) fn deliver(&mut self, session: &Session, delivery: &Delivery, reply: &mut Vec<u8>) {
        let mut record = std::mem::take(&mut self.scratch);
        let mut failure = std::mem::take(&mut self.failure);
        record.clear();
        failure.clear();
        let read = self.read(delivery.job, &mut record);
        let read = read.and_then(|()| match delivery.failure {
            Some(place) => self.read(place, &mut failure),
            None => Ok(()),
        });
        let failed = delivery.failure.map(|_| &*failure);
        let token = session.tokens.then_some(delivery.token);
        let mut json = Vec::with_capacity(record.len() + 128);
        let queued = Some(delivery.queued);
        let composed = compose::job(&mut json, &record, failed, queued, token);
        match (read, composed) {
            (Ok(()), Ok(())) => {
                bulk_head(reply, json.len());
                reply.extend_from_slice(&json);
                reply.extend_from_slice(b"\r\n");
                self.counters.fetched += 1;
            }
            (read, _) => {
                tracing::error!(?read, place = ?delivery.job, "a job cannot be read");
                reply.extend_from_slice(NOTHING);
            }
        }
        if record.capacity() < 1 << 20 {
            self.scratch = record;
        }
        self.failure = failure;
    }

    fn queue(&mut self, rest: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let mut words = rest.split_ascii_whitespace();
        let subcommand = words.next().unwrap_or("").to_ascii_uppercase();
        let names: Vec<&str> = words.collect();
        match (&*subcommand, names.is_empty()) {
            ("LATENCY", _) => return self.latency(&names, now, reply),
            ("PAUSE", false) => drop(self.machine.pause(&mut self.out, &names)),
            ("RESUME", false) => drop(self.machine.resume(&mut self.out, now, &names)),
            ("REMOVE", false) => self.machine.remove_queues(&mut self.out, now, &names),
            ("PAUSE" | "RESUME" | "REMOVE" | "", _) => {
                error(reply, "internal error");
                return Answer::Now;
            }
            _ => {
                error(reply, &format!("no such QUEUE subcommand: {subcommand}"));
                return Answer::Now;
            }
        }
        reply.extend_from_slice(OK);
        Answer::Durable
    }

    fn latency(&self, names: &[&str], now: Time, reply: &mut Vec<u8>) -> Answer {
        if names.contains(&"*") {
            error(reply, "QUEUE LATENCY does not support wildcards");
            return Answer::Now;
        }
        let mut json = b"{".to_vec();
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                continue;
            }
            if json.len() > 1 {
                json.push(b',');
            }
            quote(&mut json, name);
            let queue = self.machine.queue(name, now);
            let seconds = queue.map_or(0.0, |queue| queue.latency.as_secs_f64());
            json.extend_from_slice(format!(":{seconds}").as_bytes());
        }
        json.push(b'}');
        bulk(reply, &json);
        Answer::Now
    }
}

struct Complaint {
    unique: bool,
    text: String,
}
