//! What was read → a cluster that could exist: named, defaulted, valid, with all its pods.
//!
//! Plays the part of the API server (`stowplan-registry`) and, as far as placement depends on it, of the
//! controllers that nobody runs here: workloads get their pods, claims and volumes that name each other
//! are bound, budgets get their status.

mod budgets;
mod claims;
mod limits;
mod names;
#[cfg(test)]
mod tests;
mod typed;
mod warnings;
#[cfg(test)]
mod workload_tests;
mod workloads;

use crate::lookup::Objects;
use crate::road;
use crate::{Input, LoadError, Manifest, Source};
use names::Names;
use serde_json::Value;
use std::collections::BTreeMap;
use stowplan_api::load::Object;
use stowplan_apimachinery::{View as _, meta};
use stowplan_controllers::expand::{View, ephemeral};
use stowplan_registry::Resource;
use stowplan_registry::decode::FieldValidation;
use warnings::Unknown;

/// An object and where it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Where it was read, or where the workload was that it was made for.
    pub source: Source,
    /// The object.
    pub object: Object,
}

/// A cluster that could exist.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// All objects, those that were made included.
    pub objects: Vec<Loaded>,
    /// How many of them, from the start, were read; the others were made for workloads.
    pub read: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
    cluster: Cluster,
}

impl Prepared {
    /// One more pod of a workload, ready to be placed, then the claims that come with it; `None` if
    /// it makes no more pods by number.
    pub fn one_more(&self, workload: &Loaded) -> Option<Vec<Loaded>> {
        let key = (
            workload.object.kind().as_str(),
            workload.object.namespace().to_owned(),
            workload.object.name().to_owned(),
        );
        let cluster = &self.cluster;
        let wanted = workloads::one_more(&cluster.view, &cluster.workloads, &key)?;
        // Templates were validated, and so were the classes they name.
        let made = wanted.into_iter().filter_map(|wanted| {
            let (_, object) = cluster.create(wanted).ok()?;
            let object = typed::object(&object).ok()?;
            let source = workload.source.clone();
            Some(Loaded { source, object })
        });
        Some(made.collect())
    }
}

/// Workloads as JSON, by kind, namespace and name, in the order of reading.
#[derive(Clone, Debug, Default)]
struct Workloads {
    all: Vec<(Source, Value)>,
}

/// What is known so far.
#[derive(Clone, Debug, Default)]
struct Cluster {
    lookup: Objects,
    view: View,
    workloads: Workloads,
}

impl Cluster {
    /// Creates what a controller wants.
    fn create(&self, mut wanted: Value) -> Result<(Resource, Value), String> {
        let resource = Resource::by_kind(wanted.text("apiVersion"), wanted.text("kind"));
        let resource = resource.ok_or("controllers make built-in kinds")?;
        resource.strategy().set_defaults(&mut wanted);
        let nothing = || Value::Null;
        let object = road::create(&resource, wanted, &self.lookup, &nothing, &mut Vec::new());
        let mut object = object.map_err(|status| status.message)?;
        names::settle(&mut object);
        Ok((resource, object))
    }
}

/// Makes a cluster of what was read, or says everything that is wrong with it.
pub fn prepare(input: Input) -> Result<Prepared, Vec<LoadError>> {
    let Input {
        manifests,
        passed_over,
        errors,
    } = input;
    let mut preparation = Preparation {
        errors,
        ..Preparation::default()
    };
    let mut warnings = Vec::from_iter(warnings::of_passed_over(&passed_over));
    preparation.read(manifests);
    warnings.extend(preparation.unknown.warnings());
    if !preparation.errors.is_empty() {
        let mut errors = preparation.errors;
        errors.sort_by(|a, b| a.place().cmp(&b.place()));
        return Err(errors);
    }
    let mut objects: Vec<Loaded> = preparation.objects.drain(..).flatten().collect();
    names::check_uids(&objects, &mut preparation.errors);
    let read = objects.len();
    limits::check(&preparation.cluster.workloads.all).map_err(|error| vec![error])?;
    objects.extend(preparation.make());
    if !preparation.errors.is_empty() {
        return Err(preparation.errors);
    }
    names::imply_namespaces(&mut objects);
    claims::bind_named(&mut objects);
    budgets::fill(&mut objects);
    warnings.extend(warnings::of_objects(&objects));
    Ok(Prepared {
        objects,
        read,
        warnings,
        cluster: preparation.cluster,
    })
}

/// A cluster in the making.
#[derive(Default)]
struct Preparation {
    cluster: Cluster,
    names: Names,
    /// In the order of reading; none where there is nothing for scheduling.
    objects: Vec<Option<Loaded>>,
    /// Claims that pods' volumes want.
    claims: Vec<(Source, Value)>,
    unknown: Unknown,
    errors: Vec<LoadError>,
}

impl Preparation {
    /// Sends all objects down the road: first what admission looks at, pods last.
    fn read(&mut self, manifests: Vec<Manifest>) {
        let turn = |manifest: &Manifest| match &manifest.resource {
            resource if Objects::wants(resource) => 0,
            resource if resource.is("", "pods") => 2,
            _ => 1,
        };
        let mut by_turn: BTreeMap<u8, Vec<(usize, Manifest)>> = BTreeMap::new();
        self.objects.resize_with(manifests.len(), || None);
        for (place, manifest) in manifests.into_iter().enumerate() {
            let turn = by_turn.entry(turn(&manifest)).or_default();
            turn.push((place, manifest));
        }
        for (place, manifest) in by_turn.into_values().flatten() {
            self.objects[place] = self.take(manifest);
        }
    }

    fn take(&mut self, manifest: Manifest) -> Option<Loaded> {
        let Manifest {
            source,
            resource,
            json,
        } = manifest;
        let names = &mut self.names;
        let mut complete = |object: &mut Value| names.complete(&resource, object);
        let (lookup, warn) = (&self.cluster.lookup, FieldValidation::Warn);
        let accepted = road::accept(&resource, &json, lookup, warn, &mut complete);
        let mut accepted = match accepted {
            Ok(accepted) => accepted,
            Err(status) => {
                self.errors.push(LoadError::object(&source, status.message));
                return None;
            }
        };
        self.unknown.note(&resource, &source, accepted.problems);
        names::settle(&mut accepted.object);
        if let Err(error) = self
            .names
            .check_duplicate(&resource, &accepted.object, &source)
        {
            self.errors.push(error);
            return None;
        }
        self.keep(source, &resource, accepted.object)
    }

    /// Remembers what others ask about an object, and makes the typed view of it.
    fn keep(&mut self, source: Source, resource: &Resource, object: Value) -> Option<Loaded> {
        self.cluster.view.see(&object);
        if resource.is("", "pods") {
            let claims = ephemeral::reconcile(&self.cluster.view, &object);
            let claims = claims.into_iter().map(|claim| (source.clone(), claim));
            self.claims.extend(claims);
        }
        if workloads::is_workload(resource.kind()) {
            self.names.owner(&object);
            let workload = (source.clone(), object.clone());
            self.cluster.workloads.all.push(workload);
        }
        if Objects::wants(resource) {
            let (group, plural) = (resource.group(), resource.plural());
            self.cluster.lookup.put(group, plural, object.clone());
        }
        if !typed::is_read(&object) {
            return None;
        }
        match typed::object(&object) {
            Ok(object) => Some(Loaded { source, object }),
            Err(message) => {
                self.errors.push(LoadError::object(&source, message));
                None
            }
        }
    }

    /// Makes what workloads lack, then the claims of ephemeral volumes.
    fn make(&mut self) -> Vec<Loaded> {
        let mut made = Vec::new();
        for turn in workloads::turns(&self.cluster.workloads) {
            for (source, wanted) in workloads::wanted(&self.cluster, &turn) {
                made.extend(self.create(source, wanted));
            }
        }
        for (source, claim) in std::mem::take(&mut self.claims) {
            made.extend(self.create(source, claim));
        }
        made
    }

    fn create(&mut self, source: Source, wanted: Value) -> Option<Loaded> {
        let title = format!(
            "{} {}/{}",
            wanted.text("kind"),
            meta::namespace(&wanted),
            meta::name(&wanted)
        );
        match self.cluster.create(wanted) {
            Ok((resource, object)) => self.keep(source, &resource, object),
            Err(message) => {
                let message = format!("{title}: {message}");
                self.errors.push(LoadError::object(&source, message));
                None
            }
        }
    }
}
