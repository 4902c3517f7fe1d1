//! Logs of simulated containers as text.

use axum::body::Body;
use futures::stream;
use jiff::Timestamp;
use std::convert::Infallible;
use stowplan_base::Time;
use stowplan_nodes::{LogLine, LogReader, LogsWanted};
use stowplan_server::LogOptions;

/// How lines are written. Upstream: `logWriter` of `k8s.io/cri-client/pkg/logs`.
pub(crate) struct Writing {
    timestamps: bool,
    /// How many bytes may still be written.
    left: usize,
}

impl Writing {
    pub(crate) fn new(options: &LogOptions) -> Self {
        let limit = options.limit_bytes;
        Self {
            timestamps: options.timestamps,
            left: limit
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(usize::MAX),
        }
    }

    /// So many lines as there is room for.
    pub(crate) fn text(&mut self, lines: &[LogLine]) -> Vec<u8> {
        let mut text = Vec::new();
        for line in lines {
            if self.timestamps {
                let at = Timestamp::from_nanosecond(line.at.as_nanos().into()).unwrap_or_default();
                text.extend_from_slice(format!("{at:.9} ").as_bytes());
            }
            text.extend_from_slice(line.text.as_bytes());
            text.push(b'\n');
            if text.len() >= self.left {
                text.truncate(self.left);
                break;
            }
        }
        self.left -= text.len();
        text
    }
}

/// What is wanted, said in other words.
pub(crate) fn wanted(options: &LogOptions, now: Time) -> LogsWanted {
    LogsWanted {
        previous: options.previous,
        since: since(options, now),
        tail: options
            .tail_lines
            .and_then(|lines| usize::try_from(lines).ok()),
    }
}

/// The whole log, or what there is of it and what comes.
pub(crate) fn body(mut reader: LogReader, options: &LogOptions) -> Body {
    let mut writing = Writing::new(options);
    let first = writing.text(&reader.take());
    if !options.follow {
        return Body::from(first);
    }
    let pieces = stream::unfold(
        (Some(first), reader, writing),
        async |(first, mut reader, mut writing)| {
            if let Some(first) = first {
                return Some((Ok::<_, Infallible>(first), (None, reader, writing)));
            }
            let lines = match writing.left {
                0 => return None,
                _ => reader.next().await,
            };
            if lines.is_empty() {
                return None;
            }
            let text = writing.text(&lines);
            Some((Ok(text), (None, reader, writing)))
        },
    );
    Body::from_stream(pieces)
}

pub(crate) fn since(options: &LogOptions, now: Time) -> Option<Time> {
    if let Some(seconds) = options.since_seconds {
        return Some(Time::from_nanos(
            now.as_nanos()
                .saturating_sub(seconds.saturating_mul(1_000_000_000)),
        ));
    }
    let at: Timestamp = options.since_time.as_ref()?.parse().ok()?;
    i64::try_from(at.as_nanosecond()).ok().map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_until_there_is_no_room() {
        let line = |secs, text: &str| LogLine {
            at: Time::from_secs(secs),
            text: text.to_owned(),
        };
        let lines = [line(1, "one"), line(2, "zwölf")];
        let mut plain = Writing::new(&LogOptions {
            limit_bytes: Some(7),
            ..LogOptions::default()
        });
        assert_eq!(plain.text(&lines), "one\nzw\u{f6}".as_bytes()[..7]);
        assert_eq!(plain.text(&lines), b"");
        let mut timed = Writing::new(&LogOptions {
            timestamps: true,
            ..LogOptions::default()
        });
        assert_eq!(
            timed.text(&lines[..1]),
            b"1970-01-01T00:00:01.000000000Z one\n"
        );
    }

    #[test]
    fn a_time_may_be_said_in_two_ways() {
        let now = Time::from_secs(100);
        let seconds = LogOptions {
            since_seconds: Some(10),
            ..LogOptions::default()
        };
        let time = LogOptions {
            since_time: Some("1970-01-01T00:01:30Z".to_owned()),
            ..LogOptions::default()
        };
        for options in [seconds, time] {
            assert_eq!(wanted(&options, now).since, Some(Time::from_secs(90)));
        }
    }
}
