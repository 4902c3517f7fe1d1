//! What the scheduler tells about itself, for metrics, traces and logs.

use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Duration, Time};
use stowplan_engine::framework::Preemption;
use stowplan_engine::meter::Lap;
use stowplan_engine::model::{Kind, Pod};
use stowplan_engine::scheduler::{Failure, Request, Scheduler};

/// Told what happens, on the engine thread: each call delays the next decision.
///
/// All methods do nothing unless written.
pub trait Observer: Send + Sync + 'static {
    /// All kinds are known; decisions begin.
    fn synced(&self) {}

    /// A pod was tried.
    fn attempt(&self, attempt: &Attempt<'_>) {
        let _ = attempt;
    }

    /// A pod is bound: the API said so.
    fn bound(&self, bound: &Bound<'_>) {
        let _ = bound;
    }

    /// The binding of a pod failed.
    fn bind_failed(&self, failed: &BindFailed<'_>) {
        let _ = failed;
    }

    /// A command is about to be carried out.
    fn request(&self, request: &Request, scheduler: &Scheduler) {
        let _ = (request, scheduler);
    }

    /// An object is new or changed; the engine may not be able to read it.
    fn seen(&self, object: &ApiObject) {
        let _ = object;
    }

    /// An object is gone.
    fn gone(&self, kind: Kind, namespace: &str, name: &str) {
        let _ = (kind, namespace, name);
    }

    /// Pods have to go to make room for another.
    fn preempts(&self, preemptor: &Pod, preemption: &Preemption) {
        let _ = (preemptor, preemption);
    }

    /// The evictions for a pod are over.
    fn preempted(&self, failed: bool, took: std::time::Duration) {
        let _ = (failed, took);
    }

    /// What took how long lately.
    fn took(&self, laps: &[Lap], scheduler: &Scheduler) {
        let _ = (laps, scheduler);
    }

    /// A round is over: what was known was taken in, and some pods were tried. `scheduler` can be
    /// read for gauges.
    fn settled(&self, scheduler: &Scheduler, now: Time) {
        let _ = (scheduler, now);
    }
}

/// The observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// One attempt to place a pod.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    /// The pod, as it was tried.
    pub pod: &'a Arc<Pod>,
    /// When the attempt began.
    pub start: Time,
    /// How long the decision took.
    pub took: Duration,
    /// What came of it.
    pub result: AttemptResult<'a>,
    /// The cluster and the queue after the attempt.
    pub scheduler: &'a Scheduler,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug)]
pub enum AttemptResult<'a> {
    /// The pod goes to this node, unless the binding fails.
    Assumed(&'a str),
    /// It fits nowhere, or something broke.
    Failed(&'a Failure),
    /// It did not have to be tried, or it waits for permission.
    Other,
}

/// A pod that was bound.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The pod, as it was tried.
    pub pod: &'a Arc<Pod>,
    /// The node.
    pub node: &'a str,
    /// How often it was tried, this time included.
    pub attempts: u32,
    /// `spec.schedulerName`.
    pub profile: &'a str,
    /// Whether nothing but time had woken it before that attempt.
    pub flushed: bool,
    /// When the last attempt began.
    pub start: Time,
    /// When it was decided, and the binding began.
    pub decided: Time,
    /// What the binding took.
    pub steps: Steps,
    /// When it first entered the active queue.
    pub initial_attempt: Option<Time>,
    /// The time now.
    pub now: Time,
}

/// A pod whose binding failed.
#[derive(Clone, Copy, Debug)]
pub struct BindFailed<'a> {
    /// The pod, as it was tried.
    pub pod: &'a Arc<Pod>,
    /// `spec.schedulerName`.
    pub profile: &'a str,
    /// What went wrong.
    pub error: &'a str,
    /// What the binding took.
    pub steps: Steps,
    /// When the attempt began.
    pub start: Time,
    /// When it was decided, and the binding began.
    pub decided: Time,
    /// The time now.
    pub now: Time,
}

/// What a binding took, as far as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// How long PreBind took, be there nothing to do; nothing if it did not come to that.
    pub pre_bind: Option<std::time::Duration>,
    /// Whether that failed.
    pub pre_bind_failed: bool,
    /// How long it took to bind the pod.
    pub bind: Option<std::time::Duration>,
    /// The HTTP status of the API's answer to the binding; 0 if there was none. Nothing if it was
    /// not asked.
    pub code: Option<u16>,
}
