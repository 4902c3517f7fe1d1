//! Objects of a kind, shared by all in this process who want to know of them.

use crate::{Closed, ListWatch, Reflector, Sink};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_base::Env;
use stowplan_cache::{Cluster, Delta, Erased, Key, Kind, Object, Store};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// All informers of a process: one watch per kind, whoever wants to know. client-go's
/// `SharedInformerFactory`. The watches end when it is dropped.
pub struct Informers {
    client: kube::Client,
    env: Arc<dyn Env>,
    cluster: Arc<Cluster>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    /// The kinds that are watched, and whether all their objects are known; by the path of the kind.
    watched: BTreeMap<String, (Kind, Synced)>,
    reflectors: JoinSet<()>,
}

/// Tells when all objects of a kind are known.
#[derive(Clone)]
pub struct Synced(watch::Receiver<bool>);

impl Synced {
    /// Waits until all objects of the kind are known.
    pub async fn wait(&self) {
        // It is closed when the informers are dropped: then nothing will be known any more.
        let _ = self.0.clone().wait_for(|synced| *synced).await;
    }

    /// Whether all objects of the kind are known.
    pub fn is_reached(&self) -> bool {
        *self.0.borrow()
    }
}

impl Informers {
    /// No kind is watched yet.
    pub fn new(client: kube::Client, env: Arc<dyn Env>) -> Self {
        Self {
            client,
            env,
            cluster: Arc::default(),
            running: Mutex::default(),
        }
    }

    /// What is known. A kind that nobody [watches](Self::watch) is empty.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Fills the store of a kind, from now on; the first to ask starts its watch, within the current tokio
    /// runtime.
    pub fn watch(&self, kind: Kind) -> Synced {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let path = kind.path("");
        if let Some((_, synced)) = running.watched.get(&path) {
            return synced.clone();
        }
        let (sender, receiver) = watch::channel(false);
        let fill = Fill {
            cluster: self.cluster.clone(),
            kind,
            synced: sender,
        };
        let source = ListWatch::of(kind, self.client.clone(), self.env.clone());
        running.reflectors.spawn(Reflector::new(source, fill).run());
        let synced = Synced(receiver);
        running.watched.insert(path, (kind, synced.clone()));
        synced
    }

    /// The kind whose objects are at this path, if it is watched.
    pub fn watched(&self, path: &str) -> Option<(Kind, Synced)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.watched.get(path).cloned()
    }

    /// Ends all watches. What is known stays.
    pub async fn stop(&self) {
        let mut reflectors = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut running.reflectors)
        };
        reflectors.shutdown().await;
    }

    /// The informer of a kind.
    pub fn of<K: Object>(&self) -> Informer<K> {
        Informer {
            synced: self.watch(Kind::of::<K>()),
            store: self.cluster.of::<K>(),
        }
    }
}

/// The objects of one kind, kept up to date, and those who are told of changes. client-go's
/// `SharedInformer`.
pub struct Informer<K> {
    store: Arc<Store<K>>,
    synced: Synced,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            synced: self.synced.clone(),
        }
    }
}

impl<K: Object> Informer<K> {
    /// Lets `handler` know of all objects that there are, and from then on of each change, in order. It
    /// must not wait; it may look things up in the [store](Self::store).
    pub fn add_handler(&self, handler: impl FnMut(Delta<'_, K>) + Send + 'static) {
        self.store.add_handler(handler);
    }

    /// The objects.
    pub fn store(&self) -> Arc<Store<K>> {
        self.store.clone()
    }

    /// Waits until all objects are known.
    pub async fn synced(&self) {
        self.synced.wait().await;
    }

    /// Whether all objects are known.
    pub fn is_synced(&self) -> bool {
        self.synced.is_reached()
    }
}

/// Puts what a reflector tells into the store of a kind.
struct Fill {
    cluster: Arc<Cluster>,
    kind: Kind,
    synced: watch::Sender<bool>,
}

impl Sink<Box<dyn Erased>> for Fill {
    async fn upsert(&mut self, object: Box<dyn Erased>) -> Result<(), Closed> {
        object.put(&self.cluster);
        Ok(())
    }

    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed> {
        self.delete_as_of(namespace, name, "")
    }

    fn delete_as_of(
        &mut self,
        namespace: Box<str>,
        name: Box<str>,
        version: &str,
    ) -> Result<(), Closed> {
        (self.kind.delete)(&self.cluster, &Key { namespace, name }, version);
        Ok(())
    }

    /// Answers to writes put objects in as well, which may have gone before a watch told of them.
    fn listed(&mut self, version: &str, is_there: &dyn Fn(&str, &str) -> bool) {
        let is_there = |key: &Key| is_there(&key.namespace, &key.name);
        (self.kind.retain)(&self.cluster, version, &is_there);
    }

    fn synced(&mut self) -> Result<(), Closed> {
        self.synced.send_replace(true);
        Ok(())
    }
}
