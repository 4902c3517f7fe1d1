//! ACK, FAIL, BEAT and TRACK: what a worker says.

use super::verbs::{Answer, Core, Session};
use super::{OK, bulk, error};
use crate::clock;
use crate::json::{BadJson, Scanner, quote, unquote};
use std::borrow::Cow;
use stowplan_base::Time;
use stowplan_jobs::{Ack, Failed, WorkerState};

const ERRTYPE_MAX: usize = 100;
const MESSAGE_MAX: usize = 1_000;
const BACKTRACE_MAX: usize = 50;

fn cut(text: &str, max: usize) -> &str {
    let text = text.trim();
    let text = if text.is_empty() { "unknown" } else { text };
    front(text, max)
}

/// So many bytes of a text, or a little less, so that no character is cut.
fn front(text: &str, max: usize) -> &str {
    let ends = (0..=max.min(text.len())).rev();
    let end = ends.into_iter().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn wrong(value: &str) -> BadJson {
    BadJson(format!("unexpected value {value}").into())
}

#[derive(Default)]
struct Fail<'a> {
    jid: Cow<'a, str>,
    token: Option<u64>,
    errtype: Cow<'a, str>,
    message: Cow<'a, str>,
    backtrace: Vec<&'a str>,
}

impl<'a> Fail<'a> {
    fn read(json: &'a str) -> Result<Self, BadJson> {
        let mut fail = Self::default();
        let mut bad = None;
        let mut scanner = Scanner::new(json);
        if scanner.looks_like() != Some(b'{') {
            return Err(wrong(scanner.value()?));
        }
        scanner.members(|key, value| {
            let text = unquote(value);
            match (key, text) {
                _ if value == "null" => {}
                ("jid", Some(text)) => fail.jid = text,
                ("token" | "lease", Some(text)) => fail.token = text.parse().ok(),
                ("errtype", Some(text)) => fail.errtype = text,
                ("message", Some(text)) => fail.message = text,
                ("backtrace", None) if value.starts_with('[') => {
                    let mut lines = Scanner::new(value);
                    let read = lines.elements(|at| {
                        let line = at.value()?;
                        if !line.starts_with('"') {
                            return Err(wrong(line));
                        }
                        if fail.backtrace.len() < BACKTRACE_MAX {
                            fail.backtrace.push(line);
                        }
                        Ok(())
                    });
                    bad = bad.take().or(read.err());
                }
                ("jid" | "token" | "lease" | "errtype" | "message" | "backtrace", _) => {
                    bad = bad.take().or(Some(wrong(value)));
                }
                _ => {}
            }
        })?;
        scanner.end()?;
        bad.map_or(Ok(fail), Err)
    }

    /// What is kept of it: the inside of a JSON object.
    fn error(&self) -> Vec<u8> {
        let mut error = b"\"message\":".to_vec();
        quote(&mut error, cut(&self.message, MESSAGE_MAX));
        error.extend_from_slice(b",\"errtype\":");
        quote(&mut error, cut(&self.errtype, ERRTYPE_MAX));
        if !self.backtrace.is_empty() {
            error.extend_from_slice(b",\"backtrace\":[");
            error.extend_from_slice(self.backtrace.join(",").as_bytes());
            error.push(b']');
        }
        error
    }
}

/// The same for errors that differ in numbers only.
pub(super) fn fingerprint(errtype: &str, message: &str) -> u64 {
    let plain = message.bytes().filter(|byte| !byte.is_ascii_digit());
    let all = errtype.bytes().chain([0]).chain(plain);
    // FNV-1a: it says the same after a restart.
    all.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Core {
    pub(super) fn ack(
        &mut self,
        session: &Session,
        json: &str,
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        let mut jid = None;
        let mut token = None;
        let mut bad = false;
        let mut scanner = Scanner::new(json);
        let object = scanner.looks_like() == Some(b'{');
        let read = if object {
            scanner.members(|key, value| match (key, unquote(value)) {
                ("jid", text @ Some(_)) => jid = text,
                ("token" | "lease", Some(text)) => token = text.parse().ok(),
                (_, text) => bad |= text.is_none() && value != "null",
            })
        } else {
            Err(wrong(json))
        };
        let (false, Ok(()), Some(jid)) = (bad, read.and_then(|()| scanner.end()), jid) else {
            error(reply, &format!("invalid ACK {json}"));
            return Answer::Now;
        };
        let ack = self
            .machine
            .ack(&mut self.out, now, session.who(), &jid, token);
        match ack {
            Ack::Fenced if token.is_some() => error(reply, &format!("lease expired {jid}")),
            _ => reply.extend_from_slice(OK),
        }
        Answer::Durable
    }

    pub(super) fn fail(
        &mut self,
        session: &Session,
        json: &str,
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        let fail = match Fail::read(json) {
            Ok(fail) => fail,
            Err(_) => {
                error(reply, &format!("invalid FAIL {json}"));
                return Answer::Now;
            }
        };
        let kept = fail.error();
        let failed = Failed {
            error: &kept,
            fingerprint: fingerprint(
                cut(&fail.errtype, ERRTYPE_MAX),
                cut(&fail.message, MESSAGE_MAX),
            ),
        };
        let who = session.who();
        match self
            .machine
            .fail(&mut self.out, now, who, &fail.jid, fail.token, &failed)
        {
            Ack::Done => reply.extend_from_slice(OK),
            Ack::Fenced if fail.token.is_some() => {
                error(reply, &format!("lease expired {}", fail.jid))
            }
            Ack::Fenced | Ack::Unknown => error(reply, &format!("Job not found {}", fail.jid)),
        }
        Answer::Durable
    }

    pub(super) fn beat(&mut self, json: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let (mut wid, mut state) = (None, None);
        let mut scanner = Scanner::new(json);
        let object = scanner.looks_like() == Some(b'{');
        let read = object.then(|| {
            scanner.members(|key, value| match key {
                "wid" => wid = unquote(value),
                "current_state" => {
                    state = match unquote(value).as_deref() {
                        Some("quiet") => Some(WorkerState::Quiet),
                        Some("terminate") => Some(WorkerState::Terminate),
                        _ => None,
                    }
                }
                _ => {}
            })
        });
        if !matches!(read, Some(Ok(()))) {
            error(reply, &format!("invalid BEAT {json}"));
            return Answer::Now;
        }
        let wid = wid.unwrap_or_default();
        match self.machine.beat(now, &wid, state) {
            None => error(reply, &format!("unknown worker {wid}")),
            Some(WorkerState::Running) => reply.extend_from_slice(OK),
            Some(state) => bulk(
                reply,
                format!("{{\"state\":\"{}\"}}", state.as_str()).as_bytes(),
            ),
        }
        Answer::Now
    }

    pub(super) fn track(
        &mut self,
        session: &Session,
        rest: &str,
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "GET" => {
                self.track_get(rest.trim(), reply);
                Answer::Now
            }
            "SET" => self.track_set(session, rest, now, reply),
            _ => {
                error(reply, &format!("invalid TRACK {verb}"));
                Answer::Now
            }
        }
    }

    fn track_get(&self, jid: &str, reply: &mut Vec<u8>) {
        let mut json = b"{\"jid\":".to_vec();
        quote(&mut json, jid);
        match self.machine.progress(jid) {
            None => json.extend_from_slice(
                b",\"percent\":0,\"desc\":\"\",\"state\":\"unknown\",\"updated_at\":\"\"",
            ),
            Some(track) => {
                json.extend_from_slice(
                    format!(",\"percent\":{},\"desc\":", track.percent).as_bytes(),
                );
                quote(&mut json, &track.desc);
                let rest = format!(
                    ",\"state\":\"{}\",\"updated_at\":\"{}\"",
                    track.state.as_str(),
                    clock::text(track.updated)
                );
                json.extend_from_slice(rest.as_bytes());
            }
        }
        json.push(b'}');
        bulk(reply, &json);
    }

    fn track_set(
        &mut self,
        session: &Session,
        json: &str,
        now: Time,
        reply: &mut Vec<u8>,
    ) -> Answer {
        let (mut jid, mut desc) = (Cow::Borrowed(""), Cow::Borrowed(""));
        let (mut percent, mut until, mut token) = (0, None, None);
        let mut scanner = Scanner::new(json);
        let object = scanner.looks_like() == Some(b'{');
        let read = object.then(|| {
            scanner.members(|key, value| match key {
                "jid" => jid = unquote(value).unwrap_or_default(),
                "desc" => desc = unquote(value).unwrap_or_default(),
                "percent" => percent = value.parse().unwrap_or(0),
                "reserve_until" => until = unquote(value).and_then(|text| clock::parse(&text)),
                "token" | "lease" => token = unquote(value).and_then(|text| text.parse().ok()),
                _ => {}
            })
        });
        if !matches!(read, Some(Ok(()))) || jid.is_empty() {
            error(reply, &format!("invalid TRACK SET {json}"));
            return Answer::Now;
        }
        match self.machine.has_lease(session.who(), &jid, token) {
            Ack::Done => {}
            // Who only tells of progress needs no lease of a job that nobody has.
            Ack::Unknown if until.is_none() => {}
            Ack::Fenced if token.is_some() => {
                error(reply, &format!("lease expired {jid}"));
                return Answer::Now;
            }
            Ack::Unknown | Ack::Fenced => {
                error(reply, &format!("Job not found {jid}"));
                return Answer::Now;
            }
        }
        if let Some(until) = until {
            let (who, until) = (session.who(), until.max(now));
            self.machine.extend(&mut self.out, who, &jid, token, until);
        }
        let desc = cut_desc(&desc);
        if !self.machine.set_progress(now, &jid, percent, desc) && until.is_none() {
            error(reply, &format!("Job not found {jid}"));
            return Answer::Now;
        }
        reply.extend_from_slice(OK);
        Answer::Durable
    }
}

fn cut_desc(desc: &str) -> &str {
    front(desc, MESSAGE_MAX)
}
