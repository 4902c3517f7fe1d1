//! Holding a Lease, or waiting for it.

use crate::server::announcement::Announcements;
use crate::server::lease::LeaseLock;
use crate::server::whereabouts::Whereabouts;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use stowplan_base::{Duration, Time};
use stowplan_election::{Answer, Elector, End, Step, Timings};

/// What the election is called in metrics and health checks, whatever its Lease is called: upstream's
/// `makeLeaderElectionConfig`.
pub(crate) const ELECTION: &str = "kube-scheduler";

/// How long a lease may have been over before its holder counts as stuck. Upstream's
/// `NewLeaderHealthzAdaptor(20 * time.Second)`.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Which Lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseName {
    /// `leaderElection.resourceNamespace`.
    pub namespace: String,
    /// `leaderElection.resourceName`.
    pub name: String,
}

/// What is known of the leadership of this process. Written by [`hold`](Self::hold), read by
/// whoever acts.
pub struct Leadership {
    lease: LeaseName,
    identity: String,
    /// Who says so in events.
    component: String,
    whereabouts: Option<Whereabouts>,
    timings: Timings,
    clock: Clock,
    /// Until when this process may act, in nanoseconds.
    acting_until: AtomicI64,
    is_leading: AtomicBool,
    elector: Mutex<Option<Elector>>,
}

impl Leadership {
    /// A candidate for a Lease, on this host; its timings must be
    /// [valid](Timings::validated). Events are written in the name of this component.
    pub fn new(lease: LeaseName, host: &str, component: &str, timings: Timings) -> Self {
        Self {
            lease,
            identity: format!("{host}_{}", uuid()),
            component: component.to_owned(),
            whereabouts: None,
            timings,
            clock: Clock::new(),
            acting_until: AtomicI64::new(i64::MIN),
            is_leading: AtomicBool::new(false),
            elector: Mutex::new(None),
        }
    }

    /// Lets the Lease say where this process listens while it leads.
    pub fn at(mut self, whereabouts: Option<Whereabouts>) -> Self {
        self.whereabouts = whereabouts;
        self
    }

    /// Who this process is to others.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether this process may act now. At most one may, of all that want the Lease.
    pub fn may_act(&self) -> bool {
        self.clock.now().as_nanos() < self.acting_until.load(Ordering::Acquire)
    }

    /// Whether this process holds the Lease as far as it knows.
    pub fn is_leading(&self) -> bool {
        self.is_leading.load(Ordering::Acquire)
    }

    /// The health check `leaderElection`: fails if this process says that it leads, but has not
    /// been able to renew the Lease for long.
    pub fn check(&self) -> Result<(), String> {
        let elector = self.elector.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        match elector.as_ref().is_some_and(|e| e.is_stuck(TOLERANCE, now)) {
            true => Err(format!(
                "failed election to renew leadership on lease {ELECTION}"
            )),
            false => Ok(()),
        }
    }

    /// Takes the Lease and keeps it, until `stop` ends or it is lost. `changed` is told whenever
    /// this process begins or ceases to lead, or may act again.
    ///
    /// What this process does as a leader must be over when `stop` ends: the Lease is given back,
    /// and the next leader starts at once.
    pub async fn hold(
        &self,
        client: Client,
        stop: impl Future<Output = ()>,
        changed: impl Fn(bool),
    ) -> End {
        let leases: Api<Lease> = Api::namespaced(client.clone(), &self.lease.namespace);
        let mut announcements = Announcements::new(client, &self.lease, &self.component);
        let mut lock = LeaseLock::new(leases, &self.lease.name, self.whereabouts.clone());
        let seed = RandomState::new().build_hasher().finish();
        let mut elector = Elector::new(&self.identity, self.timings, seed, self.clock.now());
        let mut stop = pin!(stop);
        let mut has_stopped = false;
        loop {
            let step = elector.next(self.clock.now());
            if let Some(leads) = self.publish(&elector, &changed) {
                announcements.tell(lock.seen(), &self.identity, leads);
            }
            let (request, until) = match step {
                Step::Over(end) => {
                    announcements.finish().await;
                    return end;
                }
                Step::Ask(request, until) => (Some(request), until),
                Step::Wait(until) => (None, until),
            };
            let answer = async {
                let left = self.until(until);
                match &request {
                    None => {
                        tokio::time::sleep(left).await;
                        None
                    }
                    Some(request) => {
                        let answer = tokio::time::timeout(left, lock.ask(request)).await;
                        Some(answer.unwrap_or(Answer::Failed))
                    }
                }
            };
            tokio::select! {
                answer = answer => if let Some(answer) = answer {
                    elector.answered(answer, self.clock.now());
                },
                () = &mut stop, if !has_stopped => {
                    has_stopped = true;
                    elector.stop();
                }
            }
            if let Some(leads) = self.publish(&elector, &changed) {
                announcements.tell(lock.seen(), &self.identity, leads);
            }
        }
    }

    fn until(&self, time: Time) -> std::time::Duration {
        let left = time.as_nanos().saturating_sub(self.clock.now().as_nanos());
        std::time::Duration::from_nanos(u64::try_from(left).unwrap_or(0))
    }

    /// Lets others know what the elector knows; returns whether this process leads if that is new.
    fn publish(&self, elector: &Elector, changed: &impl Fn(bool)) -> Option<bool> {
        let until = elector.acting_until().map_or(i64::MIN, Time::as_nanos);
        let before = self.acting_until.swap(until, Ordering::AcqRel);
        let now = self.clock.now().as_nanos();
        // A renewal that comes late: the fence was closed for a while.
        let reopened = before <= now && now < until;
        let is_leading = elector.is_leading();
        let mut kept = self.elector.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(elector.clone());
        drop(kept);
        let turned = self.is_leading.swap(is_leading, Ordering::AcqRel) != is_leading;
        if turned {
            let lease = &self.lease.name;
            match is_leading {
                true => tracing::info!(lease, identity = self.identity, "became leader"),
                false => tracing::info!(lease, identity = self.identity, "stopped leading"),
            }
        }
        if turned || reopened {
            changed(is_leading);
        }
        turned.then_some(is_leading)
    }
}

/// Wall time that never goes back.
struct Clock {
    start: i64,
    since: Instant,
}

impl Clock {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.unwrap_or_default().as_nanos();
        Self {
            start: i64::try_from(nanos).unwrap_or(i64::MAX),
            since: Instant::now(),
        }
    }

    fn now(&self) -> Time {
        let passed = i64::try_from(self.since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Time::from_nanos(self.start.saturating_add(passed))
    }
}

/// A random UUID. The keys of hash maps are the standard library's source of randomness.
fn uuid() -> String {
    let word = |n: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(n);
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    let bits = (u128::from(word(1)) << 64) | u128::from(word(2));
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn identities_differ_and_look_like_uuids() {
        let (a, b) = (uuid(), uuid());
        assert_ne!(a, b);
        let lengths: Vec<_> = a.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&a[14..15], "4");
    }
}
