//! Ages: how long ago a time was, in the few characters that a column has.

use serde_json::Value;
use stowplan_apimachinery::View;

/// Seconds since the epoch of a time as the API prints it (with or without a fraction).
pub fn seconds(time: &Value) -> Option<i64> {
    let time = time.as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(time.as_second())
}

/// How long ago a time was; upstream's `translateTimestampSince`.
pub fn since(time: &Value, now_s: i64) -> String {
    match seconds(time) {
        Some(then) => human(now_s.saturating_sub(then)),
        None => "<unknown>".to_owned(),
    }
}

/// The age of an object.
pub fn of(object: &Value, now_s: i64) -> String {
    since(object.at("metadata").at("creationTimestamp"), now_s)
}

/// A span in at most two units; upstream's `duration.HumanDuration`.
pub fn human(seconds: i64) -> String {
    let two = |big: i64, big_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{big}{big_unit}"),
        small => format!("{big}{big_unit}{small}{small_unit}"),
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // Upstream's TestHumanDuration, as rows of our own.
    #[test]
    fn spans_read_as_upstreams() {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (8 * HOUR - 60, "7h59m"),
            (8 * HOUR, "8h"),
            (48 * HOUR - 1, "47h"),
            (48 * HOUR, "2d"),
            (49 * HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (365 * DAY, "365d"),
            (2 * 365 * DAY, "2y"),
            (2 * 365 * DAY + DAY, "2y1d"),
            (8 * 365 * DAY, "8y"),
            (9 * 365 * DAY + DAY, "9y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }

    #[test]
    fn times_with_and_without_a_fraction() {
        assert_eq!(since(&json!("1970-01-01T00:00:10Z"), 15), "5s");
        assert_eq!(since(&json!("1970-01-01T00:00:10.500000Z"), 15), "5s");
        assert_eq!(since(&json!(null), 15), "<unknown>");
    }
}
