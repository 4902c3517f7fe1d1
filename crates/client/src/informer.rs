//! Objects of a kind, shared by all in this process who want to know of them.

use crate::{Closed, ListWatch, Reflector, Sink};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use stowplan_base::Env;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Namespace and name.
type Key = (Box<str>, Box<str>);

/// What became of an object.
#[derive(Debug)]
pub enum Delta<'a, K> {
    /// It is there. Who begins to listen is told so of all that there are.
    Added(&'a Arc<K>),
    /// It was like the first, and is like the second.
    Updated(&'a Arc<K>, &'a Arc<K>),
    /// It was like this, and is gone.
    Deleted(&'a Arc<K>),
}

impl<K> Delta<'_, K> {
    /// The object as it is, or was.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added(object) | Self::Updated(_, object) | Self::Deleted(object) => object,
        }
    }
}

type Handler<K> = Box<dyn FnMut(Delta<'_, K>) + Send>;

/// All informers of a process: one watch per kind, whoever wants to know. client-go's
/// `SharedInformerFactory`. The watches end when it is dropped.
pub struct Informers {
    client: kube::Client,
    env: Arc<dyn Env>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    informers: BTreeMap<TypeId, Box<dyn Any + Send>>,
    reflectors: JoinSet<()>,
}

impl Informers {
    /// No kind is watched yet.
    pub fn new(client: kube::Client, env: Arc<dyn Env>) -> Self {
        Self {
            client,
            env,
            running: Mutex::default(),
        }
    }

    /// The informer of a kind; the first to ask starts its watch, within the current tokio runtime.
    pub fn of<K>(&self) -> Informer<K>
    where
        K: kube::Resource<DynamicType = ()>
            + for<'de> serde::Deserialize<'de>
            + Send
            + Sync
            + 'static,
    {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let known = running.informers.get(&TypeId::of::<K>());
        if let Some(informer) = known.and_then(|known| known.downcast_ref::<Informer<K>>()) {
            return informer.clone();
        }
        let informer = Informer::<K>::empty();
        let source = ListWatch::of(self.client.clone(), self.env.clone());
        let reflector = Reflector::new(source, Fill(informer.clone()));
        running.reflectors.spawn(reflector.run());
        let shared = Box::new(informer.clone());
        running.informers.insert(TypeId::of::<K>(), shared);
        informer
    }
}

/// The objects of one kind, kept up to date, and those who are told of changes. client-go's
/// `SharedInformer`.
pub struct Informer<K>(Arc<Shared<K>>);

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Shared<K> {
    objects: RwLock<BTreeMap<Key, Arc<K>>>,
    /// Locked while objects change, so that nobody is told twice or not at all.
    handlers: Mutex<Vec<Handler<K>>>,
    synced: watch::Sender<bool>,
}

impl<K> Informer<K> {
    fn empty() -> Self {
        Self(Arc::new(Shared {
            objects: RwLock::default(),
            handlers: Mutex::default(),
            synced: watch::Sender::new(false),
        }))
    }

    fn handlers(&self) -> MutexGuard<'_, Vec<Handler<K>>> {
        let handlers = self.0.handlers.lock();
        handlers.unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `handler` know of all objects that there are, and from then on of each change, in order. It
    /// must not wait; it may look things up by [`lister`](Self::lister).
    pub fn add_handler(&self, mut handler: impl FnMut(Delta<'_, K>) + Send + 'static) {
        let mut handlers = self.handlers();
        for object in self.lister().all() {
            handler(Delta::Added(&object));
        }
        handlers.push(Box::new(handler));
    }

    /// Looks up objects.
    pub fn lister(&self) -> Lister<K> {
        Lister(self.0.clone())
    }

    /// Waits until all objects are known.
    pub async fn synced(&self) {
        // It cannot be closed while this one is there.
        let _ = self.0.synced.subscribe().wait_for(|synced| *synced).await;
    }

    fn tell(&self, key: Key, now: Option<Arc<K>>) {
        let mut handlers = self.handlers();
        let before = {
            let objects = self.0.objects.write();
            let mut objects = objects.unwrap_or_else(PoisonError::into_inner);
            match &now {
                Some(now) => objects.insert(key, now.clone()),
                None => objects.remove(&key),
            }
        };
        for handler in handlers.iter_mut() {
            match (&before, &now) {
                (None, Some(now)) => handler(Delta::Added(now)),
                (Some(before), Some(now)) => handler(Delta::Updated(before, now)),
                (Some(before), None) => handler(Delta::Deleted(before)),
                (None, None) => {}
            }
        }
    }
}

/// Looks up objects of one kind as the watch last told of them.
pub struct Lister<K>(Arc<Shared<K>>);

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Lister<K> {
    /// An object; the namespace of those that have none is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let key: Key = (namespace.into(), name.into());
        let objects = self.0.objects.read();
        let objects = objects.unwrap_or_else(PoisonError::into_inner);
        objects.get(&key).cloned()
    }

    /// All objects, in the order of namespaces and names.
    pub fn all(&self) -> Vec<Arc<K>> {
        let objects = self.0.objects.read();
        let objects = objects.unwrap_or_else(PoisonError::into_inner);
        objects.values().cloned().collect()
    }

    /// All objects of a namespace, in the order of their names.
    pub fn namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let first: Key = (namespace.into(), "".into());
        let objects = self.0.objects.read();
        let objects = objects.unwrap_or_else(PoisonError::into_inner);
        let from = objects.range(first..);
        let of = from.take_while(|((of, _), _)| **of == *namespace);
        of.map(|(_, object)| object.clone()).collect()
    }
}

/// Puts what a reflector tells into an informer.
struct Fill<K>(Informer<K>);

impl<K: kube::Resource + Send + Sync> Sink<K> for Fill<K> {
    async fn upsert(&mut self, object: K) -> Result<(), Closed> {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or_default();
        let key = (namespace.into(), name.into());
        self.0.tell(key, Some(Arc::new(object)));
        Ok(())
    }

    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed> {
        self.0.tell((namespace, name), None);
        Ok(())
    }

    fn synced(&mut self) -> Result<(), Closed> {
        self.0.0.synced.send_replace(true);
        Ok(())
    }
}
