//! All that is written, as one number.

use crate::cluster::Outcome;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use stowplan_base::Env;
use stowplan_store::{Event, Store};

/// What was written so far.
#[derive(Clone, Default)]
pub(crate) struct Trace(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// Its keys are fixed.
    hasher: DefaultHasher,
    writes: u64,
    pods: u64,
    bindings: u64,
}

impl Trace {
    pub(crate) fn outcome(&self) -> Outcome {
        let seen = self.0.lock().expect("nobody panicked");
        Outcome {
            hash: seen.hasher.finish(),
            writes: seen.writes,
            pods: seen.pods,
            bindings: seen.bindings,
            seconds: 0,
        }
    }
}

/// Notes each write and its time.
pub(crate) async fn follow(trace: Trace, store: Store, env: Arc<dyn Env>) {
    let mut watch = store.watch("", store.revision()).expect("it is empty");
    loop {
        let seen = watch.next().await.expect("nothing is compacted so soon");
        let now = env.monotonic();
        let mut trace = trace.0.lock().expect("nobody panicked");
        for event in seen.events {
            now.hash(&mut trace.hasher);
            trace.note(&event);
        }
    }
}

impl Seen {
    fn note(&mut self, event: &Event) {
        self.writes += 1;
        event.revision.0.hash(&mut self.hasher);
        let entry = &event.entry;
        entry.key.hash(&mut self.hasher);
        let now = event.current();
        now.map(|entry| &entry.value).hash(&mut self.hasher);
        if !entry.key.starts_with(b"/registry/pods/") {
            return;
        }
        let has_node = |value: &[u8]| value.windows(12).any(|text| text == b"\"nodeName\":\"");
        match (&event.previous, now) {
            (None, Some(_)) => self.pods += 1,
            (Some(before), Some(now)) => {
                self.bindings += u64::from(has_node(&now.value) && !has_node(&before.value));
            }
            _ => {}
        }
    }
}
