//! Structured logs: one line per event, as text or as JSON, on standard error.

use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use stowplan_env::Time;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// How lines look. kube-scheduler's `--logging-format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// `2026-08-01T12:00:00.000000Z INFO stowplan_scheduler: became leader lease="x"`.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// Writes what happens. Installed once per process.
pub struct Logs {
    format: LogFormat,
    most: Level,
    spans: AtomicU64,
}

impl Logs {
    /// Logs as detailed as kube-scheduler's `-v`: from 4 on what helps to find mistakes, from 6 on
    /// everything.
    pub fn new(format: LogFormat, verbosity: u8) -> Self {
        let most = match verbosity {
            0..4 => Level::INFO,
            4..6 => Level::DEBUG,
            6.. => Level::TRACE,
        };
        Self {
            format,
            most,
            spans: AtomicU64::new(1),
        }
    }

    /// Makes these the logs of the process; does nothing if there are some already.
    pub fn install(self) {
        let _ = tracing::subscriber::set_global_default(self);
    }

    fn line(&self, level: Level, target: &str, fields: &Fields, now: SystemTime) -> String {
        match self.format {
            LogFormat::Text => {
                let mut line = format!("{} {level:>5} {target}:", timestamp(now));
                if let Some(message) = &fields.message {
                    let _ = write!(line, " {message}");
                }
                for (name, value) in &fields.others {
                    let _ = write!(line, " {name}={value}");
                }
                line + "\n"
            }
            LogFormat::Json => {
                let mut object = Map::new();
                object.insert("ts".to_owned(), timestamp(now).into());
                let level = level.as_str().to_ascii_lowercase();
                object.insert("level".to_owned(), level.into());
                object.insert("target".to_owned(), target.into());
                let message = fields.message.clone().unwrap_or_default();
                object.insert("msg".to_owned(), message.into());
                object.extend(fields.others.clone());
                Value::Object(object).to_string() + "\n"
            }
        }
    }
}

impl Subscriber for Logs {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Libraries tell much; their warnings are enough.
        let is_ours = metadata.target().starts_with("stowplan");
        let most = if is_ours { self.most } else { Level::WARN };
        *metadata.level() <= most
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let line = self.line(
            *metadata.level(),
            metadata.target(),
            &fields,
            UNIX_EPOCH + stowplan_env::wall_clock().since(Time::default()),
        );
        // There is nobody to tell if that fails.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields {
    message: Option<String>,
    others: Map<String, Value>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(message)) => self.message = Some(message),
            (name, value) => drop(self.others.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }
}

/// RFC 3339 in UTC, with microseconds.
fn timestamp(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_civil() {
        let at = |seconds, micros: u32| UNIX_EPOCH + Duration::new(seconds, micros * 1_000);
        assert_eq!(timestamp(at(0, 0)), "1970-01-01T00:00:00.000000Z");
        let leap = at(951_782_399, 5);
        assert_eq!(timestamp(leap), "2000-02-28T23:59:59.000005Z");
        assert_eq!(timestamp(at(951_782_400, 0)), "2000-02-29T00:00:00.000000Z");
        assert_eq!(
            timestamp(at(1_785_542_400, 0)),
            "2026-08-01T00:00:00.000000Z"
        );
    }

    #[test]
    fn lines_are_structured() {
        let mut fields = Fields {
            message: Some("became leader".to_owned()),
            ..Fields::default()
        };
        fields.others.insert("lease".to_owned(), "a \"b\"".into());
        fields.others.insert("n".to_owned(), 3.into());
        let line = |format| {
            let logs = Logs::new(format, 0);
            logs.line(Level::INFO, "stowplan", &fields, UNIX_EPOCH)
        };
        assert_eq!(
            line(LogFormat::Text),
            "1970-01-01T00:00:00.000000Z  INFO stowplan: became leader lease=\"a \\\"b\\\"\" n=3\n"
        );
        let json: Value = serde_json::from_str(&line(LogFormat::Json)).unwrap();
        assert_eq!(json["msg"], "became leader");
        assert_eq!(
            (&json["lease"], &json["level"]),
            (&"a \"b\"".into(), &"info".into())
        );
    }

    #[test]
    fn verbosity_is_that_of_kube_scheduler() {
        assert_eq!(Logs::new(LogFormat::Text, 2).most, Level::INFO);
        assert_eq!(Logs::new(LogFormat::Text, 4).most, Level::DEBUG);
        assert_eq!(Logs::new(LogFormat::Text, 10).most, Level::TRACE);
    }
}
