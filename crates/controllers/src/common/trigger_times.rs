//! When that happened which led to a change of a Service's endpoints. Upstream:
//! `k8s.io/endpointslice/util/trigger_time_tracker.go`.

use super::{created_at, name, pod_condition};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stowplan_cache::Key;

/// Tells those who read endpoints when that happened which changed them.
const ANNOTATION: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// What was known of a Service when it was last looked at.
#[derive(Default)]
struct Known {
    service: Option<Timestamp>,
    pods: BTreeMap<String, Timestamp>,
}

/// Remembers when pods became ready, or not, by their Services.
#[derive(Default)]
pub struct TriggerTimes(Mutex<BTreeMap<Key, Known>>);

impl TriggerTimes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Key, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The earliest of what has happened since the last look; the first look at a Service is for the Service
    /// itself. Each look counts, whether it leads to a write or not.
    pub fn look(&self, service: &Service, pods: &[Arc<Pod>]) -> Option<Timestamp> {
        let mut all = self.all();
        let before = all.get(&Key::of(service));
        let made = created_at(service);
        let mut now = Known {
            service: made,
            pods: BTreeMap::new(),
        };
        let mut changed = Vec::new();
        for pod in pods {
            let ready = pod_condition(pod, "Ready");
            let Some(at) = ready.and_then(|ready| ready.last_transition_time.as_ref()) else {
                continue;
            };
            let name = name(&**pod);
            let known = before.and_then(|before| before.pods.get(name));
            if known.is_none_or(|known| at.0 > *known) {
                changed.push(at.0);
            }
            now.pods.insert(name.to_owned(), at.0);
        }
        let time = match before {
            None => made,
            Some(before) => {
                changed.extend(made.filter(|made| Some(*made) > before.service));
                changed.into_iter().min()
            }
        };
        all.insert(Key::of(service), now);
        time
    }

    /// A Service is gone.
    pub fn forget(&self, key: &Key) {
        self.all().remove(key);
    }
}

/// Says in annotations when that happened which led to a write; nothing, if nothing did.
pub fn set_trigger_time(
    annotations: &mut Option<BTreeMap<String, String>>,
    time: Option<Timestamp>,
) {
    let all = annotations.get_or_insert_default();
    match time {
        Some(time) => drop(all.insert(ANNOTATION.to_owned(), time.to_string())),
        None => drop(all.remove(ANNOTATION)),
    }
    if all.is_empty() {
        *annotations = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, ready_at: &str) -> Arc<Pod> {
        let pod = json!({"metadata": {"name": name}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": ready_at}]}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn the_earliest_change_counts_once() {
        let service = |made: &str| -> Service {
            let meta = json!({"name": "s", "namespace": "shop", "creationTimestamp": made});
            serde_json::from_value(json!({"metadata": meta})).unwrap()
        };
        let (t0, t1, t2, t3) = (
            "2026-03-01T12:00:00Z",
            "2026-03-01T12:00:01Z",
            "2026-03-01T12:00:02Z",
            "2026-03-01T12:00:03Z",
        );
        let times = TriggerTimes::default();
        let look = |made: &str, pods: &[Arc<Pod>]| {
            let at = times.look(&service(made), pods);
            at.map(|at| at.to_string())
        };
        // The first look is for the Service, though pods are newer.
        assert_eq!(look(t0, &[pod("a", t1)]).as_deref(), Some(t0));
        assert_eq!(look(t0, &[pod("a", t1)]), None);
        let both = [pod("a", t3), pod("b", t2)];
        assert_eq!(look(t0, &both).as_deref(), Some(t2));
        assert_eq!(look(t0, &both), None);
        // That a pod is gone has no time.
        assert_eq!(look(t0, &both[..1]), None);
        // A pod that comes back, and a Service that was made anew.
        assert_eq!(look(t0, &both).as_deref(), Some(t2));
        assert_eq!(look(t1, &both).as_deref(), Some(t1));
        times.forget(&Key::new("shop", "s"));
        assert_eq!(look(t1, &both).as_deref(), Some(t1));
    }
}
