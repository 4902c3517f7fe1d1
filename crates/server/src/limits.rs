//! Every bound on what clients may take, in one place. `docs/security.md` explains them.
//!
//! Bytes, depths and counts of one value are bounds of the API's machinery and are re-exported here.
//! Bounds on connections are `stowplan_transport::Limits`.

use std::time::Duration;

pub use stowplan_apimachinery::limits::*;

// ---- One request.

/// How long a client may take to send it.
pub const BODY_TIME: Duration = Duration::from_secs(60);
/// The largest object that is stored, in bytes. Upstream: etcd's `--max-request-bytes`.
pub const OBJECT_BYTES_MAX: usize = 1536 * 1024;
/// How much memory answering a request may take for each byte of its body, or of the object that it
/// changes: an empty element of a list is three bytes, and can be wrong in two ways. The adversary holds
/// every kind of request to it.
pub const MEMORY_PER_BODY_BYTE: usize = 500;
/// How much memory answering a request may take, whatever its size. The adversary holds those to it that
/// take much for a byte.
pub const REQUEST_MEMORY_MAX: usize = 640 * 1024 * 1024;

/// An object that was read takes up about so much for each of its bytes.
pub const TREE_BYTES_PER_BYTE: usize = 16;

// ---- All requests together.

/// Seats for requests that are worked on, watches aside.
pub const SEATS: usize = 1_000;
/// A request takes one seat, and one more for each so many bytes of its body.
pub const BYTES_PER_SEAT: usize = 4 * 1024;
/// Requests of one flow that may wait for a seat. Upstream: `QueueLengthLimit`.
pub const QUEUE_LENGTH_MAX: usize = 50;
/// Requests that may wait for a seat in all.
pub const QUEUED_MAX: usize = 2_000;
/// How long a request waits for a seat before it is told to come back.
pub const QUEUE_TIME: Duration = Duration::from_secs(5);
/// A request whose body, or whose object, is larger is heavy: it is worked on off the reactor, and as
/// many at a time as there are cores.
pub const LIGHT_BYTES_MAX: usize = 32 * 1024;
/// A list that looks at more objects is heavy.
pub const LIGHT_OBJECTS_MAX: usize = 250;
/// A list of objects that have more bytes together is heavy.
pub const LIGHT_LIST_BYTES_MAX: usize = 1024 * 1024;
/// A list whose query is longer is heavy: each condition is checked for each object.
pub const LIGHT_QUERY_MAX: usize = 2 * 1024;
/// To find out what a user may do is heavy if what is granted to him has more bytes.
pub const LIGHT_RIGHTS_BYTES_MAX: usize = 256 * 1024;
/// A watch takes up so much room for each byte of its query beyond a light one.
pub const WATCH_BYTES_PER_QUERY_BYTE: usize = 64;
/// What watches are told in another form than the stored one is kept up to so many bytes of objects.
pub const CONVERTED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Open watches.
pub const WATCHES_MAX: usize = 20_000;
/// Open streams: exec, attach, port-forward, and logs that are followed.
pub const STREAMS_MAX: usize = 1_000;
/// How long nothing may be said on a stream of exec or attach. Upstream:
/// `defaultIdleConnectionTimeout`.
pub const STREAM_IDLE_TIME: Duration = Duration::from_secs(4 * 3_600);
/// The largest message of a client on such a stream.
pub const STREAM_MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Room for bodies.
pub const BODIES_KIB_MAX: usize = 256 * 1024;
/// Room for answers that have not been read, and for what watches still have to tell.
pub const ANSWERS_KIB_MAX: usize = 1024 * 1024;
/// Answers up to here are waited for as long as their connection lasts.
pub const SMALL_ANSWER_BYTES: u64 = 256 * 1024;
/// How long a client may leave a large answer alone.
pub const ANSWER_TIME: Duration = Duration::from_secs(60);

// ---- What is read, and dropped, of a body after its request was answered.

/// Bytes of one body.
pub const LEFTOVER_BYTES_MAX: usize = 16 << 20;
/// How long.
pub const LEFTOVER_TIME: Duration = Duration::from_secs(5);
/// Bodies at a time.
pub const LEFTOVERS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as a person writes it.
    fn shown(number: usize) -> String {
        let digits = number.to_string();
        let groups = digits.as_bytes().rchunks(3).rev();
        let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
        groups.join(",")
    }

    /// Bytes as a person writes them.
    fn bytes(number: usize) -> String {
        match number {
            n if n % (1 << 30) == 0 => format!("{} GiB", n >> 30),
            n if n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
            n if n < 1 << 20 => format!("{} KiB", n >> 10),
            n => format!("{:.1} MiB", n as f64 / f64::from(1 << 20)),
        }
    }

    #[test]
    fn the_documentation_says_what_the_limits_are() {
        let text = include_str!("../../../docs/security.md");
        let seconds = |time: Duration| format!("{} s", time.as_secs());
        for (name, value) in [
            ("BODY_BYTES_MAX", bytes(BODY_BYTES_MAX)),
            ("BODY_TIME", seconds(BODY_TIME)),
            ("OBJECT_BYTES_MAX", bytes(OBJECT_BYTES_MAX)),
            ("DEPTH_MAX", shown(DEPTH_MAX)),
            ("VALUE_BYTES_MAX", bytes(VALUE_BYTES_MAX)),
            ("MEMORY_PER_BODY_BYTE", shown(MEMORY_PER_BODY_BYTE)),
            ("REQUEST_MEMORY_MAX", bytes(REQUEST_MEMORY_MAX)),
            ("YAML_NESTED_MAX", shown(YAML_NESTED_MAX)),
            ("YAML_MARKS_MAX", shown(YAML_MARKS_MAX)),
            ("PATCH_OPERATIONS_MAX", shown(PATCH_OPERATIONS_MAX)),
            ("PATCH_COPIED_BYTES_MAX", bytes(PATCH_COPIED_BYTES_MAX)),
            ("PATCH_STEPS_MAX", shown(PATCH_STEPS_MAX)),
            ("PROBLEMS_MAX", shown(PROBLEMS_MAX)),
            ("ERRORS_TOLD_MAX", shown(ERRORS_TOLD_MAX)),
            ("ERRORS_TOLD_BYTES_MAX", bytes(ERRORS_TOLD_BYTES_MAX)),
            ("OWNERS_MAX", shown(OWNERS_MAX)),
            ("ESCALATION_STEPS", shown(ESCALATION_STEPS as usize)),
            ("SEATS", shown(SEATS)),
            ("QUEUE_LENGTH_MAX", shown(QUEUE_LENGTH_MAX)),
            ("QUEUED_MAX", shown(QUEUED_MAX)),
            ("QUEUE_TIME", seconds(QUEUE_TIME)),
            ("LIGHT_BYTES_MAX", bytes(LIGHT_BYTES_MAX)),
            ("LIGHT_OBJECTS_MAX", shown(LIGHT_OBJECTS_MAX)),
            ("LIGHT_LIST_BYTES_MAX", bytes(LIGHT_LIST_BYTES_MAX)),
            ("LIGHT_QUERY_MAX", bytes(LIGHT_QUERY_MAX)),
            ("LIGHT_RIGHTS_BYTES_MAX", bytes(LIGHT_RIGHTS_BYTES_MAX)),
            ("CONVERTED_BYTES_MAX", bytes(CONVERTED_BYTES_MAX)),
            ("WATCHES_MAX", shown(WATCHES_MAX)),
            ("STREAMS_MAX", shown(STREAMS_MAX)),
            ("STREAM_IDLE_TIME", seconds(STREAM_IDLE_TIME)),
            ("STREAM_MESSAGE_BYTES_MAX", bytes(STREAM_MESSAGE_BYTES_MAX)),
            ("BODIES_KIB_MAX", bytes(BODIES_KIB_MAX << 10)),
            ("ANSWERS_KIB_MAX", bytes(ANSWERS_KIB_MAX << 10)),
            ("ANSWER_TIME", seconds(ANSWER_TIME)),
        ] {
            let row = text
                .lines()
                .find(|line| line.starts_with(&format!("| `{name}`")));
            let column = row.and_then(|row| row.split('|').nth(2)).map(str::trim);
            assert_eq!(column, Some(value.as_str()), "{name}");
        }
    }
}
