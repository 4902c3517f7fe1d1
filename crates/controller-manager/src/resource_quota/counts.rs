//! How many objects there are of resources whose number some quota limits.

use super::Freed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_base::Env;
use stowplan_client::{Closed, Discovery, ListWatch, Metadata, Reflector, Requests, Sink};
use stowplan_env::timeout;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long it is waited until all objects of a resource are known.
const PATIENCE: Duration = Duration::from_secs(30);

/// The names of objects, by namespace.
type Names = BTreeMap<Box<str>, BTreeSet<Box<str>>>;

/// How many objects there are, by resource and namespace.
pub(super) struct Counts {
    client: kube::Client,
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
    freed: Freed,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    resources: BTreeMap<GroupResource, Resource>,
    reflectors: JoinSet<()>,
}

#[derive(Clone)]
struct Resource {
    names: Arc<Mutex<Names>>,
    synced: watch::Receiver<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counts {
    pub(super) fn new(
        client: kube::Client,
        requests: Arc<Requests>,
        env: Arc<dyn Env>,
        freed: Freed,
    ) -> Self {
        Self {
            client,
            requests,
            env,
            freed,
            watched: Mutex::default(),
        }
    }

    pub(super) fn count(&self, resource: &GroupResource, namespace: &str) -> usize {
        let watched = lock(&self.watched);
        let Some(resource) = watched.resources.get(resource) else {
            return 0;
        };
        lock(&resource.names)
            .get(namespace)
            .map_or(0, BTreeSet::len)
    }

    /// Whether objects of a resource are counted, which begins now if nobody asked before.
    pub(super) async fn ensure(&self, wanted: &GroupResource) -> bool {
        let known = lock(&self.watched).resources.get(wanted).cloned();
        let resource = match known {
            Some(resource) => Some(resource),
            None => self.start(wanted).await,
        };
        let Some(mut resource) = resource else {
            return false;
        };
        let synced = resource.synced.wait_for(|synced| *synced);
        let is_known = timeout(&*self.env, PATIENCE, synced).await;
        matches!(is_known, Ok(Ok(_)))
    }

    async fn start(&self, wanted: &GroupResource) -> Option<Resource> {
        let served = Discovery::fetch(&self.requests).await.ok()?;
        let found = served.preferred().find(|found| {
            found.group == wanted.group
                && found.plural == wanted.resource
                && found.namespaced
                && found.has_verbs(&["create", "list", "watch", "delete"])
        })?;
        let (sender, synced) = watch::channel(false);
        let resource = Resource {
            names: Arc::default(),
            synced,
        };
        let sink = Counted {
            names: resource.names.clone(),
            synced: sender,
            freed: self.freed.clone(),
        };
        let source = ListWatch::metadata(found, self.client.clone(), self.env.clone());
        let mut watched = lock(&self.watched);
        // Somebody else may have been faster.
        if let Some(resource) = watched.resources.get(wanted) {
            return Some(resource.clone());
        }
        watched.reflectors.spawn(Reflector::new(source, sink).run());
        watched.resources.insert(wanted.clone(), resource.clone());
        Some(resource)
    }
}

/// Keeps the names that a reflector sees.
struct Counted {
    names: Arc<Mutex<Names>>,
    synced: watch::Sender<bool>,
    freed: Freed,
}

impl Sink<Metadata> for Counted {
    async fn upsert(&mut self, object: Metadata) -> Result<(), Closed> {
        let meta = object.metadata;
        let namespace = meta.namespace.unwrap_or_default().into_boxed_str();
        let name = meta.name.unwrap_or_default().into_boxed_str();
        lock(&self.names).entry(namespace).or_default().insert(name);
        Ok(())
    }

    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed> {
        let mut names = lock(&self.names);
        if let Some(of) = names.get_mut(&namespace) {
            of.remove(&name);
            if of.is_empty() {
                names.remove(&namespace);
            }
        }
        drop(names);
        self.freed.replenish(&namespace);
        Ok(())
    }

    fn synced(&mut self) -> Result<(), Closed> {
        self.synced.send_replace(true);
        Ok(())
    }
}
