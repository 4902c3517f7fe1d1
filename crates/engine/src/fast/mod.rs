//! The fast path: pods that are alike are decided from what is kept about them.
//!
//! A class holds, for pods that look alike to every plugin, one row per node: a
//! score that concerns the node alone, and the node's group. Nodes are in one group if the rules
//! that look beyond the node see the same of them; those rules are asked group by group. When a
//! class is used again it takes in the changes that the snapshot logged meanwhile: a pod that was
//! bound changes one row.
//!
//! No rule is written here. Every verdict and every score comes from the plugin's one function for
//! it, or, for cpu and memory, from the summary of a node; a test holds the two equal. What cannot
//! be kept is asked anew or takes the plain path ([`schedule`](crate::schedule)). Both paths always
//! agree.

mod ask;
mod best;
mod catch_up;
mod claims;
mod class;
mod columns;
mod decide;
mod evaluate;
mod explain;
mod full_evaluation;
mod groups;
mod incremental;
mod kept_dry_runs;
mod layout;
mod marks;
mod nowhere;
mod signature;
mod top_nodes;

pub use decide::{Decision, Ties};
pub(crate) use nowhere::Refusal;
pub use top_nodes::{TOP_NODES_MAX, TopNodes};

use crate::cast::narrow;
use crate::framework::{Cx, CycleState, Framework, Plan};
use crate::model::Pod;
use class::{Class, Profile, Scratch};
use std::sync::Arc;
use stowplan_base::Lookup;

/// How attempts are decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Path {
    /// Every attempt looks at every node.
    Plain,
    /// From what is kept.
    #[default]
    Fast,
}

/// About how many bytes all classes together may take up before the coldest are forgotten.
pub(crate) const MOST_BYTES: usize = 512 << 20;

/// All classes of one profile over one snapshot.
#[derive(Default)]
pub struct Classes {
    plan: Option<Plan>,
    classes: Vec<Entry>,
    /// The first class of each hash.
    by_hash: Lookup<u64, u32>,
    scratch: Scratch,
    /// How many attempts there were.
    round: u64,
    bytes: usize,
    most_bytes: Option<usize>,
    stats: Stats,
    /// The class that was decided last.
    last: usize,
    /// The class that was looked for last: pods that are alike often come together.
    recent: usize,
}

/// How often what happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Attempts and explanations whose class was there.
    pub warm: u64,
    /// Classes that were opened.
    pub opened: u64,
    /// Classes that were forgotten for want of room.
    pub evicted: u64,
    /// Attempts that took the plain path.
    pub plain: u64,
    /// Looks at all nodes for which only one of those that are alike was put into its group.
    pub alike: u64,
    /// Looks at all nodes for which each was.
    pub each: u64,
}

struct Entry {
    class: Class,
    hash: u64,
    /// The next class of the same hash.
    next: Option<u32>,
    /// The attempt that used it last.
    used: u64,
    /// About how large it was when it was last measured.
    bytes: usize,
    /// How often it was used since.
    uses: u32,
}

/// A class may grow with the cluster: it is measured again after so many uses.
const USES: u32 = 32;

impl Classes {
    /// No classes yet; they may take up about so many bytes.
    pub fn with_limit(bytes: usize) -> Self {
        Self {
            most_bytes: Some(bytes),
            ..Self::default()
        }
    }

    /// Forgets all classes.
    pub(crate) fn forget_all(&mut self) {
        *self = Self {
            plan: self.plan.take(),
            most_bytes: self.most_bytes,
            stats: self.stats(),
            ..Self::default()
        };
    }

    /// How often what happened.
    pub fn stats(&self) -> Stats {
        Stats {
            alike: self.scratch.evaluation.alike_looks,
            each: self.scratch.evaluation.each_looks,
            ..self.stats
        }
    }

    /// What the plugins remember of the pods that fit nowhere and were decided last.
    pub(crate) fn last_cycle(&self) -> &CycleState {
        &self.classes[self.last].class.cycle
    }

    /// About how many bytes all classes take up.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The class of a pod, up to date.
    fn class_of(&mut self, framework: &Framework, cx: Cx<'_>, pod: &Pod) -> usize {
        self.round += 1;
        self.make_room(0);
        let (read, names) = (cx.cluster.read_keys(), &cx.cluster.names);
        let is_like = |entry: &Entry| signature::is_like(pod, &entry.class.example, read, names);
        let mut hash = None;
        let found = match self.classes.get(self.recent) {
            Some(entry) if is_like(entry) => Some(self.recent),
            _ => {
                let hash = *hash.insert(signature::hash(pod, read, names));
                self.find(hash, is_like)
            }
        };
        let plan = self.plan.get_or_insert_with(|| framework.plan());
        let profile = Profile { framework, plan };
        if let Some(at) = found {
            let entry = &mut self.classes[at];
            entry.used = self.round;
            entry.class.catch_up(profile, cx, &mut self.scratch);
            entry.uses += 1;
            if entry.uses >= USES {
                entry.uses = 0;
                let bytes = entry.class.size(framework);
                self.bytes = self.bytes + bytes - std::mem::replace(&mut entry.bytes, bytes);
            }
            self.stats.warm += 1;
            self.recent = at;
            return at;
        }
        self.stats.opened += 1;
        let example = Arc::new(signature::example(pod, read, names));
        let class = Class::open(profile, cx, example, &mut self.scratch);
        let hash = hash.unwrap_or_else(|| signature::hash(pod, read, names));
        let bytes = class.size(framework);
        self.recent = self.insert(hash, class, bytes);
        self.recent
    }

    /// The class of this hash for which `is_it` holds.
    fn find(&self, hash: u64, is_it: impl Fn(&Entry) -> bool) -> Option<usize> {
        let mut found = self.by_hash.get(&hash).copied();
        while let Some(at) = found {
            let entry = &self.classes[at as usize];
            if is_it(entry) {
                return Some(at as usize);
            }
            found = entry.next;
        }
        None
    }

    fn insert(&mut self, hash: u64, class: Class, bytes: usize) -> usize {
        self.make_room(bytes);
        let at = self.classes.len();
        self.classes.push(Entry {
            class,
            hash,
            next: self.by_hash.get(&hash).copied(),
            used: self.round,
            bytes,
            uses: 0,
        });
        self.bytes += bytes;
        self.by_hash.insert(hash, narrow(at));
        at
    }

    /// Forgets classes until there is room for so many more bytes; the one that was used last stays
    /// unless something new comes.
    fn make_room(&mut self, bytes: usize) {
        let most = self.most_bytes.unwrap_or(MOST_BYTES);
        let least = usize::from(bytes == 0);
        while self.bytes + bytes > most && self.classes.len() > least {
            self.evict_coldest();
        }
    }

    /// Forgets the sixteenth of all classes that were not used for longest, at least one: to look for
    /// one at a time among so many would cost more than to open it again.
    fn evict_coldest(&mut self) {
        let mut used: Vec<u64> = self.classes.iter().map(|entry| entry.used).collect();
        let share = used.len() / 16;
        let (_, coldest, _) = used.select_nth_unstable(share);
        let coldest = *coldest;
        // From the end: whoever takes the place of one that goes was looked at.
        for at in (0..self.classes.len()).rev() {
            if self.classes[at].used < coldest || share == 0 && self.classes[at].used == coldest {
                self.evict(at);
            }
        }
    }

    fn evict(&mut self, at: usize) {
        let last = self.classes.len() - 1;
        self.unlink(at);
        let gone = self.classes.swap_remove(at);
        self.bytes -= gone.bytes;
        self.stats.evicted += 1;
        if at != last {
            // The last class took its place: whoever pointed there points here now.
            let hash = self.classes[at].hash;
            self.repoint(hash, narrow(last), Some(narrow(at)));
        }
    }

    fn unlink(&mut self, at: usize) {
        let Entry { hash, next, .. } = self.classes[at];
        self.repoint(hash, narrow(at), next);
    }

    /// In the chain of a hash, puts `to` in the place of `from`.
    fn repoint(&mut self, hash: u64, from: u32, to: Option<u32>) {
        if self.by_hash.get(&hash) == Some(&from) {
            match to {
                Some(to) => self.by_hash.insert(hash, to),
                None => self.by_hash.remove(&hash),
            };
            return;
        }
        let mut at = self.by_hash.get(&hash).copied();
        while let Some(i) = at {
            let entry = &mut self.classes[i as usize];
            if entry.next == Some(from) {
                entry.next = to;
                return;
            }
            at = entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::PluginArgs;
    use crate::framework::{Plugins, expand};
    use crate::plugins::registry::in_tree;
    use crate::testing::World;

    #[test]
    fn classes_that_grow_with_the_cluster_push_colder_ones_out() {
        let mut world = World::default();
        let plugins = Plugins::default_plugins();
        let args = PluginArgs::default();
        let framework = expand("p", &plugins, &args, &in_tree()).unwrap();
        let mut classes = Classes::with_limit(64 << 10);
        let add_nodes = |world: &mut World, numbers: std::ops::Range<usize>| {
            for i in numbers {
                let node = world.node(&format!("n{i}"), &[]);
                world.add_node(node);
            }
        };
        add_nodes(&mut world, 0..10);
        let warm = world.pod("ns/warm", &[]);
        let mut cold = world.pod("ns/cold", &[]);
        cold.priority = 1;
        for pod in [&cold, &warm] {
            classes.schedule_pod(&framework, world.cx(), pod);
        }
        assert_eq!(classes.len(), 2, "there is room for both");
        // One by one, so that the class grows and is not opened anew.
        for i in 10..6_000 {
            add_nodes(&mut world, i..i + 1);
            if i % 20 == 0 {
                classes.schedule_pod(&framework, world.cx(), &warm);
            }
        }
        assert_eq!(classes.stats().evicted, 1);
        assert_eq!(classes.len(), 1);
    }
}
