//! A cluster on a virtual clock.

use crate::{InputErrors, Source};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Duration, Time};
use stowplan_bridge::config;
use stowplan_bridge::convert::{Interner, api_object};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::Snapshot;
use stowplan_engine::framework::Registry;
use stowplan_engine::framework::{FieldChange, ObjectKey, Patch};
use stowplan_engine::model::{Object, Pod};
use stowplan_engine::queue::Profiles;
use stowplan_engine::scheduler::{Change, Scheduler};
use stowplan_manifest::{LoadError, Loaded, Prepared};

/// A cluster, read and ready, and its clock.
pub struct Simulation {
    /// The objects as they were read.
    pub prepared: Arc<Prepared>,
    /// A scheduler that knows all of them; pending pods are in its queue.
    pub scheduler: Scheduler,
    /// Pods that are on no node yet, in the order of their arrival.
    pub pending: Vec<Arc<Pod>>,
    /// The time; at first, when everything has arrived.
    pub now: Time,
    /// What the scheduler changed in objects, in order.
    changes: BTreeMap<ObjectKey, Vec<FieldChange>>,
}

/// How far apart pods arrive: enough to tell them apart.
const ARRIVAL: Duration = Duration::from_millis(1);

impl Simulation {
    pub(crate) fn new(
        source: &Source,
        config: &KubeSchedulerConfiguration,
        registry: &Registry,
    ) -> Result<Self, InputErrors> {
        let mut cluster = Snapshot::new();
        let frameworks = config::profiles_with(config, registry, &mut interner(&mut cluster))
            .map_err(|errors| source.wrong_config(&errors))?;
        let profiles = Profiles::new(frameworks, &mut cluster.names);
        let now = latest_time(source.objects());
        let mut simulation = Self {
            prepared: source.prepared.clone(),
            scheduler: Scheduler::new(cluster, profiles, config::queue_config(config), now),
            pending: Vec::new(),
            now,
            changes: BTreeMap::new(),
        };
        simulation.fill()?;
        Ok(simulation)
    }

    pub(crate) fn note_changes(&mut self, patch: &Patch) {
        let changes = self.changes.entry(patch.target.key).or_default();
        changes.extend(patch.changes.iter().cloned());
    }

    /// The annotations of an object as the API would have them now: those that were read, and what
    /// the scheduler changed in them since.
    pub fn annotations(&self, kind: &str, namespace: &str, name: &str) -> BTreeMap<String, String> {
        let is_meant = |loaded: &&Loaded| {
            let object = &loaded.object;
            (object.kind().as_str(), object.namespace(), object.name()) == (kind, namespace, name)
        };
        let read = self.prepared.objects.iter().find(is_meant);
        let read = read.and_then(|loaded| loaded.object.metadata().annotations.clone());
        let mut annotations = read.unwrap_or_default();
        let names = &self.scheduler.cluster().names;
        let changes = self
            .changes
            .iter()
            .filter(|((of, in_namespace, called), _)| {
                let key = (of.as_str(), names.text(*in_namespace), names.text(*called));
                key == (kind, namespace, name)
            });
        for change in changes.flat_map(|(_, changes)| changes) {
            match change {
                FieldChange::Annotation(key, Some(value)) => {
                    annotations.insert(key.to_string(), value.to_string());
                }
                FieldChange::Annotation(key, None) => {
                    annotations.remove(&**key);
                }
                FieldChange::Label(..) | FieldChange::ClaimRef(_) => {}
            }
        }
        annotations
    }

    /// Hands all objects to the scheduler: pods last, and of those the pending ones by age.
    fn fill(&mut self) -> Result<(), InputErrors> {
        let mut order: Vec<&Loaded> = self.prepared.objects.iter().collect();
        order.sort_by_key(|loaded| loaded.object.kind());
        let mut errors = Vec::new();
        let mut pending: Vec<(Option<Time>, Arc<Pod>)> = Vec::new();
        for loaded in order {
            let converted = api_object(&mut interner(self.scheduler.cluster_mut()), &loaded.object);
            match converted {
                Ok(Some(Object::Pod(pod))) if !pod.is_assigned() => {
                    if !pod.finished {
                        pending.push((created(loaded.object.metadata()), pod));
                    }
                }
                Ok(Some(object)) => self.scheduler.apply(Change::Upsert(object), self.now),
                Ok(None) => {}
                Err(error) => {
                    let title = loaded.object.title();
                    errors.push(LoadError::object(
                        &loaded.source,
                        format_args!("{title}: {error}"),
                    ));
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors.into());
        }
        // Pods written by hand have no age: they come after those that have one.
        pending.sort_by_key(|(created, _)| (created.is_none(), *created));
        for (_, pod) in pending {
            self.now = self.now + ARRIVAL;
            self.scheduler
                .apply(Change::Upsert(Object::Pod(pod.clone())), self.now);
            self.pending.push(pod);
        }
        Ok(())
    }
}

/// What converts objects into a cluster.
pub fn interner(cluster: &mut Snapshot) -> Interner<'_> {
    Interner {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    }
}

fn created(metadata: &ObjectMeta) -> Option<Time> {
    let created = metadata.creation_timestamp.as_ref()?;
    Some(Time::from_secs(created.0.as_second()))
}

/// Just after everything that the input tells of, so that what is placed now is the youngest.
fn latest_time(objects: &[Loaded]) -> Time {
    let times = objects.iter().flat_map(|loaded| {
        let started = match &loaded.object {
            ApiObject::Pod(pod) => pod
                .status
                .as_ref()
                .and_then(|status| status.start_time.as_ref()),
            _ => None,
        };
        let started = started.map(|time| Time::from_secs(time.0.as_second()));
        [created(loaded.object.metadata()), started]
    });
    times.flatten().max().unwrap_or_default() + Duration::from_secs(1)
}
