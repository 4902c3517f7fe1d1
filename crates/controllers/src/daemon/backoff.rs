//! How long to wait before a pod that failed is deleted. client-go's `flowcontrol.Backoff`.

use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const MAX: Duration = Duration::from_secs(15 * 60);

/// Waits that grow, by key.
#[derive(Default)]
pub(super) struct Backoff(Mutex<BTreeMap<String, Entry>>);

struct Entry {
    wait: Duration,
    since: Timestamp,
}

impl Entry {
    fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.since)
    }

    /// After twice the longest wait all is forgotten.
    fn is_expired(&self, now: Timestamp) -> bool {
        self.age(now).unsigned_abs() > MAX * 2
    }
}

impl Backoff {
    /// Nothing if it may be done now, which the next one then has to wait for; otherwise how long to wait.
    pub(super) fn hold(&self, key: String, now: Timestamp) -> Option<Duration> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| !entry.is_expired(now));
        let entry = entries.get(&key);
        let held = entry.and_then(|entry| {
            let left = entry.wait.checked_sub(entry.age(now).unsigned_abs());
            left.filter(|left| !left.is_zero())
        });
        if held.is_none() {
            let wait = entry.map_or(FIRST, |entry| (entry.wait * 2).min(MAX));
            entries.insert(key, Entry { wait, since: now });
        }
        held
    }
}
