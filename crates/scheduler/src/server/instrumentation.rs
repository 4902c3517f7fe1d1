//! What a scheduler tells, put into metrics; what others ask, put to the scheduler.

use crate::server::gauge_values;
use crate::server::spans::{Span, SpanName, Tracer};
use crate::{
    Attempt, AttemptResult, BindFailed, Bound, DecisionReader, Observer, Permission, Permissions,
    Steps,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Env, Time};
use stowplan_client::Guard;
use stowplan_client::election::Leadership;
use stowplan_engine::framework::Point;
use stowplan_engine::framework::Preemption;
use stowplan_engine::meter::{Lap, Timed};
use stowplan_engine::model::{Kind, Pod};
use stowplan_engine::scheduler::{Failure, Scheduler};
use stowplan_env::timeout;
use stowplan_telemetry::{
    AccessRequest, AttemptResult as Counted, BoxFuture, Check, DecisionAnswer, GaugeValues, Health,
    PodTable, Reader, SchedulerMetrics, Source,
};
use tokio::sync::oneshot;

/// How long a request for metrics waits for the engine to count.
const PATIENCE: Duration = Duration::from_secs(3);

/// Between a live scheduler and those who look at it. Told by the engine's thread, asked by tasks.
pub struct Instrumentation {
    /// What is counted.
    pub metrics: Arc<SchedulerMetrics>,
    /// The pods of the cluster.
    pub pods: Arc<PodTable>,
    env: Arc<dyn Env>,
    leadership: Option<Arc<Leadership>>,
    tracer: Option<Tracer>,
    has_synced: AtomicBool,
    is_stopping: AtomicBool,
    is_asked: AtomicBool,
    asked: Mutex<Vec<oneshot::Sender<GaugeValues>>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
    decisions: OnceLock<DecisionReader>,
}

impl Instrumentation {
    /// A instrumentation for a scheduler that competes for a lease, or is alone; with traces or without.
    pub fn new(
        env: Arc<dyn Env>,
        leadership: Option<Arc<Leadership>>,
        tracer: Option<Tracer>,
    ) -> Arc<Self> {
        Arc::new(Self {
            metrics: Arc::default(),
            pods: Arc::default(),
            env,
            leadership,
            tracer,
            has_synced: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            asked: Mutex::default(),
            wake: OnceLock::new(),
            decisions: OnceLock::new(),
        })
    }

    /// The scheduler runs: how to wake it and to ask it.
    pub fn connect(&self, wake: impl Fn() + Send + Sync + 'static, decisions: DecisionReader) {
        let _ = self.wake.set(Box::new(wake));
        let _ = self.decisions.set(decisions);
    }

    /// Wakes the engine: it may be allowed to act now, or is asked something.
    pub fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// The process is about to end.
    pub fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// Waits until what is known of attempts was sent to the collector.
    pub(crate) async fn flush(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.finish().await;
        }
    }

    /// The checks of upstream's `cmd/kube-scheduler/app/server.go`.
    pub fn health(self: &Arc<Self>) -> Health {
        let leader = self.leadership.clone().map(|leadership| {
            let check = move || leadership.check();
            Check::new("leaderElection", check)
        });
        let instrumentation = self.clone();
        let shutdown = Check::new("shutdown", move || {
            match instrumentation.is_stopping.load(Ordering::Acquire) {
                true => Err("process is shutting down".to_owned()),
                false => Ok(()),
            }
        });
        let instrumentation = self.clone();
        let synced = Check::new("sched-handler-sync", move || {
            match instrumentation.has_synced.load(Ordering::Acquire) {
                true => Ok(()),
                false => Err("handlers are not fully synchronized".to_owned()),
            }
        });
        let healthz = leader.clone().into_iter().collect();
        let readyz = leader.into_iter().chain([shutdown, synced]).collect();
        Health::new(healthz, Vec::new(), readyz)
    }
}

impl Instrumentation {
    /// A binding came as far as this; `last` is what its last step came to.
    fn count_steps(&self, profile: &str, steps: &Steps, last: &str) {
        if let Some(took) = steps.pre_bind {
            let status = if steps.pre_bind_failed {
                last
            } else {
                "Success"
            };
            let took = took.as_secs_f64();
            self.metrics
                .extension_point("PreBind", profile, status, took);
            if steps.pre_bind_failed {
                self.metrics.volume_stage_failed("bind");
            }
        }
        if let Some(took) = steps.bind {
            let took = took.as_secs_f64();
            self.metrics.extension_point("Bind", profile, last, took);
        }
        if let Some(code) = steps.code {
            self.metrics.binding_answered(code);
        }
    }

    fn trace_attempt(&self, attempt: &Attempt<'_>) {
        let Some(tracer) = &self.tracer else { return };
        let pod = attempt.pod;
        let mut attributes = named(pod);
        let mut error = None;
        match attempt.result {
            AttemptResult::Assumed(node) => attributes.push(("k8s.node.name", node.to_owned())),
            AttemptResult::Failed(failure) => error = Some(failure.message().to_owned()),
            AttemptResult::Other => {}
        }
        tracer.take(Span {
            attempt: (pod.uid.clone(), attempt.start),
            name: SpanName::Attempt,
            start: attempt.start,
            end: attempt.start + attempt.took,
            attributes,
            error,
        });
    }

    fn trace_binding(
        &self,
        (pod, attempt): (&Pod, Time),
        (start, end): (Time, Time),
        node: &str,
        error: Option<&str>,
    ) {
        let Some(tracer) = &self.tracer else { return };
        let mut attributes = named(pod);
        if !node.is_empty() {
            attributes.push(("k8s.node.name", node.to_owned()));
        }
        tracer.take(Span {
            attempt: (pod.uid.clone(), attempt),
            name: SpanName::Binding,
            start,
            end,
            attributes,
            error: error.map(str::to_owned),
        });
    }
}

fn named(pod: &Pod) -> Vec<(&'static str, String)> {
    vec![
        ("k8s.namespace.name", pod.key.namespace.to_string()),
        ("k8s.pod.name", pod.key.name.to_string()),
        ("k8s.pod.uid", pod.uid.to_string()),
    ]
}

impl Guard for Instrumentation {
    fn may_act(&self) -> bool {
        self.leadership.as_ref().is_none_or(|l| l.may_act())
    }
}

impl Source for Instrumentation {
    fn gauge_values(&self) -> BoxFuture<'_, Option<GaugeValues>> {
        let (answer, answered) = oneshot::channel();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(answer);
        drop(asked);
        self.is_asked.store(true, Ordering::Release);
        self.wake();
        let timeout = timeout(&*self.env, PATIENCE, answered);
        Box::pin(async move {
            let answer = timeout.await;
            answer.ok()?.ok()
        })
    }

    fn is_leader(&self) -> bool {
        self.leadership.as_ref().is_none_or(|l| l.is_leading())
    }

    fn decision<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        whole: bool,
        reader: &'a dyn Reader,
    ) -> BoxFuture<'a, DecisionAnswer> {
        Box::pin(async move {
            let Some(decisions) = self.decisions.get() else {
                return DecisionAnswer::Unknown;
            };
            match whole {
                true => {
                    decisions
                        .tournament(namespace, name, &ReaderPermissions(reader))
                        .await
                }
                false => {
                    decisions
                        .decision(namespace, name, &ReaderPermissions(reader))
                        .await
                }
            }
        })
    }
}

/// What a reader may, as the scheduler asks it.
struct ReaderPermissions<'a>(&'a dyn Reader);

impl Permissions for ReaderPermissions<'_> {
    fn may(&self, permission: Permission) -> BoxFuture<'_, bool> {
        self.0.may(match permission {
            Permission::ListNodes => AccessRequest::Nodes,
            Permission::ListPods(namespace) => AccessRequest::Pods { namespace },
        })
    }
}

impl Observer for Instrumentation {
    fn synced(&self) {
        self.has_synced.store(true, Ordering::Release);
        tracing::info!("the cluster is known; scheduling begins");
    }

    fn attempt(&self, attempt: &Attempt<'_>) {
        let took = seconds(attempt.took);
        let profile = profile(attempt.scheduler, attempt.pod);
        let result = match attempt.result {
            AttemptResult::Assumed(_) => None,
            AttemptResult::Failed(failure) if failure.is_rejection() => {
                Some(Counted::Unschedulable)
            }
            AttemptResult::Failed(_) => Some(Counted::Error),
            AttemptResult::Other => return,
        };
        self.trace_attempt(attempt);
        self.metrics.decided(took);
        if let Some(result) = result {
            self.metrics.attempt_ended(profile, result, took);
        }
        if let AttemptResult::Failed(failure @ Failure::Rejected { message, .. }) = attempt.result {
            tracing::debug!(pod = %attempt.pod.key, reason = failure.message(), "unschedulable");
            self.metrics.unschedulable(profile, message);
            let framework = attempt.scheduler.profiles().of(attempt.pod);
            let post_filters = framework.map(|framework| framework.enabled_at(Point::PostFilter));
            if post_filters.is_some_and(|all| all.contains(&"DefaultPreemption")) {
                self.metrics.preemption_attempted();
            }
        }
    }

    fn bound(&self, bound: &Bound<'_>) {
        let took = seconds(bound.now - bound.start);
        let waited = bound
            .initial_attempt
            .map(|since| seconds(bound.now - since));
        let span = (bound.decided, bound.now);
        self.trace_binding((bound.pod, bound.start), span, bound.node, None);
        tracing::debug!(pod = %bound.pod.key, node = bound.node, "bound");
        self.count_steps(bound.profile, &bound.steps, "Success");
        let result = Counted::Scheduled;
        self.metrics.attempt_ended(bound.profile, result, took);
        self.metrics
            .pod_scheduled(bound.attempts, waited, bound.flushed);
    }

    fn bind_failed(&self, failed: &BindFailed<'_>) {
        let took = seconds(failed.now - failed.start);
        let span = (failed.decided, failed.now);
        self.trace_binding((failed.pod, failed.start), span, "", Some(failed.error));
        tracing::debug!(pod = %failed.pod.key, error = failed.error, "not bound");
        self.count_steps(failed.profile, &failed.steps, "Error");
        self.metrics
            .attempt_ended(failed.profile, Counted::Error, took);
    }

    fn preempts(&self, _: &Pod, preemption: &Preemption) {
        let evicted = preemption.evict.len();
        self.metrics.preemption_chosen(preemption.victims, evicted);
    }

    fn preempted(&self, failed: bool, took: Duration) {
        self.metrics.preemption_ended(!failed, took.as_secs_f64());
    }

    fn seen(&self, object: &ApiObject) {
        if let ApiObject::Pod(pod) = object {
            crate::server::pods::upsert(&self.pods, pod);
        }
    }

    fn gone(&self, kind: Kind, namespace: &str, name: &str) {
        if kind == Kind::Pod {
            self.pods.remove(namespace, name);
        }
    }

    fn took(&self, laps: &[Lap], scheduler: &Scheduler) {
        for lap in laps {
            let took = lap.nanos as f64 / 1e9;
            match lap.what {
                Timed::Point {
                    point,
                    status,
                    profile,
                } => {
                    let profile = scheduler.cluster().names.text(profile);
                    self.metrics.extension_point(point, profile, status, took);
                }
                Timed::Event(event) => self.metrics.event_handled(&event.label(), took),
                Timed::Hint {
                    plugin,
                    event,
                    hint,
                } => self.metrics.hint_given(&event.label(), hint, plugin, took),
            }
        }
    }

    fn settled(&self, scheduler: &Scheduler, now: Time) {
        if self.is_asked.swap(false, Ordering::AcqRel) {
            let gauge_values = gauge_values::take(scheduler, now);
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            for answer in asked.drain(..) {
                // Who asked may have given up.
                let _ = answer.send(gauge_values.clone());
            }
        }
    }
}

fn profile<'a>(scheduler: &'a Scheduler, pod: &Pod) -> &'a str {
    scheduler.cluster().names.text(pod.scheduler_name)
}

fn seconds(span: stowplan_base::Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}
