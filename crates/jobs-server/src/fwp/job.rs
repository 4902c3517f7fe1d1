//! A job as a client writes it.

use crate::clock;
use crate::json::{BadJson, Scanner, quote, unquote};
use ring::digest::{Context, SHA256};
use std::borrow::Cow;
use stowplan_base::{Duration, Time};
use stowplan_jobs::{NewJob, Policy, Unique, Until, span};

/// A job that was read and not yet judged.
#[derive(Default)]
pub(super) struct ParsedJob<'a> {
    pub(super) jid: Cow<'a, str>,
    kind: Cow<'a, str>,
    queue: Cow<'a, str>,
    args: &'a str,
    at: Cow<'a, str>,
    retry: Option<i32>,
    reserve_s: i64,
    priority: u8,
    custom: Custom<'a>,
    /// What a worker gets, without the braces.
    body: Vec<u8>,
    created: bool,
}

/// What is meant for the server, and not for the worker.
#[derive(Default)]
struct Custom<'a> {
    unique_for: Option<f64>,
    unique_until: Cow<'a, str>,
    expires_at: Cow<'a, str>,
    bid: Cow<'a, str>,
    tenant: Cow<'a, str>,
    policy: Cow<'a, str>,
    key: Cow<'a, str>,
    key_for: Cow<'a, str>,
    track: bool,
    priority: u8,
}

/// Where a value does not fit, as Go says it.
fn wrong(value: &str, field: &str, kind: &str) -> BadJson {
    let found = match value.as_bytes().first() {
        Some(b'"') => "string".to_owned(),
        Some(b'{') => "object".to_owned(),
        Some(b'[') => "array".to_owned(),
        Some(b't' | b'f') => "bool".to_owned(),
        _ if value.contains(['.', 'e', 'E']) => format!("number {value}"),
        _ => "number".to_owned(),
    };
    let field = if field.is_empty() {
        "Go value".to_owned()
    } else {
        format!("Go struct field Job.{field}")
    };
    BadJson(format!("json: cannot unmarshal {found} into {field} of type {kind}").into())
}

impl<'a> ParsedJob<'a> {
    /// Reads one job; the scanner stands where it begins.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, BadJson> {
        let mut job = Self {
            priority: 5,
            ..Self::default()
        };
        if scanner.looks_like() != Some(b'{') {
            let value = scanner.value()?;
            // Go takes null for a job of which nothing is said.
            return if value == "null" {
                Ok(job)
            } else {
                Err(wrong(value, "", "client.Job"))
            };
        }
        let mut first_wrong = None;
        scanner.members(|key, value| {
            if let Err(bad) = job.member(key, value) {
                first_wrong.get_or_insert(bad);
            }
        })?;
        match first_wrong {
            Some(bad) => Err(bad),
            None => Ok(job),
        }
    }

    fn member(&mut self, key: &'a str, value: &'a str) -> Result<(), BadJson> {
        if value == "null" {
            return Ok(());
        }
        let text = |kind| unquote(value).ok_or_else(|| wrong(value, key, kind));
        let int = || value.parse::<i64>().map_err(|_| wrong(value, key, "int"));
        match key {
            "jid" => self.jid = text("string")?,
            "jobtype" => self.kind = text("string")?,
            "queue" => self.queue = text("string")?,
            "at" => self.at = text("string")?,
            "args" if value.starts_with('[') => self.args = value,
            "args" => return Err(wrong(value, key, "[]interface {}")),
            "retry" => {
                self.retry = Some(i32::try_from(int()?).map_err(|_| wrong(value, key, "int"))?)
            }
            "reserve_for" => self.reserve_s = int()?,
            "backtrace" => {
                if int()? != 0 {
                    self.keep(key, value);
                }
            }
            "created_at" => {
                if !text("string")?.is_empty() {
                    self.created = true;
                    self.keep(key, value);
                }
            }
            "enqueued_at" => drop(text("string")?),
            "failure" if !value.starts_with('{') => {
                return Err(wrong(value, key, "client.Failure"));
            }
            "failure" => {}
            "custom" if !value.starts_with('{') => {
                return Err(wrong(value, key, "map[string]interface {}"));
            }
            "custom" => self.custom(value)?,
            "priority" => {
                self.priority = value.parse().unwrap_or(5);
                self.keep(key, value);
            }
            _ => self.keep(key, value),
        }
        Ok(())
    }

    fn keep(&mut self, key: &str, value: &str) {
        self.body.extend_from_slice(b",\"");
        self.body.extend_from_slice(key.as_bytes());
        self.body.extend_from_slice(b"\":");
        self.body.extend_from_slice(value.as_bytes());
    }

    fn custom(&mut self, value: &'a str) -> Result<(), BadJson> {
        let mut custom = Custom::default();
        let mut members = 0;
        Scanner::new(value).members(|key, value| {
            members += 1;
            let text = || unquote(value).unwrap_or_default();
            match key {
                "unique_for" => custom.unique_for = value.parse().ok(),
                "unique_until" => custom.unique_until = text(),
                "expires_at" => custom.expires_at = text(),
                "bid" => custom.bid = text(),
                "tenant" => custom.tenant = text(),
                "retry_policy" => custom.policy = text(),
                "idempotency_key" => custom.key = text(),
                "idempotency_for" => custom.key_for = text(),
                "track" => custom.track = !matches!(value, "0" | "false" | "null"),
                "priority" => custom.priority = value.parse().unwrap_or(0),
                _ => {}
            }
        })?;
        self.custom = custom;
        if members > 0 {
            self.keep("custom", value);
        }
        Ok(())
    }

    /// Says what is wrong with it, or completes it.
    pub(super) fn complete(&mut self, now: Time) -> Result<NewJob<'_>, String> {
        if self.jid.len() < 8 {
            return Err("jobs must have a reasonable jid parameter".to_owned());
        }
        if self.kind.is_empty() {
            return Err("jobs must have a jobtype parameter".to_owned());
        }
        if self.args.is_empty() {
            return Err("jobs must have an args parameter".to_owned());
        }
        if self.reserve_s > 86_400 {
            return Err("jobs cannot be reserved for more than one day".to_owned());
        }
        let at = match &*self.at {
            "" => None,
            at => Some(clock::parse(at).ok_or_else(|| bad_time(at))?),
        };
        if self.queue.is_empty() {
            self.queue = Cow::Borrowed("default");
        }
        if !is_queue_name(&self.queue) {
            let name = go_quote(&self.queue);
            return Err(format!(
                r"cannot get {name} queue: queue names must match \A[a-zA-Z0-9._-]+\z"
            ));
        }
        if self.jid.len() > 255 || self.kind.len() > 1_000 {
            return Err("jid and jobtype must be shorter".to_owned());
        }
        Policy::parse(if self.custom.policy.is_empty() {
            "faktory"
        } else {
            &self.custom.policy
        })?;
        let expires = match &*self.custom.expires_at {
            "" => None,
            at => Some(clock::parse(at).ok_or_else(|| format!("invalid expires_at: {at:?}"))?),
        };
        let unique = self.unique(now, at)?;
        self.fill(now);
        let custom = &self.custom;
        Ok(NewJob {
            jid: &self.jid,
            queue: &self.queue,
            kind: &self.kind,
            tenant: &custom.tenant,
            priority: if custom.priority > 0 {
                custom.priority
            } else {
                self.priority
            },
            retry: self.retry.unwrap_or(25),
            reserve_s: u32::try_from(self.reserve_s).unwrap_or(0),
            at,
            expires,
            unique,
            batch: if custom.bid.starts_with('\u{1}') {
                ""
            } else {
                &custom.bid
            },
            policy: &custom.policy,
            tracked: custom.track,
            body: &self.body,
        })
    }

    fn unique(&self, now: Time, at: Option<Time>) -> Result<Option<Unique>, String> {
        let custom = &self.custom;
        let (parts, until, window) = if !custom.key.is_empty() {
            let window = if custom.key_for.is_empty() {
                "1d"
            } else {
                &custom.key_for
            };
            (["", "", &*custom.key], Until::Expiry, span(window)?)
        } else if let Some(seconds) = custom.unique_for.filter(|seconds| *seconds > 0.0) {
            let until = match &*custom.unique_until {
                "" | "success" => Until::Success,
                "start" => Until::Start,
                other => return Err(format!("invalid unique_until: {other:?}")),
            };
            let window = Duration::from_nanos((seconds * 1e9) as i64);
            ([&*self.kind, &*self.queue, self.args], until, window)
        } else {
            return Ok(None);
        };
        let mut digest = Context::new(&SHA256);
        for part in parts {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let sum = digest.finish();
        let mut key = [0; 16];
        key.copy_from_slice(&sum.as_ref()[..16]);
        let ends = at.unwrap_or(now).max(now) + window;
        Ok(Some(Unique { key, until, ends }))
    }

    /// What the server adds.
    fn fill(&mut self, now: Time) {
        let rest = std::mem::take(&mut self.body);
        let mut body = Vec::with_capacity(rest.len() + self.args.len() + 180);
        body.extend_from_slice(b"\"jid\":");
        quote(&mut body, &self.jid);
        body.extend_from_slice(b",\"queue\":");
        quote(&mut body, &self.queue);
        body.extend_from_slice(b",\"jobtype\":");
        quote(&mut body, &self.kind);
        body.extend_from_slice(b",\"args\":");
        body.extend_from_slice(self.args.as_bytes());
        if !self.created {
            body.extend_from_slice(b",\"created_at\":\"");
            clock::write(&mut body, now);
            body.push(b'"');
        }
        if !self.at.is_empty() {
            body.extend_from_slice(b",\"at\":");
            quote(&mut body, &self.at);
        }
        if self.reserve_s != 0 {
            body.extend_from_slice(format!(",\"reserve_for\":{}", self.reserve_s).as_bytes());
        }
        body.extend_from_slice(format!(",\"retry\":{}", self.retry.unwrap_or(25)).as_bytes());
        body.extend_from_slice(&rest);
        self.body = body;
    }

    /// For a periodic entry: the jid and the times are filled in at each launch.
    pub(super) fn as_template(&mut self) {
        self.jid = Cow::Borrowed("........");
        self.created = true;
        self.at = Cow::Borrowed("");
    }
}

pub(super) fn is_queue_name(name: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= 1_000 && name.bytes().all(part)
}

fn bad_time(at: &str) -> String {
    let quoted = go_quote(at);
    format!(
        "invalid timestamp for 'at': {quoted}: parsing time {quoted} as \
         \"2006-01-02T15:04:05.999999999Z07:00\": cannot parse {quoted} as \"2006\""
    )
}

/// As Go's `%q` writes a text.
fn go_quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c if c < ' ' || c == '\u{7f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
