//! What goes wrong in a [`World`], when a test asks for it.

use super::{Failure, World, failure};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use stowplan_cache::{Cluster, Key, Kind, Object};

/// What is to go wrong, and how far it has come.
#[derive(Default)]
pub(super) struct Trouble {
    /// The number of the write that is refused.
    pub(super) refuse_at: Option<usize>,
    /// The number of the write that is carried out, but whose answer is lost.
    pub(super) lose_at: Option<usize>,
    /// The number of the write after which the controllers are gone.
    pub(super) crash_at: Option<usize>,
    pub(super) has_crashed: bool,
    /// So many changes may have happened without that controllers have been told.
    pub(super) lag: Option<usize>,
    /// Whether of several changes of an object that wait only the last is told.
    pub(super) misses_events: bool,
    /// Told whenever something has changed.
    pub(super) check: Option<fn(&World)>,
    pub(super) written: usize,
    pending: VecDeque<Told>,
    kinds: BTreeMap<String, Kind>,
}

/// A change that a watch tells.
struct Told {
    kind: Kind,
    key: Key,
    path: String,
    version: String,
    /// The object; nothing if it is gone.
    text: Option<String>,
}

impl Told {
    fn apply(&self, cluster: &Cluster) {
        match &self.text {
            Some(text) => (self.kind.read)(text)
                .expect("an object of the kind")
                .put(cluster),
            None => (self.kind.delete)(cluster, &self.key, &self.version),
        }
    }
}

impl World {
    /// Tells controllers of a change, now or later.
    pub(super) fn tell(&mut self, kind: Kind, key: Key, path: String, text: Option<String>) {
        self.trouble.kinds.insert(path.clone(), kind);
        let told = Told {
            kind,
            key,
            path,
            version: self.version.to_string(),
            text,
        };
        match self.trouble.lag {
            None => told.apply(&self.cluster),
            Some(_) => self.trouble.pending.push_back(told),
        }
        if let Some(check) = self.trouble.check {
            check(self);
        }
    }

    /// How many changes have not been told.
    pub(super) fn untold(&self) -> usize {
        self.trouble.pending.len()
    }

    /// Tells the next change.
    pub(super) fn tell_next(&mut self) {
        let Some(told) = self.trouble.pending.pop_front() else {
            return;
        };
        let mut later = self.trouble.pending.iter();
        if !(self.trouble.misses_events && later.any(|later| later.path == told.path)) {
            told.apply(&self.cluster);
        }
    }

    /// Controllers begin anew, and list everything.
    pub(super) fn list_again(&mut self) {
        self.trouble.pending.clear();
        self.trouble.has_crashed = false;
        self.cluster = std::sync::Arc::default();
        for (path, value) in &self.objects {
            if let Some(kind) = self.trouble.kinds.get(path) {
                let object = (kind.read)(&value.to_string()).expect("an object of the kind");
                object.put(&self.cluster);
            }
        }
        let mut queue = self.queue.lock().expect("no panic");
        queue.ready.clear();
        queue.waiting.clear();
    }

    /// Whether the next write is refused.
    pub(super) fn next_refusal(&mut self) -> Option<Failure> {
        self.trouble.written += 1;
        let is_it = self.trouble.refuse_at == Some(self.trouble.written);
        is_it.then(|| failure(500, "InternalError", "refused"))
    }

    /// The answer, unless it is lost or nobody is there to hear it.
    pub(super) fn lose_answer(&mut self, answer: Result<Value, Failure>) -> Result<Value, Failure> {
        let number = Some(self.trouble.written);
        self.trouble.has_crashed |= self.trouble.crash_at == number;
        match self.trouble.lose_at == number || self.trouble.has_crashed {
            true => Err(failure(0, "", "the answer was lost")),
            false => answer,
        }
    }

    /// The objects of a kind as the server has them.
    pub fn on_server<K: Object>(&self) -> Vec<K> {
        let kind = Kind::of::<K>();
        let is_it = |path: &&String| {
            let known = self.trouble.kinds.get(*path);
            known.is_some_and(|known| (known.group, known.name) == (kind.group, kind.name))
        };
        let paths = self.objects.iter().filter(|(path, _)| is_it(path));
        let read = |value: &Value| serde_json::from_value(value.clone()).expect("an object");
        paths.map(|(_, value)| read(value)).collect()
    }

    /// Changes an object as the server has it, whatever controllers know.
    pub fn change_on_server<K: Object>(
        &mut self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut K),
    ) {
        let kind = Kind::of::<K>();
        let path = kind.path_of(&Key::new(namespace, name));
        let old = self.objects.get(&path).cloned().expect("an object");
        let mut object: K = serde_json::from_value(old.clone()).expect("an object");
        change(&mut object);
        let mut value = serde_json::to_value(&object).expect("an object");
        super::strip_nulls(&mut value);
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
        let is_new = i64::from(value["spec"] != old["spec"]);
        value["metadata"]["generation"] = (generation + is_new).into();
        self.keep(kind, path, value);
    }
}
