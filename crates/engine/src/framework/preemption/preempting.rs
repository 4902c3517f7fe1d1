//! Preemptions that are being carried out. Upstream's `framework/preemption/executor.go`.

use crate::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::Sym;

/// Preemptions that are being carried out, by the preemptor's uid. Written by whoever carries them
/// out; read by DefaultPreemption's PreEnqueue.
///
/// ```text
/// start ──▶ evicting all victims but one ──last_victim──▶ evicting the last ──▶ end
///           (gates)                                       (gates until that pod is terminating)
/// ```
///
/// While a preemptor is gated, it is not tried again and cannot ask for the same evictions twice.
#[derive(Clone, Debug, Default)]
pub struct Preempting {
    running: BTreeSet<Arc<str>>,
    /// (namespace, name) of the last victim.
    last_victims: BTreeMap<Arc<str>, (Sym, Sym)>,
}

impl Preempting {
    /// Victims of this pod are being evicted.
    pub fn start(&mut self, preemptor: &Arc<str>) {
        self.running.insert(preemptor.clone());
    }

    /// Only one victim is left to be evicted.
    pub fn last_victim(&mut self, preemptor: &Arc<str>, namespace: Sym, name: Sym) {
        self.last_victims
            .insert(preemptor.clone(), (namespace, name));
    }

    /// All victims were evicted, or an eviction failed.
    pub fn end(&mut self, preemptor: &str) {
        self.running.remove(preemptor);
        self.last_victims.remove(preemptor);
    }

    /// (namespace, name) of the last victims that are being evicted.
    pub(crate) fn last_victims(&self) -> impl Iterator<Item = (Sym, Sym)> {
        self.last_victims.values().copied()
    }

    /// Whether the pod has to wait for its preemption to end.
    pub fn gates(&self, cluster: &Snapshot, preemptor: &str) -> bool {
        if !self.running.contains(preemptor) {
            return false;
        }
        match self.last_victims.get(preemptor) {
            None => true,
            // Its deletion may be seen before the answer to the call that asked for it.
            Some((namespace, name)) => cluster
                .listed_pod(*namespace, *name)
                .is_some_and(|victim| !victim.terminating),
        }
    }
}
