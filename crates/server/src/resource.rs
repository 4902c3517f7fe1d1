//! What is served: built-in kinds and those that CustomResourceDefinitions add.

use crate::crd::Custom;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError, RwLock};
use stowplan_kinds::table;
pub(crate) use stowplan_registry::Resource;
use stowplan_store::{Entry, Revision};

/// All resources of the moment.
#[derive(Default)]
pub(crate) struct Resources {
    custom: RwLock<Served>,
    compiled: Mutex<HashMap<(Bytes, Revision), Arc<stowplan_crd::Definition>>>,
    settling: tokio::sync::Mutex<()>,
    /// Tells who follows custom resources that other ones are served.
    changed: tokio::sync::watch::Sender<u64>,
}

/// The custom resources that are served, and the how-manieth set of them that is.
#[derive(Clone, Default)]
struct Served(u64, Arc<Vec<Resource>>);

impl Resources {
    fn served(&self) -> Served {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        custom.clone()
    }

    fn customs(&self) -> Arc<Vec<Resource>> {
        self.served().1
    }

    /// The custom resources of the moment, and the number of this set: every other one has another.
    pub(crate) fn custom(&self) -> (u64, Vec<Custom>) {
        let Served(set, all) = self.served();
        let all = all.iter().filter_map(|r| r.custom().cloned());
        (set, all.collect())
    }

    /// Tells whenever another set of them is served.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Held while definitions are brought to where they shall be.
    pub(crate) fn settling(&self) -> &tokio::sync::Mutex<()> {
        &self.settling
    }

    /// What a definition came to when it was last looked at, unless it has changed since.
    pub(crate) fn compiled(
        &self,
        entry: &Entry,
        compile: impl FnOnce() -> stowplan_crd::Definition,
    ) -> Arc<stowplan_crd::Definition> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let known = compiled.entry((entry.key.clone(), entry.mod_revision));
        Arc::clone(known.or_insert_with(|| Arc::new(compile())))
    }

    /// Serves these custom resources, made of these definitions, and no others.
    pub(crate) fn serve(&self, custom: Vec<Custom>, of: &[Arc<Entry>]) {
        let custom = custom.into_iter().map(Resource::of_custom);
        let custom = Arc::new(custom.collect());
        let mut served = self.custom.write().unwrap_or_else(PoisonError::into_inner);
        let set = served.0 + 1;
        *served = Served(set, custom);
        drop(served);
        self.changed.send_replace(set);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let current: HashSet<_> = of.iter().map(|e| (&e.key, e.mod_revision)).collect();
        compiled.retain(|(key, revision), _| current.contains(&(key, *revision)));
    }

    /// The resource that a URL names.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Resource> {
        if let Some(built_in) = Resource::by_plural(group, Some(version), plural) {
            return Some(built_in);
        }
        let found =
            |r: &&Resource| r.group() == group && r.version() == version && r.plural() == plural;
        self.customs().iter().find(found).cloned()
    }

    /// The resource of a group, in whatever version.
    pub(crate) fn by_group(&self, group: &str, plural: &str) -> Option<Resource> {
        if let Some(built_in) = Resource::by_plural(group, None, plural) {
            return Some(built_in);
        }
        let found = |r: &&Resource| r.group() == group && r.plural() == plural;
        self.customs().iter().find(found).cloned()
    }

    /// All resources.
    pub(crate) fn all(&self) -> impl Iterator<Item = Resource> {
        stowplan_registry::served().chain(Vec::clone(&self.customs()))
    }

    /// Whether kinds of that group are built in.
    pub(crate) fn is_built_in(&self, group: &str) -> bool {
        table::KINDS.iter().any(|k| k.group == group)
    }

    /// Whether anything of that group, or of that group and version, is served.
    pub(crate) fn serves(&self, group: &str, version: Option<&str>) -> bool {
        let fits = |g: &str, v: &str| g == group && version.is_none_or(|version| v == version);
        table::KINDS.iter().any(|k| fits(k.group, k.version))
            || self.customs().iter().any(|r| fits(r.group(), r.version()))
    }
}
