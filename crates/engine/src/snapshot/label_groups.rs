//! Placed pods that are the same to every selector, kept together.

use crate::cast::narrow;
use crate::model::{Labels, Op, Pod, Requirement, Selector};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use stowplan_base::{Lookup, Sym, WordHasher};

/// A label group as a number. Numbers are given anew only when the change log is forgotten.
pub(crate) type LabelGroupId = u32;

/// Pods on nodes that have their namespace, labels and affinity terms in common, and whether they
/// are terminating: a selector or a term that means one of them means all.
#[derive(Clone, Debug)]
pub(crate) struct LabelGroup {
    /// One of them, as it was once.
    pub(crate) example: Arc<Pod>,
    members: Vec<Member>,
    /// The marks of their labels.
    labels: u64,
    /// The marks of which a pod's labels must have one for a term to mean it.
    terms: u64,
    hash: u64,
    /// The next label group of the same hash.
    next: Option<LabelGroupId>,
}

#[derive(Clone, Debug)]
struct Member {
    uid: Arc<str>,
    node: Sym,
}

impl LabelGroup {
    /// Whether they could matter to pods whose labels have these marks and who look for labels with
    /// those.
    pub(crate) fn may_matter(&self, labels: u64, label_marks: u64) -> bool {
        self.labels & label_marks != 0 || self.terms & labels != 0
    }

    /// The names of their nodes, one for each pod; a node need not exist.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Sym> {
        self.members.iter().map(|member| member.node)
    }
}

/// All label groups, to be found by what selectors ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelGroups {
    groups: Vec<LabelGroup>,
    by_hash: Lookup<u64, LabelGroupId>,
    /// Those that bear a label.
    by_label: Lookup<(Sym, Sym), Vec<LabelGroupId>>,
    /// Those with a term that means only pods with this label.
    by_term: Lookup<(Sym, Sym), Vec<LabelGroupId>>,
    /// Those with a term that may mean pods of any labels.
    by_open_term: Vec<LabelGroupId>,
    empty: usize,
}

impl LabelGroups {
    /// How many label groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The label group of a number.
    pub(crate) fn get(&self, id: LabelGroupId) -> &LabelGroup {
        &self.groups[id as usize]
    }

    /// Adds a pod; returns its label group and its place there.
    pub(super) fn add(&mut self, pod: &Arc<Pod>, node: Sym) -> (LabelGroupId, u32) {
        let hash = hash(pod);
        let id = match self.find(pod, hash) {
            Some(id) => id,
            None => self.found(pod, hash),
        };
        let members = &mut self.groups[id as usize].members;
        if members.is_empty() {
            self.empty -= 1;
        }
        members.push(Member {
            uid: pod.uid.clone(),
            node,
        });
        (id, narrow(members.len()) - 1)
    }

    /// Takes the pod at this place out; returns the uid of the pod that has its place now, if any.
    pub(super) fn remove(&mut self, id: LabelGroupId, place: u32) -> Option<Arc<str>> {
        let members = &mut self.groups[id as usize].members;
        members.swap_remove(place as usize);
        if members.is_empty() {
            self.empty += 1;
        }
        members.get(place as usize).map(|moved| moved.uid.clone())
    }

    /// Whether so many label groups are empty that it pays to begin anew.
    pub(super) fn is_sparse(&self) -> bool {
        self.empty > 1024 && self.empty * 2 > self.groups.len()
    }

    /// Calls `see` with all label groups that the selector may select: those that it selects are among them.
    pub(crate) fn selected<'a>(&'a self, selector: &Selector, mut see: impl FnMut(&'a LabelGroup)) {
        let Selector::All(requirements) = selector else {
            return;
        };
        let narrow = |r: &&Requirement| r.op == Op::In;
        let found = |r: &&Requirement| -> usize {
            let values = r.values.iter();
            values.map(|value| self.bearing(r.key, *value).len()).sum()
        };
        match requirements.iter().filter(narrow).min_by_key(found) {
            Some(requirement) => {
                let mut values = requirement.values.to_vec();
                values.sort_unstable();
                values.dedup();
                for value in values {
                    for id in self.bearing(requirement.key, value) {
                        see(self.get(*id));
                    }
                }
            }
            None => self.groups.iter().for_each(see),
        }
    }

    fn bearing(&self, key: Sym, value: Sym) -> &[LabelGroupId] {
        self.by_label.get(&(key, value)).map_or(&[], |ids| ids)
    }

    /// Calls `see` with all label groups that have a term which may mean a pod with these labels.
    pub(crate) fn with_terms_for<'a>(&'a self, labels: &Labels, see: impl FnMut(&'a LabelGroup)) {
        let listed = labels.iter().filter_map(|label| self.by_term.get(&label));
        let mut ids: Vec<LabelGroupId> = listed.flatten().copied().collect();
        ids.extend_from_slice(&self.by_open_term);
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(|id| self.get(id)).for_each(see);
    }

    fn find(&self, pod: &Pod, hash: u64) -> Option<LabelGroupId> {
        let mut found = self.by_hash.get(&hash).copied();
        while let Some(id) = found {
            let label_group = self.get(id);
            if are_alike(pod, &label_group.example) {
                return Some(id);
            }
            found = label_group.next;
        }
        None
    }

    /// Adds a label group without members.
    fn found(&mut self, pod: &Arc<Pod>, hash: u64) -> LabelGroupId {
        let id = narrow(self.groups.len());
        self.groups.push(LabelGroup {
            example: pod.clone(),
            members: Vec::new(),
            labels: pod.labels.marks(),
            terms: pod
                .affinity_terms()
                .fold(0, |marks, term| marks | term.selector.marks()),
            hash,
            next: self.by_hash.insert(hash, id),
        });
        self.empty += 1;
        for label in pod.labels.iter() {
            self.by_label.or_insert_with(label, Vec::new).push(id);
        }
        for term in pod.affinity_terms() {
            self.list_term(id, &term.selector);
        }
        id
    }

    fn list_term(&mut self, id: LabelGroupId, selector: &Selector) {
        let narrow = |r: &&Requirement| r.op == Op::In;
        let requirement = match selector {
            Selector::Nothing => return,
            Selector::All(requirements) => requirements.iter().find(narrow),
        };
        match requirement {
            Some(requirement) => {
                for value in &requirement.values {
                    let key = (requirement.key, *value);
                    self.by_term.or_insert_with(key, Vec::new).push(id);
                }
            }
            None => self.by_open_term.push(id),
        }
    }

    /// Forgets empty label groups. Returns every pod with its new label group and place.
    pub(super) fn compact(&mut self) -> Vec<(Arc<str>, LabelGroupId, u32)> {
        let old = std::mem::take(self);
        let mut moved = Vec::new();
        for label_group in old.groups {
            if label_group.members.is_empty() {
                continue;
            }
            let id = self.found(&label_group.example, label_group.hash);
            self.empty -= 1;
            let places = (0..).zip(&label_group.members);
            moved.extend(places.map(|(place, member)| (member.uid.clone(), id, place)));
            self.groups[id as usize].members = label_group.members;
        }
        moved
    }
}

fn hash(pod: &Pod) -> u64 {
    let mut hasher = WordHasher::default();
    (pod.namespace, pod.terminating, &pod.labels).hash(&mut hasher);
    (&pod.pod_affinity, &pod.pod_anti_affinity).hash(&mut hasher);
    hasher.finish()
}

fn are_alike(a: &Pod, b: &Pod) -> bool {
    a.namespace == b.namespace
        && a.terminating == b.terminating
        && a.labels == b.labels
        && a.pod_affinity == b.pod_affinity
        && a.pod_anti_affinity == b.pod_anti_affinity
}
