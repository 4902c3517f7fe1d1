//! The garbage collector at work: one reflector of metadata for each resource of the server, the graph, and
//! workers. What it decides is in `stowplan_controllers::garbage_collector`.

mod api;
mod monitors;
mod workers;

use futures::future::{Either, join, select};
use monitors::Monitors;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::{
    Discovery, Event, EventRecorder, EventType, Informers, ObjectRef, Requests, ServedResource,
    WorkQueue,
};
use stowplan_controllers::garbage_collector::{Effects, Graph, InvalidOwner};
use stowplan_env::timeout;
use tokio::sync::Notify;

/// Upstream's name.
pub const NAME: &str = "garbage-collector-controller";

/// How many objects are looked at side by side (`--concurrent-gc-syncs`).
const WORKERS: usize = 20;
/// How often the server is asked what it serves, at least and at most.
const RESYNC: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);
/// How long after a failure it is asked again.
const RETRY: Duration = Duration::from_secs(2);
/// How long it is waited at the start until all objects are known.
const PATIENCE: Duration = Duration::from_secs(30);

/// What reflectors and workers share.
struct Collector {
    env: Arc<dyn Env>,
    requests: Arc<Requests>,
    recorder: Arc<EventRecorder>,
    graph: Mutex<Graph>,
    /// Objects that may have to be deleted, and those whose dependents have to forget them; by uid.
    to_delete: WorkQueue<Arc<str>>,
    to_orphan: WorkQueue<Arc<str>>,
    served: RwLock<Arc<Discovery>>,
    /// Told when the server may serve something else than it did.
    stale: Notify,
}

impl Collector {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The resource of a kind, if the server is known to serve it.
    fn resource(&self, api_version: &str, kind: &str) -> Option<ServedResource> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.resource(api_version, kind).cloned()
    }

    /// Sees to it that what the graph asks for is done.
    fn apply(&self, effects: Effects) {
        for uid in effects.delete {
            self.to_delete.add(uid);
        }
        for uid in effects.delete_later {
            self.to_delete.add_rate_limited(uid);
        }
        for uid in effects.orphan {
            self.to_orphan.add(uid);
        }
        for invalid in effects.invalid {
            self.recorder.record(event(&invalid));
        }
    }
}

fn event(invalid: &InvalidOwner) -> Event {
    let about = &invalid.dependent;
    Event {
        kind: EventType::Warning,
        reason: "OwnerRefInvalidNamespace",
        action: "CollectGarbage",
        note: invalid.message().into(),
        regarding: ObjectRef {
            api_version: about.gvk.api_version.to_string().into(),
            kind: about.gvk.kind.to_string().into(),
            namespace: about.namespace.clone(),
            name: (*about.name).into(),
            uid: about.uid.clone(),
            resource_version: "".into(),
        },
        controller: NAME.into(),
    }
}

/// Collects garbage for as long as it is let. What these informers watch is not watched once more.
pub async fn run(
    client: kube::Client,
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
    recorder: Arc<EventRecorder>,
    informers: Arc<Informers>,
) {
    let collector = Arc::new(Collector {
        requests,
        recorder,
        graph: Mutex::default(),
        to_delete: WorkQueue::new(env.clone()),
        to_orphan: WorkQueue::new(env.clone()),
        served: RwLock::default(),
        stale: Notify::new(),
        env,
    });
    let monitors = Monitors::new(client, informers, collector.clone());
    let all_known = monitors.all_known();
    let work = async {
        if timeout(&*collector.env, PATIENCE, all_known).await.is_err() {
            tracing::warn!("not all objects are known; garbage is collected all the same");
        }
        workers::run(collector.clone(), WORKERS).await;
    };
    join(follow(&collector, monitors), work).await;
}

/// Watches what the server serves, whatever that becomes. Upstream's `GarbageCollector.Sync`.
async fn follow(collector: &Collector, mut monitors: Monitors) {
    let env = &*collector.env;
    loop {
        let pause = match Discovery::fetch(&collector.requests).await {
            Ok(served) => {
                let served = Arc::new(served);
                let mut known = collector
                    .served
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *known = served.clone();
                drop(known);
                monitors.sync(&served);
                RESYNC
            }
            Err(error) => {
                tracing::warn!(%error, "it is not known what the server serves");
                RETRY
            }
        };
        let stale = pin!(collector.stale.notified());
        if let Either::Left(_) = select(stale, env.sleep(pause)).await {
            // More may come at the same time.
            env.sleep(PAUSE).await;
        }
    }
}
