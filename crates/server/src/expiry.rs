//! Events go an hour after they were last written.
//!
//! Upstream: `TTLFunc` in `pkg/registry/core/event/storage` and `--event-ttl`; there etcd's leases do
//! it. Here it is noted once a minute which revision the store has reached: what is not younger than
//! the note of an hour ago was last written more than an hour ago.

use crate::api::Api;
use crate::{clock, storage};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::sync::Arc;
use stowplan_apimachinery::View;
use stowplan_base::{Duration, Time};
use stowplan_store::{CommitError, Entry, Expect, Revision, Txn};

/// Upstream's default of `--event-ttl`.
const LIFE: Duration = Duration::from_secs(3_600);
/// How often is looked: an event lives so much longer at the most.
const EVERY: std::time::Duration = std::time::Duration::from_secs(60);
/// Events that are looked at in one go.
const PAGE: usize = 1_000;
/// Deletions that share a sync.
const TOGETHER: usize = 64;

/// Looks after the events of a server as long as that is there.
pub(crate) fn start(api: &Arc<Api>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let api = Arc::downgrade(api);
    runtime.spawn(async move {
        let mut expiry = Expiry::default();
        while let Some(api) = api.upgrade() {
            expiry.sweep(&api).await;
            let pause = api.env().sleep(EVERY);
            drop(api);
            pause.await;
        }
    });
}

/// What is known about when things were written.
#[derive(Default)]
struct Expiry {
    /// When the store had reached which revision; oldest first, and none twice.
    reached: VecDeque<(Time, Revision)>,
    /// Whether events of the time before the start have been looked at.
    begun: bool,
}

impl Expiry {
    /// Deletes the events whose time is over.
    async fn sweep(&mut self, api: &Api) {
        let now = api.env().now();
        if !std::mem::replace(&mut self.begun, true) {
            // When these were written nobody noted; what they say themselves is nearly as good.
            delete(api, |event| written(event) + LIFE <= now).await;
        }
        if let Some(old) = self.note(now, api.store().revision()) {
            delete(api, |event| event.mod_revision <= old).await;
        }
    }

    /// Notes where the store is, and says up to which revision all was written long ago, if that is
    /// further than it was the last time.
    fn note(&mut self, now: Time, revision: Revision) -> Option<Revision> {
        let last = self.reached.back();
        // A clock that was set back says nothing until it is where it was.
        if last.is_none_or(|(at, reached)| *at < now && *reached < revision) {
            self.reached.push_back((now, revision));
        }
        let mut old = None;
        while let Some((at, reached)) = self.reached.front()
            && *at + LIFE <= now
        {
            old = Some(*reached);
            self.reached.pop_front();
        }
        old
    }
}

/// When an event was last changed, as far as it tells.
fn written(event: &Entry) -> Time {
    let metadata = storage::glance::metadata_alone(event);
    let writes = metadata.list("managedFields").iter();
    let writes = writes.map(|owner| owner.text("time"));
    let times = writes.chain([metadata.text("creationTimestamp")]);
    let last = times.filter_map(clock::parse_seconds).max();
    Time::from_secs(last.unwrap_or_default())
}

/// Deletes some of the events, as anybody would.
async fn delete(api: &Api, goes: impl Fn(&Entry) -> bool) {
    let Some(events) = api.resources().by_group("", "events") else {
        return;
    };
    let prefix = storage::key(&events, "", "");
    let mut after: Option<bytes::Bytes> = None;
    loop {
        let page = api
            .store()
            .range(prefix.as_bytes(), None, after.as_deref(), Some(PAGE));
        let Ok(page) = page else { return };
        let old = page.entries.iter().filter(|entry| goes(entry));
        let deletions = old.map(|entry| {
            let expect = Expect::Revision(entry.mod_revision);
            api.store()
                .commit(Txn::new().delete(entry.key.clone(), expect))
        });
        let deletions = futures_util::stream::iter(deletions.collect::<Vec<_>>());
        let outcomes = deletions.buffer_unordered(TOGETHER).collect::<Vec<_>>();
        for outcome in outcomes.await {
            match outcome {
                // Whoever was quicker has written it.
                Ok(_) | Err(CommitError::Conflict(_)) => {}
                Err(error) => {
                    tracing::error!(%error, "old events cannot be deleted");
                    return;
                }
            }
        }
        match page.entries.last() {
            Some(last) if page.entries.len() == PAGE => after = Some(last.key.clone()),
            _ => return,
        }
        // Others have work to do, too.
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicI64, Ordering};
    use stowplan_base::{Env, Sleep};

    const EVENTS: &str = "/api/v1/namespaces/default/events";

    /// A clock that stands unless it is moved.
    struct Clock(Arc<AtomicI64>);

    impl Env for Clock {
        fn now(&self) -> Time {
            Time::from_secs(self.0.load(Ordering::Relaxed))
        }

        fn monotonic(&self) -> Time {
            self.now()
        }

        fn sleep_until(&self, _: Time) -> Sleep {
            Box::pin(std::future::pending())
        }

        fn random(&self) -> u64 {
            self.0.fetch_add(0, Ordering::Relaxed).unsigned_abs()
        }
    }

    async fn server() -> (Arc<AtomicI64>, Arc<Api>) {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let store = stowplan_store::Store::in_memory(stowplan_store::Options::default());
        let api = testing::api_with(Arc::new(Clock(Arc::clone(&clock))), store).await;
        (clock, api)
    }

    async fn put(api: &Arc<Api>, name: &str) {
        let event = json!({"metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
            "reason": "r", "message": "m", "type": "Normal"});
        let (code, answer) = testing::send(api, "POST", EVENTS, &[], &event).await;
        assert_eq!(code, 201, "{answer}");
    }

    async fn names(api: &Arc<Api>) -> Vec<String> {
        let (_, list) = testing::get(api, EVENTS, "application/json").await;
        let name = |event: &Value| event["metadata"]["name"].as_str().map(str::to_owned);
        let items = list["items"].as_array();
        items.into_iter().flatten().filter_map(name).collect()
    }

    #[tokio::test]
    async fn events_go_an_hour_after_they_were_last_written() {
        let (clock, api) = server().await;
        let mut expiry = Expiry::default();
        put(&api, "old").await;
        put(&api, "told-again").await;
        expiry.sweep(&api).await;
        clock.fetch_add(1_800, Ordering::Relaxed);
        let url = format!("{EVENTS}/told-again");
        let patch = [("content-type", "application/merge-patch+json")];
        let (code, _) = testing::send(&api, "PATCH", &url, &patch, &json!({"count": 2})).await;
        assert_eq!(code, 200);
        put(&api, "young").await;
        let before = api.store().revision();
        expiry.sweep(&api).await;
        clock.fetch_add(1_799, Ordering::Relaxed);
        expiry.sweep(&api).await;
        assert_eq!(api.store().revision(), before);
        clock.fetch_add(1, Ordering::Relaxed);
        let mut watch = api
            .store()
            .watch("/registry/events/", before)
            .expect("kept");
        expiry.sweep(&api).await;
        assert_eq!(names(&api).await, ["told-again", "young"]);
        assert_eq!(watch.try_next().expect("open").events.len(), 1);
        // Nothing else goes, and nothing is looked for in vain.
        expiry.sweep(&api).await;
        let (code, _) = testing::get(&api, "/api/v1/namespaces/default", "").await;
        assert_eq!((code, api.store().revision().0), (200, before.0 + 1));
        clock.fetch_add(3_600, Ordering::Relaxed);
        expiry.sweep(&api).await;
        assert_eq!(names(&api).await, [""; 0]);
    }

    #[tokio::test]
    async fn what_was_there_before_the_start_is_known_by_its_own_times() {
        let (clock, api) = server().await;
        put(&api, "old").await;
        clock.fetch_add(1_800, Ordering::Relaxed);
        put(&api, "young").await;
        clock.fetch_add(1_800, Ordering::Relaxed);
        Expiry::default().sweep(&api).await;
        assert_eq!(names(&api).await, ["young"]);
    }

    #[test]
    fn a_clock_that_is_set_back_ends_nothing_early() {
        let mut expiry = Expiry::default();
        let mut note = |at: i64, revision| expiry.note(Time::from_secs(at), Revision(revision));
        assert_eq!(note(10_000, 5), None);
        assert_eq!(note(5_000, 9), None);
        assert_eq!(note(9_000, 9), None);
        assert_eq!(note(13_600, 20), Some(Revision(5)));
        assert_eq!(note(17_199, 20), None);
        assert_eq!(note(17_200, 20), Some(Revision(20)));
    }
}
