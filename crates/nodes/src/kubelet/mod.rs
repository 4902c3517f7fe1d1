//! What a kubelet does with one pod, without a kubelet: a state machine to which time is an argument.
//!
//! ```text
//!          images are there        all is done, a deadline, a deletion
//! Setup ───────────────────▶ Living ───────────────────▶ Ending ──▶ Finished
//!   ▲                          │                           nothing runs any more
//!   └────── restart of all ────┘
//! ```
//!
//! [`PodSim`] keeps no copy of the pod: whoever asks it anything shows it the pod.

mod container;
mod ending;
mod hash;
mod life;
mod probes;
mod real;
mod restore;
mod spec;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use container::{ContainerSim, Ended, Run, Running, Why};
pub(crate) use ending::Cause;
pub(crate) use hash::{digest, hash, mix};
pub(crate) use probes::{ready_at, started_at};
pub(crate) use real::{Ending, Real};
pub(crate) use spec::{Role, Spec, could_restart_all, pod_spec, should_restart, specs};

use crate::admission::Amounts;
use crate::behaviour::Rules;
use crate::events::PodEvent;
use k8s_openapi::api::core::v1::Pod;
use std::net::Ipv4Addr;
use stowplan_base::{Duration, Time};

/// Where a pod is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Its sandbox and images are being prepared.
    Setup,
    /// Its containers run.
    Living,
    /// Its containers are being stopped.
    Ending,
    /// Nothing runs any more.
    Finished,
}

/// Why a pod failed, if not by the exit of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub(crate) reason: Box<str>,
    pub(crate) message: Box<str>,
    /// Whether it was refused by the node, so that nothing of it ever was.
    pub(crate) is_rejection: bool,
}

/// A condition: whether it holds, and since which second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Since {
    pub(crate) holds: bool,
    pub(crate) secs: u32,
}

/// Places in [`PodSim::conditions`].
pub(crate) const READY_TO_START: usize = 0;
pub(crate) const INITIALIZED: usize = 1;
pub(crate) const READY: usize = 2;
pub(crate) const CONTAINERS_READY: usize = 3;

/// One pod on a simulated node.
#[derive(Clone, Debug)]
pub(crate) struct PodSim {
    pub(crate) uid: Box<str>,
    pub(crate) stage: Stage,
    /// Whether there is a sandbox: a network, and what containers run in.
    pub(crate) has_sandbox: bool,
    /// The generation of the pod that is acted upon.
    pub(crate) generation: i64,
    /// `startTime`.
    pub(crate) begun: Time,
    /// When its sandbox and images are there.
    pub(crate) setup_at: Time,
    /// Up to when its life is known.
    pub(crate) at: Time,
    pub(crate) ip: Option<Ipv4Addr>,
    /// What it takes from its node.
    pub(crate) requests: Amounts,
    pub(crate) containers: Box<[ContainerSim]>,
    pub(crate) conditions: [Since; 4],
    /// Since when it has been scheduled, in seconds.
    pub(crate) scheduled_s: u32,
    pub(crate) cause: Option<Cause>,
    pub(crate) verdict: Option<Box<Verdict>>,
    /// What of it can be seen, hashed.
    pub(crate) signature: u64,
    /// There if its containers really run.
    pub(crate) real: Option<Box<Real>>,
}

/// What a step in a pod's life depends on.
pub(crate) struct Cx<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) specs: &'a [Spec<'a>],
    pub(crate) rules: &'a Rules,
    /// How many times slower than others the node is.
    pub(crate) slowness: f64,
    /// How long it takes to start a pod that says nothing of it.
    pub(crate) start_after: Duration,
    /// Whether containers really run.
    pub(crate) is_real: bool,
    /// What is to be told.
    pub(crate) events: &'a mut Vec<PodEvent>,
}

impl Cx<'_> {
    pub(crate) fn slowed(&self, span: Duration) -> Duration {
        match self.slowness == 1.0 {
            true => span,
            false => Duration::from_nanos((span.as_nanos() as f64 * self.slowness) as i64),
        }
    }

    fn tell(&mut self, container: usize, reason: &'static str, message: String) {
        let name = self.specs.get(container).map(|spec| spec.name.to_owned());
        let is_warning = match reason {
            // Upstream warns of restarts, and not of images.
            "BackOff" => !message.starts_with("Back-off pulling"),
            "Unhealthy" | "ErrImageNeverPull" => true,
            reason => reason.starts_with("Failed"),
        };
        self.events.push(PodEvent {
            is_warning,
            reason: reason.into(),
            message,
            container: name,
        });
    }
}

/// `name_namespace(uid)`: upstream's `format.Pod`.
pub(crate) fn full_name(pod: &Pod) -> String {
    let meta = &pod.metadata;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let (name, namespace) = (text(&meta.name), text(&meta.namespace));
    format!("{name}_{namespace}({})", text(&meta.uid))
}

/// Whole seconds since the epoch.
pub(crate) fn secs(at: Time) -> u32 {
    u32::try_from(at.as_millis().div_euclid(1_000)).unwrap_or_default()
}

impl PodSim {
    /// A pod that the node has just taken on.
    pub(crate) fn new(cx: &Cx<'_>, requests: Amounts, now: Time) -> Self {
        let wanted = crate::behaviour::start_after(cx.rules, cx.pod);
        let delay = cx.slowed(wanted.unwrap_or(cx.start_after));
        let uid = cx.pod.metadata.uid.as_deref().unwrap_or_default();
        let mut sim = Self {
            uid: uid.into(),
            stage: Stage::Setup,
            has_sandbox: false,
            generation: cx.pod.metadata.generation.unwrap_or_default(),
            begun: now,
            setup_at: now + delay,
            at: now,
            ip: None,
            requests,
            containers: cx.specs.iter().map(|_| ContainerSim::new()).collect(),
            conditions: [Since {
                holds: false,
                secs: secs(now),
            }; 4],
            scheduled_s: secs(now),
            cause: None,
            verdict: None,
            signature: 0,
            real: cx.is_real.then(|| Box::new(Real::new(cx.specs.len()))),
        };
        sim.scheduled_s = restore::scheduled(cx.pod).unwrap_or(sim.scheduled_s);
        sim
    }

    /// A pod that the node refuses.
    pub(crate) fn rejected(cx: &Cx<'_>, reason: &str, message: &str, now: Time) -> Self {
        let mut sim = Self::new(cx, Amounts::default(), now);
        sim.stage = Stage::Finished;
        sim.real = None;
        sim.verdict = Some(Box::new(Verdict {
            reason: reason.into(),
            message: format!("Pod was rejected: {message}").into(),
            is_rejection: true,
        }));
        sim
    }

    /// Whether the container has started up.
    pub(crate) fn is_started(&self, pod: &Pod, spec: &Spec<'_>, container: &ContainerSim) -> bool {
        container
            .running()
            .is_some_and(|running| match self.place(container) {
                Some(i) => self.has_really_started(i),
                None => started_at(pod, spec, running.since).is_some_and(|at| at <= self.at),
            })
    }

    /// Whether the container is ready.
    pub(crate) fn is_ready(&self, pod: &Pod, spec: &Spec<'_>, container: &ContainerSim) -> bool {
        if spec.role == Role::Init {
            return container.ended().is_some_and(|ended| ended.code == 0);
        }
        container
            .running()
            .is_some_and(|running| match self.place(container) {
                Some(i) => self.is_really_ready(spec, i),
                None => ready_at(pod, spec, running.since).is_some_and(|at| at <= self.at),
            })
    }

    /// Which of the containers it is, if they really run.
    pub(crate) fn place(&self, container: &ContainerSim) -> Option<usize> {
        self.real.as_ref()?;
        let mut all = self.containers.iter();
        all.position(|one| std::ptr::eq(one, container))
    }

    /// Whether any container that the pod is for ever started.
    pub(crate) fn is_initialized(&self, specs: &[Spec<'_>]) -> bool {
        let mut mains = self.with_specs(specs);
        mains.any(|(spec, container)| spec.role == Role::Main && container.has_run())
    }

    /// Whether any of these has started since all were last started anew.
    pub(crate) fn has_active_main(&self, specs: &[Spec<'_>]) -> bool {
        let mut mains = self.with_specs(specs);
        mains.any(|(spec, one)| spec.role == Role::Main && !matches!(one.run, Run::Waiting))
    }

    /// The containers with what they are wanted to be.
    pub(crate) fn with_specs<'s, 'p>(
        &'s self,
        specs: &'s [Spec<'p>],
    ) -> impl Iterator<Item = (&'s Spec<'p>, &'s ContainerSim)> {
        specs.iter().zip(&self.containers)
    }
}
