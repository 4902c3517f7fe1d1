//! `ttl-controller`: tells each node for how long its kubelet may keep Secrets and ConfigMaps without asking
//! again. The more nodes, the longer.
//!
//! Upstream: `pkg/controller/ttl`.

#[cfg(test)]
mod tests;

use crate::common::{annotation, name};
use crate::{Controller, Cx, Delta, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";

/// Fewest and most nodes of a step, and the seconds that go with it. Steps overlap, so that a node more or
/// less does not change all nodes each time.
const STEPS: [(usize, usize, u32); 5] = [
    (0, 100, 0),
    (90, 500, 15),
    (450, 1_000, 30),
    (900, 2_000, 60),
    (1_800, usize::MAX, 300),
];

/// How many nodes there are, and at which step.
#[derive(Default, Debug)]
struct Size {
    nodes: usize,
    step: usize,
}

impl Size {
    fn add(&mut self) {
        self.nodes += 1;
        if self.nodes > STEPS[self.step].1 {
            self.step += 1;
        }
    }

    fn remove(&mut self) {
        self.nodes = self.nodes.saturating_sub(1);
        if self.nodes < STEPS[self.step].0 {
            self.step -= 1;
        }
    }

    fn seconds(&self) -> u32 {
        STEPS[self.step].2
    }
}

/// `ttl-controller`.
#[derive(Default)]
pub struct Ttl(Arc<Mutex<Size>>);

fn locked(size: &Mutex<Size>) -> MutexGuard<'_, Size> {
    size.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controller for Ttl {
    fn watch(&self, watches: &mut Watches) {
        let size = self.0.clone();
        watches.on::<Node>(move |_, delta, keys| {
            match delta {
                Delta::Added(_) => locked(&size).add(),
                Delta::Deleted(_) => return locked(&size).remove(),
                Delta::Updated(..) => {}
            }
            keys.add_object(&**delta.object());
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(node) = cx.cluster.get::<Node>("", &key.name) else {
            return Plan::nothing();
        };
        let wanted = locked(&self.0).seconds();
        let current = annotation(&*node, ANNOTATION).and_then(|text| text.parse::<u32>().ok());
        if current == Some(wanted) {
            return Plan::nothing();
        }
        let patch = json!({"metadata": {"annotations": {ANNOTATION: wanted.to_string()}}});
        let key = Key::new("", name(&*node));
        Plan::write(Write::strategic_merge::<Node>(&key, "", &patch).tolerating(&[404]))
    }
}
