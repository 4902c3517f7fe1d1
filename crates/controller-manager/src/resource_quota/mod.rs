//! The quota controller: counts what is used of each quota. Upstream: `pkg/controller/resourcequota`.
//!
//! The API server charges quotas for what is made; here they are given back what is gone, and counted as a
//! whole from time to time. Pods, services and claims are known from informers. Of other resources only
//! those are watched of which some quota limits the number, and only their names are kept.

mod counts;
mod objects;

use crate::pool::{Verdict, work};
use counts::Counts;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ResourceQuota, Service};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use objects::Objects;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use stowplan_admission::{counted_resources, recount};
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_base::Env;
use stowplan_client::{Delta, Informers, Key, Object, Requests, Store, WorkQueue};

/// Upstream's name.
pub const NAME: &str = "resourcequota-controller";

/// How often all of a quota is counted (`--resource-quota-sync-period`).
pub const RESYNC: Duration = Duration::from_secs(300);

/// How many quotas are counted side by side (`--concurrent-resource-quota-syncs`).
const WORKERS: usize = 5;
/// How long is waited after something is gone: more may go at the same time.
const PAUSE: Duration = Duration::from_millis(200);
/// How soon a quota is counted again of which some resource is not served.
const UNSERVED: Duration = Duration::from_secs(10);

type Queue = Arc<WorkQueue<Key>>;

/// What is counted, and how that is written down.
struct Counter {
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
    quotas: Arc<Store<ResourceQuota>>,
    objects: Objects,
    queue: Queue,
    resync: Duration,
}

/// Counts quotas for as long as it is let, each as a whole every so often ([`RESYNC`]).
pub async fn run(
    client: kube::Client,
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
    informers: Arc<Informers>,
    resync: Duration,
) {
    let queue: Queue = Arc::new(WorkQueue::new(env.clone()));
    let quotas = informers.of::<ResourceQuota>();
    let store = quotas.store();
    let changed = queue.clone();
    quotas.add_handler(move |delta| match delta {
        Delta::Added(quota) => changed.add(Key::of(&**quota)),
        Delta::Updated(before, quota) if before.spec != quota.spec => {
            changed.add(Key::of(&**quota));
        }
        Delta::Updated(..) | Delta::Deleted(_) => {}
    });
    let freed = Freed {
        quotas: store.clone(),
        queue: queue.clone(),
    };
    let pods = freed.follow::<Pod>(&informers, |before, now| {
        let has_ended = |pod: &Pod| {
            let phase = pod
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref());
            matches!(phase, Some("Succeeded" | "Failed"))
        };
        has_ended(before) != has_ended(now) || before.spec != now.spec
    });
    let services = freed.follow::<Service>(&informers, |before, now| before.spec != now.spec);
    let volumes = freed.follow::<PersistentVolumeClaim>(&informers, |before, now| {
        before.spec != now.spec || before.status != now.status
    });
    let claims = freed.follow::<ResourceClaim>(&informers, |before, now| before.spec != now.spec);
    let classes = informers.of::<DeviceClass>();
    quotas.synced().await;
    pods.synced().await;
    services.synced().await;
    volumes.synced().await;
    claims.synced().await;
    classes.synced().await;
    let counts = Counts::new(client, requests.clone(), env.clone(), freed);
    let counter = Counter {
        objects: Objects::new(informers.cluster().clone(), counts),
        quotas: store,
        requests,
        env,
        queue,
        resync,
    };
    work(Arc::new(counter), WORKERS, |counter| &counter.queue, look).await;
}

async fn look(counter: Arc<Counter>, key: Key) -> Verdict {
    match counter.sync(&key).await {
        Ok(Some(span)) => {
            counter.queue.forget(&key);
            Verdict::After(span)
        }
        Ok(None) => Verdict::Done,
        Err(why) => Verdict::Retry(why),
    }
}

/// Sees to it that quotas are counted again when something is gone.
#[derive(Clone)]
struct Freed {
    quotas: Arc<Store<ResourceQuota>>,
    queue: Queue,
}

impl Freed {
    /// Something in a namespace is gone, or uses less.
    fn replenish(&self, namespace: &str) {
        for quota in self.quotas.namespace(namespace) {
            self.queue.add_after(Key::of(&*quota), PAUSE);
        }
    }

    /// Follows a kind; `matters` says whether a change can make an object use something else.
    fn follow<K: Object>(
        &self,
        informers: &Informers,
        matters: fn(&K, &K) -> bool,
    ) -> stowplan_client::Informer<K> {
        let informer = informers.of::<K>();
        let freed = self.clone();
        informer.add_handler(move |delta| {
            let is_relevant = match &delta {
                Delta::Added(_) => false,
                Delta::Updated(before, now) => matters(before, now),
                Delta::Deleted(_) => true,
            };
            if is_relevant {
                let namespace = delta.object().metadata().namespace.as_deref();
                freed.replenish(namespace.unwrap_or_default());
            }
        });
        informer
    }
}

impl Counter {
    /// Counts a quota; says when to do so again, if it is there.
    async fn sync(&self, key: &Key) -> Result<Option<Duration>, String> {
        let Some(quota) = self.quotas.get(&key.namespace, &key.name) else {
            return Ok(None);
        };
        let quota = serde_json::to_value(&*quota).map_err(|error| error.to_string())?;
        let resources = counted_resources(&quota);
        let mut unserved: BTreeSet<GroupResource> = BTreeSet::new();
        for resource in resources {
            if !self.objects.counts.ensure(&resource).await {
                unserved.insert(resource);
            }
        }
        let again = match unserved.is_empty() {
            true => self.resync,
            false => UNSERVED.min(self.resync),
        };
        let is_served = |resource: &GroupResource| !unserved.contains(resource);
        let used = recount(&quota, &self.objects, &is_served, &self.now());
        if let Some(status) = status(&quota, &used) {
            let mut changed = quota;
            changed["status"] = status;
            let path = format!(
                "/api/v1/namespaces/{}/resourcequotas/{}/status",
                key.namespace, key.name
            );
            changed["apiVersion"] = "v1".into();
            changed["kind"] = "ResourceQuota".into();
            let written: Result<ResourceQuota, _> = self
                .requests
                .change("PUT", &path, "application/json", &changed)
                .await;
            match written {
                Ok(quota) => self.quotas.upsert(quota),
                Err(failed) if failed.code() == Some(404) => return Ok(None),
                Err(failed) => return Err(failed.message()),
            }
        }
        Ok(Some(again))
    }

    /// As `metav1.Time` prints it.
    fn now(&self) -> String {
        let seconds = self.env.now().as_nanos() / 1_000_000_000;
        let now = jiff::Timestamp::from_second(seconds).unwrap_or_default();
        now.to_string()
    }
}

/// The status as it should be; `None` if it is.
fn status(quota: &Value, used: &Value) -> Option<Value> {
    let hard = quota["spec"]
        .get("hard")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let same = |told: &Value, is: &Value| {
        told.is_object() && ResourceList::of(told) == ResourceList::of(is)
    };
    let told = &quota["status"];
    let is_right = same(&told["hard"], &hard) && same(&told["used"], used);
    (!is_right).then(|| json!({"hard": hard, "used": used}))
}
