//! One reflector of metadata for each resource, but for those that others in this process watch: the garbage
//! collector is shown their objects. Upstream's `sharedInformers`.

use super::Collector;
use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_cache::{Kind, MetadataDelta};
use stowplan_client::{
    Closed, Discovery, Informers, ListWatch, Metadata, Reflector, ServedResource, Sink, Synced,
};
use stowplan_controllers::garbage_collector::{FOREGROUND, Gvk, Identity, ORPHAN, Observed, Owner};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Resources whose objects are never garbage.
const IGNORED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];

/// Group, version and name of a resource.
type Name = (String, String, String);

/// Which uid an object has, by namespace and name: a watch says only which of them is gone.
type Uids = BTreeMap<(Arc<str>, Box<str>), Arc<str>>;

/// The reflectors of all resources. They end when it is dropped.
pub(super) struct Monitors {
    client: kube::Client,
    informers: Arc<Informers>,
    collector: Arc<Collector>,
    running: BTreeMap<Name, Running>,
    /// Kept when a reflector ends: if its resource comes back, what is gone meanwhile is told.
    known: BTreeMap<Name, Arc<Mutex<Uids>>>,
    tasks: JoinSet<()>,
    /// Those whose objects are all known have to be waited for no more; `None` until there are any.
    synced: watch::Sender<Option<Vec<watch::Receiver<bool>>>>,
}

struct Running {
    /// The reflector; none if the objects are those of an informer, which are of kinds that every server has.
    task: Option<AbortHandle>,
    synced: watch::Receiver<bool>,
}

impl Monitors {
    pub(super) fn new(
        client: kube::Client,
        informers: Arc<Informers>,
        collector: Arc<Collector>,
    ) -> Self {
        Self {
            client,
            informers,
            collector,
            running: BTreeMap::new(),
            known: BTreeMap::new(),
            tasks: JoinSet::new(),
            synced: watch::Sender::new(None),
        }
    }

    /// Waits until all objects of all resources that are found first are known.
    pub(super) fn all_known(&self) -> impl Future<Output = ()> + use<> {
        let mut synced = self.synced.subscribe();
        async move {
            let Ok(first) = synced
                .wait_for(Option::is_some)
                .await
                .map(|first| first.clone())
            else {
                return;
            };
            let waits = first.into_iter().flatten().map(|mut synced| async move {
                // It is closed when the reflector ends.
                let _ = synced.wait_for(|synced| *synced).await;
            });
            join_all(waits).await;
        }
    }

    /// Watches exactly what is served and can be deleted. Of groups of which the server cannot tell now,
    /// what was watched goes on.
    pub(super) fn sync(&mut self, served: &Discovery) {
        let wanted = |resource: &&ServedResource| {
            resource.has_verbs(&["delete", "list", "watch"])
                && !IGNORED.contains(&(&resource.group, &resource.plural))
        };
        let wanted: Vec<&ServedResource> = served.preferred().filter(wanted).collect();
        // A server that serves nothing does not know what it says.
        if wanted.is_empty() {
            return;
        }
        let names: BTreeSet<Name> = wanted.iter().map(|resource| name(resource)).collect();
        self.running.retain(|name, running| {
            let (group, version, _) = name;
            let api_version = match &**group {
                "" => version.clone(),
                group => format!("{group}/{version}"),
            };
            let Some(task) = &running.task else {
                return true;
            };
            let stays = names.contains(name) || served.failed.contains_key(&api_version);
            if !stays {
                task.abort();
            }
            stays
        });
        for resource in wanted {
            if !self.running.contains_key(&name(resource)) {
                self.start(resource);
            }
        }
        let synced = self.running.values().map(|running| running.synced.clone());
        self.synced.send_if_modified(|first| {
            let is_first = first.is_none();
            if is_first {
                *first = Some(synced.collect());
            }
            is_first
        });
    }

    fn start(&mut self, resource: &ServedResource) {
        if let Some((kind, synced)) = self.informers.watched(&resource.path("")) {
            return self.follow(resource, kind, synced);
        }
        let name = name(resource);
        let known = self.known.entry(name.clone()).or_default().clone();
        let unseen = lock(&known).keys().cloned().collect();
        let (sender, synced) = watch::channel(false);
        let sink = GraphSink {
            gvk: Arc::new(Gvk::new(&resource.api_version(), &resource.kind)),
            defines_resources: matches!(
                (&*resource.group, &*resource.plural),
                ("apiextensions.k8s.io", "customresourcedefinitions")
                    | ("apiregistration.k8s.io", "apiservices")
            ),
            collector: self.collector.clone(),
            known,
            unseen,
            synced: sender,
        };
        let env = self.collector.env.clone();
        let source = ListWatch::metadata(resource, self.client.clone(), env);
        let task = self.tasks.spawn(Reflector::new(source, sink).run());
        let task = Some(task);
        self.running.insert(name, Running { task, synced });
        while self.tasks.try_join_next().is_some() {}
    }

    /// Takes the objects of a kind from those who watch it already.
    fn follow(&mut self, resource: &ServedResource, kind: Kind, known: Synced) {
        let (sender, synced) = watch::channel(false);
        let task = None;
        self.running
            .insert(name(resource), Running { task, synced });
        let gvk = Arc::new(Gvk::new(&resource.api_version(), &resource.kind));
        let collector = self.collector.clone();
        let cluster = self.informers.cluster().clone();
        self.tasks.spawn(async move {
            known.wait().await;
            (kind.follow)(
                &cluster,
                Box::new(move |delta| collector.told(&gvk, &delta)),
            );
            sender.send_replace(true);
        });
    }
}

impl Collector {
    /// Somebody else was told of an object. Most changes are of no consequence for what owns what.
    fn told(&self, gvk: &Arc<Gvk>, delta: &MetadataDelta<'_>) {
        let effects = match delta {
            MetadataDelta::Updated(before, now) if is_as_before(before, now) => return,
            MetadataDelta::Added(meta) | MetadataDelta::Updated(_, meta) => {
                self.graph().observe(observed(gvk, ObjectMeta::clone(meta)))
            }
            MetadataDelta::Deleted(meta) => {
                self.graph().gone(meta.uid.as_deref().unwrap_or_default())
            }
        };
        self.apply(effects);
    }
}

fn is_as_before(before: &ObjectMeta, now: &ObjectMeta) -> bool {
    before.owner_references == now.owner_references
        && before.deletion_timestamp.is_some() == now.deletion_timestamp.is_some()
        && before.finalizers == now.finalizers
}

fn observed(gvk: &Arc<Gvk>, meta: ObjectMeta) -> Observed {
    let finalizers = meta.finalizers.unwrap_or_default();
    let has = |finalizer: &str| finalizers.iter().any(|have| have == finalizer);
    Observed {
        identity: Identity {
            gvk: gvk.clone(),
            namespace: meta.namespace.unwrap_or_default().into(),
            name: meta.name.unwrap_or_default().into(),
            uid: meta.uid.unwrap_or_default().into(),
        },
        owners: meta
            .owner_references
            .into_iter()
            .flatten()
            .map(owner)
            .collect(),
        deleting: meta.deletion_timestamp.is_some(),
        foreground: has(FOREGROUND),
        orphan: has(ORPHAN),
    }
}

fn name(resource: &ServedResource) -> Name {
    let ServedResource {
        group,
        version,
        plural,
        ..
    } = resource;
    (group.clone(), version.clone(), plural.clone())
}

fn lock(known: &Mutex<Uids>) -> std::sync::MutexGuard<'_, Uids> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the graph what a reflector sees.
struct GraphSink {
    gvk: Arc<Gvk>,
    /// Whether the server serves something else when these objects change.
    defines_resources: bool,
    collector: Arc<Collector>,
    known: Arc<Mutex<Uids>>,
    /// What an earlier reflector of the resource knew and this one has not seen.
    unseen: BTreeSet<(Arc<str>, Box<str>)>,
    synced: watch::Sender<bool>,
}

impl GraphSink {
    fn observe(&mut self, meta: ObjectMeta) {
        let object = observed(&self.gvk, meta);
        let Identity {
            namespace,
            name,
            uid,
            ..
        } = &object.identity;
        let (key, uid) = ((namespace.clone(), name.clone()), uid.clone());
        self.unseen.remove(&key);
        let before = lock(&self.known).insert(key, uid.clone());
        let mut effects = stowplan_controllers::garbage_collector::Effects::default();
        let mut graph = self.collector.graph();
        if let Some(before) = before.filter(|before| *before != uid) {
            effects.merge(graph.gone(&before));
        }
        effects.merge(graph.observe(object));
        drop(graph);
        self.collector.apply(effects);
    }

    fn gone(&self, key: &(Arc<str>, Box<str>)) {
        if let Some(uid) = lock(&self.known).remove(key) {
            let effects = self.collector.graph().gone(&uid);
            self.collector.apply(effects);
        }
    }
}

pub(super) fn owner(owner: OwnerReference) -> Owner {
    Owner {
        gvk: Arc::new(Gvk::new(&owner.api_version, &owner.kind)),
        name: owner.name.into(),
        uid: owner.uid.into(),
        controller: owner.controller,
        block: owner.block_owner_deletion,
    }
}

impl Sink<Metadata> for GraphSink {
    async fn upsert(&mut self, object: Metadata) -> Result<(), Closed> {
        self.observe(object.metadata);
        if self.defines_resources {
            self.collector.stale.notify_one();
        }
        Ok(())
    }

    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed> {
        self.gone(&(namespace.into(), name));
        if self.defines_resources {
            self.collector.stale.notify_one();
        }
        Ok(())
    }

    fn synced(&mut self) -> Result<(), Closed> {
        for key in std::mem::take(&mut self.unseen) {
            self.gone(&key);
        }
        self.synced.send_replace(true);
        Ok(())
    }
}
