//! Whether a pod's volumes are bound. Upstream's `checkBindings` (`volumebinding/binder.go`).

use super::assume::Change;
use crate::Snapshot;
use crate::framework::{Cx, ObjectKey, Seen, Wait, WaitCondition};
use crate::model::{Kind, NodeSelector, Object, PersistentVolumeClaim, Pod};
use std::sync::Arc;
use stowplan_base::{Duration, Sym, sym};

/// Volumes and claims have to be bound before their pod is.
#[derive(Debug)]
struct VolumesBound {
    pod: ObjectKey,
    uid: Arc<str>,
    node: Sym,
    items: Vec<Item>,
}

/// Something that has to come true.
#[derive(Debug)]
enum Item {
    /// The volume is given to the claim.
    Given { volume: ObjectKey, claim: ObjectKey },
    /// A volume is made for the claim.
    Made { claim: ObjectKey },
}

impl Item {
    fn new(change: &Object) -> Option<Self> {
        let claim = |namespace, name| (Kind::PersistentVolumeClaim, namespace, name);
        match change {
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

fn volume_key(name: Sym) -> ObjectKey {
    (Kind::PersistentVolume, Sym::EMPTY, name)
}

/// Until these changes have come true.
pub(super) fn wait(pod: &Pod, node: Sym, changes: &[Change], timeout: Duration) -> Wait {
    let items = changes.iter().map(|change| &change.object);
    let items: Vec<_> = items.filter_map(Item::new).collect();
    let pod_key = (Kind::Pod, pod.namespace, pod.name);
    let mut on = vec![(Kind::Node, Sym::EMPTY, node), pod_key];
    for item in &items {
        match item {
            Item::Given { volume, claim } => on.extend([*volume, *claim]),
            Item::Made { claim } => on.push(*claim),
        }
    }
    let until = VolumesBound {
        pod: pod_key,
        uid: pod.uid.clone(),
        node,
        items,
    };
    Wait {
        until: Arc::new(until),
        on,
        timeout,
        timed_out: "binding volumes: context deadline exceeded",
    }
}

impl WaitCondition for VolumesBound {
    fn check(&self, cx: Cx<'_>, seen: &Seen, listen: &mut Vec<ObjectKey>) -> Result<bool, String> {
        // The volume that a claim was given may be told later than the claim.
        for item in &self.items {
            let (Item::Given { claim, .. } | Item::Made { claim }) = item;
            if let Some(Some(claim)) = claim_of(seen, claim)
                && !claim.volume_name.is_empty()
            {
                listen.push(volume_key(claim.volume_name));
            }
        }
        self.are_bound(cx.cluster, seen)
            .map_err(|error| format!("binding volumes: {error}"))
    }
}

impl VolumesBound {
    fn are_bound(&self, cluster: &Snapshot, seen: &Seen) -> Result<bool, String> {
        let name = |name| cluster.names.text(name);
        if cluster.node(self.node).is_none() {
            let node = name(self.node);
            return Err(format!(
                "failed to get node {node:?}: node {node:?} not found"
            ));
        }
        let pod = cluster.listed_pod(self.pod.1, self.pod.2);
        if pod.is_none_or(|pod| pod.uid != self.uid) {
            let pod = name(self.pod.2);
            return Err(format!(
                "pod does not exist any more: pod {pod:?} not found"
            ));
        }
        let mut all = true;
        for item in &self.items {
            all &= match item {
                Item::Given { volume, claim } => self.is_given(cluster, seen, volume, claim)?,
                Item::Made { claim } => self.is_made(cluster, seen, claim)?,
            };
        }
        Ok(all)
    }

    fn is_given(
        &self,
        cluster: &Snapshot,
        seen: &Seen,
        volume: &ObjectKey,
        claim: &ObjectKey,
    ) -> Result<bool, String> {
        let not_found = |kind: &str, key: &ObjectKey| {
            let name = cluster.names.text(key.2);
            format!("failed to check binding: {kind} {name:?} not found")
        };
        let given = match seen.get(volume) {
            Some(Some(Object::PersistentVolume(volume))) => volume,
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
        match claim_of(seen, claim) {
            Some(Some(claim)) => Ok(claim.is_fully_bound()),
            // Nothing was told since: it is as unbound as it was.
            None => Ok(false),
            Some(None) => Err(not_found("persistentvolumeclaim", claim)),
        }
    }

    fn is_made(&self, cluster: &Snapshot, seen: &Seen, key: &ObjectKey) -> Result<bool, String> {
        let name = cluster.names.text(key.2);
        let claim = match claim_of(seen, key) {
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

/// Nothing, if nothing was told; nothing inside, if it is gone.
fn claim_of<'a>(seen: &'a Seen, key: &ObjectKey) -> Option<Option<&'a PersistentVolumeClaim>> {
    Some(match seen.get(key)? {
        Some(Object::PersistentVolumeClaim(claim)) => Some(claim),
        _ => None,
    })
}
