//! Holding a Lease, or waiting for it.

use super::address::LeaderAddress;
use super::announcement::Announcements;
use super::lease::LeaseLock;
use super::{Answer, Elector, End, Step, Timings};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_base::{Duration, Env, Time};
use stowplan_env::timeout_at;

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

/// Who wants to lead.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What is to be held.
    pub lease: LeaseName,
    /// What the election is called in health checks.
    pub election: &'static str,
    /// The name of this host.
    pub host: String,
    /// Who says in events who leads.
    pub component: String,
    /// How long things take; [valid](Timings::validated) ones.
    pub timings: Timings,
    /// Where this process listens, for the Lease to say while it leads.
    pub address: Option<LeaderAddress>,
}

/// What is known of the leadership of this process. Written by [`hold`](Self::hold), read by
/// whoever acts.
pub struct Leadership {
    candidate: Candidate,
    identity: String,
    env: Arc<dyn Env>,
    /// Until when this process may act, in nanoseconds.
    acting_until: AtomicI64,
    is_leading: AtomicBool,
    elector: Mutex<Option<Elector>>,
}

impl Leadership {
    /// A candidate that does not lead yet.
    pub fn new(candidate: Candidate, env: Arc<dyn Env>) -> Self {
        Self {
            identity: format!("{}_{}", candidate.host, env.uid()),
            candidate,
            env,
            acting_until: AtomicI64::new(i64::MIN),
            is_leading: AtomicBool::new(false),
            elector: Mutex::new(None),
        }
    }

    /// Who this process is to others.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether this process may act now. At most one may, of all that want the Lease.
    pub fn may_act(&self) -> bool {
        self.env.monotonic().as_nanos() < self.acting_until.load(Ordering::Acquire)
    }

    /// Whether this process holds the Lease as far as it knows.
    pub fn is_leading(&self) -> bool {
        self.is_leading.load(Ordering::Acquire)
    }

    /// The health check `leaderElection`: fails if this process says that it leads, but has not
    /// been able to renew the Lease for long.
    pub fn check(&self) -> Result<(), String> {
        let elector = self.elector.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.env.monotonic();
        match elector.as_ref().is_some_and(|e| e.is_stuck(TOLERANCE, now)) {
            true => Err(format!(
                "failed election to renew leadership on lease {}",
                self.candidate.election
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
        let Candidate {
            lease,
            component,
            timings,
            address,
            ..
        } = &self.candidate;
        let leases: Api<Lease> = Api::namespaced(client.clone(), &lease.namespace);
        let mut announcements = Announcements::new(client, self.env.clone(), lease, component);
        let mut lock = LeaseLock::new(leases, &lease.name, address.clone());
        let (seed, now) = (self.env.random(), self.env.monotonic());
        let mut elector = Elector::new(&self.identity, *timings, seed, now);
        let mut stop = pin!(stop);
        let mut has_stopped = false;
        loop {
            let step = elector.next(self.env.monotonic());
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
                match &request {
                    None => {
                        self.env.sleep_until(until).await;
                        None
                    }
                    Some(request) => {
                        let answer = timeout_at(&*self.env, until, lock.ask(request)).await;
                        Some(answer.unwrap_or(Answer::Failed))
                    }
                }
            };
            tokio::select! {
                biased;
                answer = answer => if let Some(answer) = answer {
                    elector.answered(answer, self.env.monotonic());
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

    /// Lets others know what the elector knows; returns whether this process leads if that is new.
    fn publish(&self, elector: &Elector, changed: &impl Fn(bool)) -> Option<bool> {
        let until = elector.acting_until().map_or(i64::MIN, Time::as_nanos);
        let before = self.acting_until.swap(until, Ordering::AcqRel);
        let now = self.env.monotonic().as_nanos();
        // A renewal that comes late: nothing could be done for a while.
        let reopened = before <= now && now < until;
        let is_leading = elector.is_leading();
        let mut kept = self.elector.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(elector.clone());
        drop(kept);
        let turned = self.is_leading.swap(is_leading, Ordering::AcqRel) != is_leading;
        if turned {
            let lease = &self.candidate.lease.name;
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

impl crate::Guard for Leadership {
    fn may_act(&self) -> bool {
        Self::may_act(self)
    }
}
