//! What a controller is.

use crate::Plan;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stowplan_cache::{Cluster, Delta, Key, Kind, Object};

/// What a controller knows when it decides.
pub struct Cx<'a> {
    /// The objects of the kinds that it watches.
    pub cluster: &'a Cluster,
    /// The time.
    pub now: Timestamp,
    /// 64 bits that nobody can foresee (or that a seed foresees).
    pub random: &'a dyn Fn() -> u64,
}

/// A controller: which changes matter, and what is to be done about one object.
pub trait Controller: Send + Sync {
    /// Says which kinds it reads, and which objects to look at when one of them changes.
    fn watch(&self, watches: &mut Watches);

    /// How much time there has to be at least between two looks at an object: what takes long to look at
    /// is looked at less often, and once for many changes.
    fn pace(&self, _cluster: &Cluster, _key: &Key) -> Duration {
        Duration::ZERO
    }

    /// What is to be done about one object now. It may be asked at any time, and what it sees may be
    /// older than what the server has.
    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan;

    /// Who tells events, if that is not the controller by its name.
    fn component(&self) -> Option<&'static str> {
        None
    }

    /// The first pause after a failure and the longest, if they are not those of most controllers.
    fn pauses(&self) -> Option<(Duration, Duration)> {
        None
    }

    /// How many objects are looked at side by side.
    fn workers(&self) -> usize {
        5
    }
}

/// Which objects to look at.
#[derive(Default, Debug)]
pub struct Keys(BTreeMap<Key, Duration>);

impl Keys {
    /// At once.
    pub fn add(&mut self, key: Key) {
        self.add_after(key, Duration::ZERO);
    }

    /// The object itself, at once.
    pub fn add_object<K: Object>(&mut self, object: &K) {
        self.add(Key::of(object));
    }

    /// After a while.
    pub fn add_after(&mut self, key: Key, span: Duration) {
        let at = self.0.entry(key).or_insert(span);
        *at = span.min(*at);
    }
}

impl IntoIterator for Keys {
    type Item = (Key, Duration);
    type IntoIter = std::collections::btree_map::IntoIter<Key, Duration>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Who is told which objects to look at.
pub type Enqueue = Arc<dyn Fn(Keys) + Send + Sync>;

/// Installs a handler in a cluster.
type Install = Box<dyn FnOnce(&Arc<Cluster>, Enqueue) + Send>;

/// The kinds that a controller reads, and what it does when they change.
#[derive(Default)]
pub struct Watches {
    /// The kinds that it reads.
    pub kinds: Vec<Kind>,
    /// Objects to look at when everything is known, whether they exist or not.
    pub initial: Vec<Key>,
    installs: Vec<Install>,
}

impl Watches {
    /// Reads a kind; its changes do not matter.
    pub fn reads<K: Object>(&mut self) {
        self.kinds.push(Kind::of::<K>());
    }

    /// Reads a kind, filed under what `values` says of each object: see
    /// [`Store::indexed`](stowplan_cache::Store::indexed).
    pub fn index<K: Object>(&mut self, name: &'static str, values: fn(&K) -> Vec<String>) {
        self.reads::<K>();
        let install = move |cluster: &Arc<Cluster>, _: Enqueue| {
            cluster.of::<K>().add_index(name, values);
        };
        self.installs.push(Box::new(install));
    }

    /// Reads a kind; `keys` says which objects to look at when one of them changes. It must not wait.
    pub fn on<K: Object>(
        &mut self,
        keys: impl Fn(&Cluster, &Delta<'_, K>, &mut Keys) + Send + 'static,
    ) {
        self.reads::<K>();
        let install = move |cluster: &Arc<Cluster>, enqueue: Enqueue| {
            let known = Arc::downgrade(cluster);
            cluster.of::<K>().add_handler(move |delta| {
                let Some(cluster) = known.upgrade() else {
                    return;
                };
                let mut wanted = Keys::default();
                keys(&cluster, &delta, &mut wanted);
                enqueue(wanted);
            });
        };
        self.installs.push(Box::new(install));
    }

    /// Looks at each object of a kind whenever it changes.
    pub fn on_each<K: Object>(&mut self) {
        self.on::<K>(|_, delta, keys| keys.add_object(&**delta.object()));
    }

    /// Looks at this key once everything is known: for controllers that look at everything in turns.
    pub fn at_start(&mut self, key: Key) {
        self.initial.push(key);
    }

    /// Adds all indices and handlers to a cluster.
    pub fn install(self, cluster: &Arc<Cluster>, enqueue: &Enqueue) {
        for install in self.installs {
            install(cluster, enqueue.clone());
        }
        let mut keys = Keys::default();
        for key in self.initial {
            keys.add(key);
        }
        enqueue(keys);
    }
}
