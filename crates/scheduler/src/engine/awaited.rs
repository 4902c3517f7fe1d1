//! Pods whose volumes are being bound: the watches tell when they are. Upstream's `checkBindings`
//! (`volumebinding/binder.go`).

use super::Engine;
use crate::message::VolumesWritten;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Marks, Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Kind, NodeSelector, Object, PersistentVolumeClaim};
use tokio::sync::oneshot;

/// An object, by kind, namespace and name.
type Key = (Kind, Sym, Sym);

/// What comes of waiting.
type Answer = oneshot::Sender<Result<(), String>>;

/// All pods in PreBind, by uid, and who is concerned by which object.
#[derive(Default)]
pub(super) struct Awaited {
    waits: HashMap<Arc<str>, Wait>,
    /// How many of them have everything written.
    written: usize,
    concerned: HashMap<Key, Vec<Arc<str>>>,
}

/// A pod that waits for its volumes.
struct Wait {
    pod: (Sym, Sym),
    node: Sym,
    items: Vec<Item>,
    /// What the API said last of the volumes and claims since the pod waits, with its version;
    /// nothing of those that are gone.
    seen: BTreeMap<Key, Option<(u64, Object)>>,
    /// Under which it is known to [`Awaited::concerned`].
    keys: Vec<Key>,
    /// Who is told, once everything is written.
    answer: Option<Answer>,
}

/// Something that has to come true.
enum Item {
    /// The volume is given to the claim.
    Given { volume: Key, claim: Key },
    /// A volume is made for the claim.
    Made { claim: Key },
}

impl Item {
    fn new(write: &Object) -> Option<Self> {
        let claim = |namespace, name| (Kind::PersistentVolumeClaim, namespace, name);
        match write {
            Object::PersistentVolume(volume) => {
                let given = volume.claim_ref.as_ref()?;
                Some(Self::Given {
                    volume: volume_key(volume.name),
                    claim: claim(given.namespace, given.name),
                })
            }
            Object::PersistentVolumeClaim(made) => Some(Self::Made {
                claim: claim(made.namespace, made.name),
            }),
            _ => None,
        }
    }
}

fn volume_key(name: Sym) -> Key {
    (Kind::PersistentVolume, Sym::EMPTY, name)
}

impl Awaited {
    /// How many pods wait for their volumes, with everything written.
    pub(super) fn len(&self) -> usize {
        self.written
    }

    /// Marks the names of all that is waited for.
    pub(super) fn mark_names(&self, marks: &mut Marks) {
        for wait in self.waits.values() {
            (wait.pod, wait.node, &wait.keys).hash(marks);
            for seen in wait.seen.values().flatten() {
                seen.1.hash(marks);
            }
        }
    }

    /// Everything is written for a pod: from now on it waits.
    pub(super) fn wait(&mut self, uid: &str, answer: Answer) {
        if let Some(wait) = self.waits.get_mut(uid) {
            self.written += usize::from(wait.answer.is_none());
            wait.answer = Some(answer);
        }
    }

    /// A pod waits for this to be written and to come true.
    pub(super) fn begin(&mut self, uid: &Arc<str>, pod: (Sym, Sym), node: Sym, writes: &[&Object]) {
        self.end(uid);
        let items: Vec<_> = writes.iter().filter_map(|write| Item::new(write)).collect();
        let mut keys = vec![(Kind::Node, Sym::EMPTY, node), (Kind::Pod, pod.0, pod.1)];
        for item in &items {
            match item {
                Item::Given { volume, claim } => keys.extend([*volume, *claim]),
                Item::Made { claim } => keys.push(*claim),
            }
        }
        for key in &keys {
            self.concerned.entry(*key).or_default().push(uid.clone());
        }
        let wait = Wait {
            pod,
            node,
            items,
            seen: BTreeMap::new(),
            keys,
            answer: None,
        };
        self.waits.insert(uid.clone(), wait);
    }

    /// A pod waits no more.
    pub(super) fn end(&mut self, uid: &str) {
        let Some(wait) = self.waits.remove(uid) else {
            return;
        };
        self.written -= usize::from(wait.answer.is_some());
        for key in wait.keys {
            if let Some(pods) = self.concerned.get_mut(&key) {
                pods.retain(|other| **other != *uid);
                if pods.is_empty() {
                    self.concerned.remove(&key);
                }
            }
        }
    }

    /// The API said something about an object, or that it is gone; whom this concerns.
    fn saw(&mut self, key: Key, now: Option<&(u64, Object)>) -> Vec<Arc<str>> {
        let concerned = self.concerned.get(&key).cloned().unwrap_or_default();
        for uid in &concerned {
            self.note(uid, key, now);
        }
        concerned
    }

    /// Keeps what is newest about a volume or claim.
    fn note(&mut self, uid: &Arc<str>, key: Key, now: Option<&(u64, Object)>) {
        let Some(wait) = self.waits.get_mut(uid) else {
            return;
        };
        if !matches!(key.0, Kind::PersistentVolume | Kind::PersistentVolumeClaim) {
            return;
        }
        let before = wait.seen.get(&key).and_then(Option::as_ref);
        if let (Some((old, _)), Some((new, _))) = (before, now)
            && old > new
        {
            return;
        }
        // The volume that a claim was given may be told later than the claim.
        if let Some((_, Object::PersistentVolumeClaim(claim))) = now
            && !claim.volume_name.is_empty()
            && !wait.keys.contains(&volume_key(claim.volume_name))
        {
            let volume = volume_key(claim.volume_name);
            wait.keys.push(volume);
            self.concerned.entry(volume).or_default().push(uid.clone());
        }
        wait.seen.insert(key, now.cloned());
    }

    /// This was written, and nothing else is known yet. What is gone was there when it was written.
    fn wrote(&mut self, uid: &Arc<str>, key: Key, now: &(u64, Object)) {
        let wait = self.waits.get(uid);
        if wait.is_some_and(|wait| !matches!(wait.seen.get(&key), Some(None))) {
            self.note(uid, key, Some(now));
        }
    }

    /// Tells a pod's binding if the waiting is over.
    fn settle(&mut self, cluster: &Snapshot, uid: &Arc<str>) {
        let Some(wait) = self.waits.get_mut(uid) else {
            return;
        };
        if wait.answer.is_none() {
            return;
        }
        let outcome = match wait.check(cluster, uid) {
            Ok(false) => return,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if let Some(answer) = wait.answer.take() {
            self.written -= 1;
            // Whoever waited may have given up.
            let _ = answer.send(outcome);
        }
        self.end(uid);
    }
}

impl Wait {
    /// Whether all volumes are bound. An error if they cannot be any more.
    fn check(&self, cluster: &Snapshot, uid: &str) -> Result<bool, String> {
        let name = |name| cluster.names.text(name);
        if cluster.node(self.node).is_none() {
            let node = name(self.node);
            return Err(format!(
                "failed to get node {node:?}: node {node:?} not found"
            ));
        }
        let pod = cluster.listed_pod(self.pod.0, self.pod.1);
        if pod.is_none_or(|pod| *pod.uid != *uid) {
            let pod = name(self.pod.1);
            return Err(format!(
                "pod does not exist any more: pod {pod:?} not found"
            ));
        }
        let mut all = true;
        for item in &self.items {
            all &= match item {
                Item::Given { volume, claim } => self.is_given(cluster, volume, claim)?,
                Item::Made { claim } => self.is_made(cluster, claim)?,
            };
        }
        Ok(all)
    }

    fn is_given(&self, cluster: &Snapshot, volume: &Key, claim: &Key) -> Result<bool, String> {
        let not_found = |kind: &str, key: &Key| {
            let name = cluster.names.text(key.2);
            format!("failed to check binding: {kind} {name:?} not found")
        };
        let given = match self.seen.get(volume) {
            Some(Some((_, Object::PersistentVolume(volume)))) => volume,
            None => return Ok(false),
            Some(_) => return Err(not_found("persistentvolume", volume)),
        };
        self.check_affinity(cluster, given.name, given.node_affinity.as_ref())?;
        if given
            .claim_ref
            .as_ref()
            .is_none_or(|claim| claim.uid.is_empty())
        {
            let name = cluster.names.text(given.name);
            return Err(format!("ClaimRef got reset for pv {name:?}"));
        }
        match self.claim(claim) {
            Some(Some(claim)) => Ok(claim.is_fully_bound()),
            // Nothing was told since: it is as unbound as it was.
            None => Ok(false),
            Some(None) => Err(not_found("persistentvolumeclaim", claim)),
        }
    }

    fn is_made(&self, cluster: &Snapshot, key: &Key) -> Result<bool, String> {
        let name = cluster.names.text(key.2);
        let claim = match self.claim(key) {
            Some(Some(claim)) => claim,
            None => return Ok(false),
            Some(None) => {
                return Err(format!(
                    "failed to check provisioning pvc: persistentvolumeclaim {name:?} not found"
                ));
            }
        };
        if claim.annotations.is_empty() {
            return Err(format!("selectedNode annotation reset for PVC {name:?}"));
        }
        if claim.annotations.get(sym::SELECTED_NODE) != Some(self.node) {
            return Err(format!("provisioning failed for PVC {name:?}"));
        }
        if !claim.volume_name.is_empty() {
            let Some(volume) = cluster.volumes.get(Sym::EMPTY, claim.volume_name) else {
                return Ok(false);
            };
            self.check_affinity(cluster, volume.name, volume.node_affinity.as_ref())?;
        }
        Ok(claim.is_fully_bound())
    }

    /// Nothing, if nothing was told; nothing inside, if it is gone.
    fn claim(&self, key: &Key) -> Option<Option<&PersistentVolumeClaim>> {
        let seen = self.seen.get(key)?;
        Some(match seen {
            Some((_, Object::PersistentVolumeClaim(claim))) => Some(claim),
            _ => None,
        })
    }

    fn check_affinity(
        &self,
        cluster: &Snapshot,
        volume: Sym,
        affinity: Option<&NodeSelector>,
    ) -> Result<(), String> {
        let (Some(affinity), Some(on)) = (affinity, cluster.node(self.node)) else {
            return Ok(());
        };
        if affinity.matches(&on.node, &cluster.names) {
            return Ok(());
        }
        let (volume, node) = (cluster.names.text(volume), cluster.names.text(self.node));
        Err(format!(
            "pv {volume:?} node affinity doesn't match node {node:?}: no matching \
             NodeSelectorTerms"
        ))
    }
}

impl Engine {
    /// All volumes and claims of a pod are written: from now on they can come true.
    pub(super) fn volumes_written(&mut self, written: VolumesWritten) {
        let VolumesWritten {
            uid,
            objects,
            answer,
        } = written;
        for given in &objects {
            if let Ok(Some(object)) = self.convert(given) {
                let (namespace, name) = object.key();
                let key = (object.kind(), namespace, name);
                let now = (version(given), object);
                self.state.awaited.wrote(&uid, key, &now);
            }
        }
        self.state.awaited.wait(&uid, answer);
        self.state.awaited.settle(self.scheduler.cluster(), &uid);
    }

    /// An object changed, or is gone: some may have waited for that.
    pub(super) fn note_awaited(&mut self, key: Key, now: Option<&(u64, Object)>) {
        for uid in self.state.awaited.saw(key, now) {
            self.state.awaited.settle(self.scheduler.cluster(), &uid);
        }
    }
}

/// `metadata.resourceVersion`, which API servers count up.
pub(super) fn version(object: &ApiObject) -> u64 {
    let version = object.metadata().resource_version.as_deref();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}
