//! The stores of all kinds.

use crate::{Object, Store};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// All objects that a process knows of. A kind that nobody fills is empty.
#[derive(Default)]
pub struct Cluster {
    stores: RwLock<BTreeMap<TypeId, Box<dyn Any + Send + Sync>>>,
}

impl Cluster {
    /// The store of a kind.
    pub fn of<K: Object>(&self) -> Arc<Store<K>> {
        let id = TypeId::of::<K>();
        let known = |stores: &BTreeMap<TypeId, Box<dyn Any + Send + Sync>>| {
            let store = stores.get(&id)?.downcast_ref::<Arc<Store<K>>>();
            store.cloned()
        };
        let stores = self.stores.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = known(&stores) {
            return store;
        }
        drop(stores);
        let mut stores = self.stores.write().unwrap_or_else(PoisonError::into_inner);
        known(&stores).unwrap_or_else(|| {
            let store = Arc::new(Store::<K>::default());
            stores.insert(id, Box::new(store.clone()));
            store
        })
    }

    /// An object; the namespace of those that have none is empty.
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.of::<K>().get(namespace, name)
    }

    /// All objects of a kind.
    pub fn all<K: Object>(&self) -> Vec<Arc<K>> {
        self.of::<K>().all()
    }

    /// All objects of a kind in a namespace.
    pub fn namespace<K: Object>(&self, namespace: &str) -> Vec<Arc<K>> {
        self.of::<K>().namespace(namespace)
    }

    /// All objects of a kind that name the uid among their owners.
    pub fn owned<K: Object>(&self, uid: &str) -> Vec<Arc<K>> {
        self.of::<K>().owned(uid)
    }

    /// Puts an object in. Tests fill a cluster like this.
    pub fn add<K: Object>(&self, object: K) {
        self.of::<K>().upsert(object);
    }
}
