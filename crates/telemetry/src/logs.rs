//! Structured logs: one line per event, as text or as JSON, on standard error.

use serde_json::{Map, Value};
use std::fmt;
use std::io;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

/// How lines look. kube-scheduler's `--logging-format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// `2026-08-01T12:00:00.000000Z  INFO stowplan_scheduler: became leader lease="x"`.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// Writes what happens. Installed once per process.
pub struct Logs {
    format: LogFormat,
    most: LevelFilter,
}

impl Logs {
    /// Logs as detailed as kube-scheduler's `-v`: from 4 on what helps to find mistakes, from 6 on
    /// everything.
    pub fn new(format: LogFormat, verbosity: u8) -> Self {
        let most = match verbosity {
            0..4 => LevelFilter::INFO,
            4..6 => LevelFilter::DEBUG,
            6.. => LevelFilter::TRACE,
        };
        Self { format, most }
    }

    /// Makes these the logs of the process; does nothing if there are some already.
    pub fn install(self) {
        let _ = tracing::dispatcher::set_global_default(self.to(io::stderr));
    }

    fn to<W>(&self, writer: W) -> Dispatch
    where
        W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
    {
        // Libraries tell much; their warnings are enough.
        let filter = Targets::new()
            .with_default(LevelFilter::WARN)
            .with_target("stowplan", self.most);
        let lines = layer().with_writer(writer).with_ansi(false);
        match self.format {
            LogFormat::Text => {
                let lines = lines.fmt_fields(format::debug_fn(write_field).delimited(" "));
                Dispatch::new(Registry::default().with(lines.with_filter(filter)))
            }
            LogFormat::Json => {
                let lines = lines.event_format(Json);
                Dispatch::new(Registry::default().with(lines.with_filter(filter)))
            }
        }
    }
}

/// Writes a field of a line of text. Whatever a value holds, it stays on its line and in its field.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let text = format!("{value:?}");
    let name = field.name();
    let is_plain = !text.contains(char::is_control);
    let is_word = !text.contains([' ', '"', '=']) || text.len() > 1 && text.starts_with('"');
    match (name, is_plain) {
        ("message", true) => write!(writer, "{text}"),
        ("message", false) => write!(writer, "{text:?}"),
        (_, true) if is_word => write!(writer, "{name}={text}"),
        _ => write!(writer, "{name}={text:?}"),
    }
}

/// One JSON object per event, with the keys that Kubernetes' components have; those of
/// tracing-subscriber's own JSON are fixed.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        for (key, value) in [
            ("ts", time),
            ("level", metadata.level().as_str().to_ascii_lowercase()),
            ("target", metadata.target().to_owned()),
            ("msg", String::new()),
        ] {
            fields.0.insert(key.to_owned(), value.into());
        }
        event.record(&mut fields);
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        let key = match field.name() {
            "message" => "msg",
            name => name,
        };
        self.0.insert(key.to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that are logged, without their times.
    fn logged(format: LogFormat, verbosity: u8, work: impl FnOnce()) -> Vec<String> {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let dispatch = Logs::new(format, verbosity).to(move || writer.clone());
        tracing::dispatcher::with_default(&dispatch, work);
        let bytes = buffer.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn all() {
        let error = io::Error::other("no \"way\"\n2026-08-01T12:00:00.000000Z  INFO forged");
        tracing::info!(target: "stowplan", lease = "a \"b\"", n = 3, who = %"me", "became leader");
        tracing::warn!(target: "stowplan_scheduler", %error, "failed");
        tracing::debug!(target: "stowplan_scheduler", "a detail");
        tracing::trace!(target: "stowplan_scheduler", "everything");
        tracing::info!(target: "hyper", "a connection");
        tracing::warn!(target: "hyper", "a broken connection");
    }

    #[test]
    fn lines_of_text_are_structured() {
        let lines = logged(LogFormat::Text, 0, all);
        let (time, first) = lines[0].split_at("2026-08-01T12:00:00.000000Z".len());
        assert!(time.ends_with('Z') && time.contains('T'), "{time}");
        assert_eq!(
            first,
            "  INFO stowplan: became leader lease=\"a \\\"b\\\"\" n=3 who=me"
        );
        assert!(
            lines[1].ends_with(
                "  WARN stowplan_scheduler: failed error=\"no \\\"way\\\"\\n2026-08-01T12:00:00.000000Z  INFO forged\""
            ),
            "{}",
            lines[1]
        );
        assert_eq!(lines.len(), 3, "{lines:?}");
    }

    #[test]
    fn lines_of_json_are_structured() {
        let lines = logged(LogFormat::Json, 0, all);
        let json: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(
            (&json["msg"], &json["n"]),
            (&"became leader".into(), &3.into())
        );
        assert_eq!(
            (&json["lease"], &json["level"], &json["target"]),
            (&"a \"b\"".into(), &"info".into(), &"stowplan".into())
        );
        assert!(json["ts"].as_str().unwrap().ends_with('Z'));
        assert_eq!(lines.len(), 3, "{lines:?}");
    }

    #[test]
    fn verbosity_is_that_of_kube_scheduler() {
        for (verbosity, count) in [(0, 3), (3, 3), (4, 4), (6, 5), (10, 5)] {
            let lines = logged(LogFormat::Text, verbosity, all);
            assert_eq!(lines.len(), count, "-v={verbosity}: {lines:?}");
        }
    }
}
