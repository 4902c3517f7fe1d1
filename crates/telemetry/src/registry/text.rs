//! The text form of metrics that Prometheus reads, version 0.0.4.

use super::{Desc, Kind, go_float};
use std::fmt::Write;

/// The content type of [`Text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics, written down.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// What was written.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Begins a metric.
    pub fn header(&mut self, desc: &Desc) {
        let stability = desc.stability.as_str();
        let help = format!("[{stability}] {}", desc.help);
        self.plain_header(desc.name, desc.kind, &help);
    }

    /// Begins a metric whose stability nobody promises.
    pub fn plain_header(&mut self, name: &str, kind: Kind, help: &str) {
        let _ = write!(self.0, "# HELP {name} ");
        for c in help.chars() {
            match c {
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                c => self.0.push(c),
            }
        }
        let _ = writeln!(self.0, "\n# TYPE {name} {}", kind.as_str());
    }

    /// One line: a name with labels and its value.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        self.labels(labels.iter().copied());
        let _ = writeln!(self.0, " {}", go_float(value));
    }

    /// One line of a histogram: so many values are at most `bound`.
    pub(super) fn bucket(&mut self, name: &str, labels: &[(&str, &str)], bound: f64, count: u64) {
        let _ = write!(self.0, "{name}_bucket");
        let bound = go_float(bound);
        self.labels(labels.iter().copied().chain([("le", bound.as_str())]));
        let _ = writeln!(self.0, " {}", go_float(count as f64));
    }

    fn labels<'a>(&mut self, labels: impl Iterator<Item = (&'a str, &'a str)>) {
        let mut open = '{';
        for (name, value) in labels {
            let _ = write!(self.0, "{open}{name}=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
            open = ',';
        }
        if open == ',' {
            self.0.push('}');
        }
    }
}
