//! What one listener takes on.

use std::time::Duration;

/// Files that a process needs for itself: the store, the log, the runtime, what it asks others.
const FILES_RESERVED: usize = 128;

/// What one listener takes on.
///
/// A client is *authenticated* once it has shown a certificate of a CA that is trusted, or once a request
/// with a bearer token was answered with success or with 403. Other clients have room of their own, and the
/// next one always gets in: when there is no room left, the oldest idle connection is closed. An
/// authenticated client for whom there is no room counts as unauthenticated until there is.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections of clients that are authenticated.
    pub authenticated: usize,
    /// Open connections of clients that are not.
    pub unauthenticated: usize,
    /// Of these, how many may come from one address (of IPv6, from one network of 64 bits).
    pub unauthenticated_per_address: usize,
    /// Bytes of a request's header, and of what an HTTP/1 connection holds of answers that are not
    /// read: hyper does not tell the two apart. At least 8 KiB. Go allows headers of 1 MiB; on 250
    /// streams of one connection that is a lot to hold for somebody who may be nobody.
    pub header_bytes: u32,
    /// Bytes that a stream of HTTP/2 holds of an answer that is not read.
    pub stream_bytes: usize,
    /// Bytes that TLS holds besides, encrypted already.
    pub encrypted_bytes: usize,
    /// Bytes that the kernel holds besides which it has not sent yet, where it can be told so. What is
    /// on its way does not count, so that long ways are no slower.
    pub unsent_bytes: u32,
    /// How long a client may take for the handshake and the header of its first request.
    pub header_time: Duration,
    /// The same, while more than half of the room for unauthenticated clients is taken.
    pub header_time_crowded: Duration,
    /// How long a connection may be without a request.
    pub idle_time: Duration,
    /// Requests at once on one HTTP/2 connection.
    pub streams: u32,
    /// How long a client may leave what it is sent unread.
    pub write_time: Duration,
    /// How long requests under way may take to end when the server stops.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            authenticated: 5_000,
            unauthenticated: 5_000,
            unauthenticated_per_address: 2_500,
            header_bytes: 64 << 10,
            stream_bytes: 64 << 10,
            encrypted_bytes: 32 << 10,
            unsent_bytes: 64 << 10,
            // This one and the time without a request are upstream's: `secure_serving.go`.
            header_time: Duration::from_secs(32),
            header_time_crowded: Duration::from_secs(8),
            idle_time: Duration::from_secs(90),
            streams: 250,
            write_time: Duration::from_secs(60),
            drain_time: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// For an API server in a process that may have so many files open: three quarters of those that
    /// it does not need itself, 10,000 at the most.
    pub fn of_api(files: usize) -> Self {
        Self::with_connections((files.saturating_sub(FILES_RESERVED) / 4 * 3).min(10_000))
    }

    /// For a port with health and metrics: the other quarter, 512 at the most.
    pub fn of_port(files: usize) -> Self {
        Self::with_connections((files.saturating_sub(FILES_RESERVED) / 4).min(512))
    }

    /// With room for so many connections, half of it for unauthenticated clients.
    fn with_connections(connections: usize) -> Self {
        let half = (connections / 2).max(8);
        Self {
            authenticated: half,
            unauthenticated: half,
            unauthenticated_per_address: half / 2,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_other_files() {
        for files in [1_024, 4_096, 1_048_576] {
            let (api, port) = (Limits::of_api(files), Limits::of_port(files));
            let all = [api, port].map(|limits| limits.authenticated + limits.unauthenticated);
            assert!(all[0] + all[1] + FILES_RESERVED <= files, "{files}");
            assert!(api.unauthenticated_per_address < api.unauthenticated);
        }
        assert_eq!(
            Limits::of_api(1_048_576).authenticated,
            Limits::default().authenticated
        );
        assert!(Limits::of_port(64).unauthenticated_per_address > 0);
    }
}
