//! Pods in PreBind that wait for something to come true: changes of objects tell when it has.

use crate::framework::{ObjectKey, Seen, Wait};
use crate::model::Object;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use stowplan_base::{Marks, Time};

/// All pods that wait for something in PreBind, by uid, and who is concerned by which object.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pods: BTreeMap<Arc<str>, PodWaits>,
    concerned: BTreeMap<ObjectKey, Vec<Arc<str>>>,
    /// How many of the pods wait at this moment.
    waiting: usize,
}

/// What a pod waits for, now or at a later step.
#[derive(Debug, Default)]
struct PodWaits {
    seen: Seen,
    /// Under which it is known to [`Waits::concerned`].
    keys: Vec<ObjectKey>,
    /// What it waits for now, by whose wish, and until when.
    now: Option<(Wait, &'static str, Time)>,
}

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// How many pods wait at this moment.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// A pod will wait for something that depends on these objects: what is said of them from now
    /// on is kept.
    pub(super) fn listen(&mut self, uid: &Arc<str>, keys: &[ObjectKey]) {
        let pod = self.pods.entry(uid.clone()).or_default();
        for key in keys {
            if !pod.keys.contains(key) {
                pod.keys.push(*key);
                self.concerned.entry(*key).or_default().push(uid.clone());
            }
        }
    }

    /// From now on the pod waits for this.
    pub(super) fn begin(&mut self, uid: &Arc<str>, wait: Wait, plugin: &'static str, until: Time) {
        self.listen(uid, &wait.on);
        if let Some(pod) = self.pods.get_mut(uid) {
            pod.now = Some((wait, plugin, until));
            self.waiting += 1;
        }
    }

    /// What a pod waits for now, with what it has seen.
    pub(super) fn current(&self, uid: &str) -> Option<(&Wait, &'static str, &Seen)> {
        let pod = self.pods.get(uid)?;
        let (wait, plugin, _) = pod.now.as_ref()?;
        Some((wait, plugin, &pod.seen))
    }

    /// It has come true.
    pub(super) fn came_true(&mut self, uid: &str) {
        if let Some(pod) = self.pods.get_mut(uid)
            && pod.now.take().is_some()
        {
            self.waiting -= 1;
        }
    }

    /// A pod waits no more.
    pub(super) fn end(&mut self, uid: &str) {
        let Some(pod) = self.pods.remove(uid) else {
            return;
        };
        self.waiting -= usize::from(pod.now.is_some());
        for key in pod.keys {
            if let Some(pods) = self.concerned.get_mut(&key) {
                pods.retain(|other| **other != *uid);
                if pods.is_empty() {
                    self.concerned.remove(&key);
                }
            }
        }
    }

    /// The API said something about an object, or that it is gone; whom this concerns.
    pub(super) fn saw(&mut self, key: ObjectKey, now: Option<&(u64, Object)>) -> Vec<Arc<str>> {
        let concerned = self.concerned.get(&key).cloned().unwrap_or_default();
        for uid in &concerned {
            if let Some(pod) = self.pods.get_mut(uid) {
                pod.seen.note(key, now.cloned());
            }
        }
        concerned
    }

    /// This was written for a pod.
    pub(super) fn wrote(&mut self, uid: &str, version: u64, object: Object) {
        if let Some(pod) = self.pods.get_mut(uid) {
            let (namespace, name) = object.key();
            let key = (object.kind(), namespace, name);
            pod.seen.wrote(key, version, object);
        }
    }

    /// The pods that have waited for too long, and those who wanted them to.
    pub(super) fn overdue(&self, now: Time) -> Vec<(Arc<str>, &'static str, &'static str)> {
        let overdue = |(uid, pod): (&Arc<str>, &PodWaits)| {
            let (wait, plugin, until) = pod.now.as_ref()?;
            (*until <= now).then(|| (uid.clone(), *plugin, wait.timed_out))
        };
        self.pods.iter().filter_map(overdue).collect()
    }

    /// When the first pod has waited for too long.
    pub(super) fn next_overdue(&self) -> Option<Time> {
        let pods = self.pods.values();
        pods.filter_map(|pod| pod.now.as_ref().map(|(_, _, until)| *until))
            .min()
    }

    pub(super) fn mark_names(&self, marks: &mut Marks) {
        for pod in self.pods.values() {
            pod.keys.hash(marks);
            for object in pod.seen.objects() {
                object.hash(marks);
            }
        }
    }
}
