//! Nodes that look alike to a class of pods.

use crate::cast::{low_half, narrow};
use crate::framework::PluginStatus;
use std::hash::{Hash, Hasher};
use stowplan_base::{Lookup, WordHasher};

/// A group of nodes as a number.
pub(super) type GroupId = u32;

/// A verdict of a class as a number. 0 is "fits".
pub(super) type VerdictId = u32;

/// The verdict "fits".
pub(super) const FITS: VerdictId = 0;

/// Added to the score of nodes that are not feasible: no score makes up for it.
pub(super) const NEVER: i32 = i32::MIN / 2;

// Half of it tells what is feasible from what is not: no key of a packing policy comes so low.
const _: () = assert!(-crate::packing::Packing::KEY_MAX > NEVER as i64 / 2);

/// What a group stands for: the first word of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// Nodes that the filters which look at one node accept.
    Open,
    /// Nodes that one of them rejects.
    Rejected(VerdictId),
    /// One node that is evaluated in every attempt, by its name's number.
    Alone(u32),
    /// Nodes that nobody looked at yet.
    Unseen,
}

const KIND: u32 = 62;

/// Beside the tag: nodes with a score out of range, which is an error should they be feasible.
pub(super) const ODD: u64 = 1 << 61;

impl Tag {
    pub(super) fn pack(self) -> u64 {
        match self {
            Self::Open => 0,
            Self::Rejected(verdict) => 1 << KIND | u64::from(verdict),
            Self::Alone(node) => 2 << KIND | u64::from(node),
            Self::Unseen => 3 << KIND,
        }
    }

    fn unpack(word: u64) -> Self {
        match word >> KIND {
            0 => Self::Open,
            1 => Self::Rejected(low_half(word)),
            2 => Self::Alone(low_half(word)),
            _ => Self::Unseen,
        }
    }
}

/// A verdict, who gave it and where in the order of filters that is.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) order: usize,
    pub(super) rejected: PluginStatus,
}

/// Nodes of which all rules see the same.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The tag, then what the rules see.
    pub(super) key: Box<[u64]>,
    /// The tag, again: it is read more often than the rest.
    tag: u64,
    /// How many nodes there are.
    pub(super) members: u32,
    /// The verdict on all of them, as last evaluated.
    pub(super) verdict: VerdictId,
    /// The hash of the key.
    hash: u64,
    /// The next group with a key of the same hash.
    next: Option<GroupId>,
}

impl Group {
    pub(super) fn tag(&self) -> Tag {
        Tag::unpack(self.tag)
    }

    pub(super) fn is_odd(&self) -> bool {
        self.tag & ODD != 0
    }

    pub(super) fn is_feasible(&self) -> bool {
        self.members > 0 && self.verdict == FITS
    }
}

/// The groups of a class, and the verdicts that occur in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The first group of each hash.
    by_hash: Lookup<u64, GroupId>,
    pub(super) list: Vec<Group>,
    /// What the scores of each group's nodes have in common, or [`NEVER`].
    pub(super) bonus: Vec<i32>,
    /// All nodes are in their groups: places are used again from now on.
    pub(super) is_settled: bool,
    /// The group that was found last: nodes in a row often look alike.
    last: GroupId,
    verdicts: Vec<Verdict>,
}

impl Groups {
    /// About how many bytes they take up.
    pub(super) fn size(&self) -> usize {
        let words = self.list.first().map_or(0, |group| group.key.len());
        let group = size_of::<Group>() + words * size_of::<u64>() + size_of::<i32>();
        self.by_hash.bytes()
            + self.list.len() * group
            + self.verdicts.len() * (size_of::<Verdict>() + 64)
    }

    /// Forgets all groups; verdicts stay.
    pub(super) fn clear(&mut self) {
        self.by_hash = Lookup::new();
        self.is_settled = false;
        self.list.clear();
        self.bonus.clear();
        self.last = 0;
    }

    /// The group of a key, new if need be.
    pub(super) fn intern(&mut self, key: &[u64]) -> GroupId {
        let is_last = |group: &Group| *group.key == *key;
        if self.list.get(self.last as usize).is_some_and(is_last) {
            return self.last;
        }
        let hash = hash(key);
        let mut found = self.by_hash.get(&hash).copied();
        while let Some(id) = found {
            let group = &self.list[id as usize];
            if *group.key == *key {
                break;
            }
            found = group.next;
        }
        self.last = found.unwrap_or_else(|| self.add(key, hash));
        self.last
    }

    /// Adds a group without members.
    fn add(&mut self, key: &[u64], hash: u64) -> GroupId {
        let id = match self.vacant(key.len()) {
            Some(id) => {
                self.unlink(id);
                self.list[id as usize].key.copy_from_slice(key);
                id
            }
            None => {
                self.list.push(Group {
                    key: key.into(),
                    tag: 0,
                    members: 0,
                    verdict: FITS,
                    hash,
                    next: None,
                });
                self.bonus.push(NEVER);
                narrow(self.list.len()) - 1
            }
        };
        let group = &mut self.list[id as usize];
        group.tag = key[0];
        group.verdict = FITS;
        group.hash = hash;
        group.next = self.by_hash.insert(hash, id);
        self.bonus[id as usize] = NEVER;
        id
    }

    /// A group that lost all its nodes and whose place can be had: what comes and goes needs no
    /// more room than there is.
    fn vacant(&self, key_len: usize) -> Option<GroupId> {
        if !self.is_settled {
            return None;
        }
        let is_vacant = |group: &Group| group.members == 0 && group.key.len() == key_len;
        let at = self.list.iter().position(is_vacant)?;
        Some(narrow(at))
    }

    /// Takes a group out of the chain of its hash.
    fn unlink(&mut self, id: GroupId) {
        let Group { hash, next, .. } = self.list[id as usize];
        if self.by_hash.get(&hash) == Some(&id) {
            match next {
                Some(next) => self.by_hash.insert(hash, next),
                None => self.by_hash.remove(&hash),
            };
            return;
        }
        let mut at = self.by_hash.get(&hash).copied();
        while let Some(i) = at {
            let group = &mut self.list[i as usize];
            if group.next == Some(id) {
                group.next = next;
                return;
            }
            at = group.next;
        }
    }

    /// The number of a verdict, new if need be.
    pub(super) fn verdict_id(&mut self, order: usize, rejected: PluginStatus) -> VerdictId {
        let known = self
            .verdicts
            .iter()
            .position(|known| known.order == order && known.rejected == rejected);
        let at = known.unwrap_or_else(|| {
            self.verdicts.push(Verdict { order, rejected });
            self.verdicts.len() - 1
        });
        narrow(at) + 1
    }

    /// A verdict other than "fits".
    pub(super) fn verdict(&self, id: VerdictId) -> &Verdict {
        &self.verdicts[id as usize - 1]
    }

    /// All verdicts other than "fits", in the order of their numbers.
    pub(super) fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// How many nodes are feasible.
    pub(super) fn feasible(&self) -> usize {
        let feasible = self.list.iter().filter(|group| group.is_feasible());
        feasible.map(|group| group.members as usize).sum()
    }

    /// Whether most groups are empty, so that it pays to begin anew.
    pub(super) fn is_sparse(&self) -> bool {
        self.list.len() > 256
            && self.list.iter().filter(|group| group.members > 0).count() * 4 < self.list.len()
    }
}

fn hash(key: &[u64]) -> u64 {
    let mut hasher = WordHasher::default();
    for word in key {
        word.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use stowplan_base::Rng;

    #[test]
    fn a_key_has_one_group_and_places_are_used_again() {
        let (mut groups, mut rng) = (Groups::default(), Rng::new(3));
        groups.is_settled = true;
        let mut members: BTreeMap<Vec<u64>, GroupId> = BTreeMap::new();
        for step in 0..20_000 {
            if members.len() > 40 || !members.is_empty() && rng.below(3) == 0 {
                // All nodes of some group go elsewhere.
                let at = rng.below(members.len());
                let key = members.keys().nth(at).cloned().unwrap_or_default();
                let id = members.remove(&key).unwrap_or_default();
                groups.list[id as usize].members = 0;
                continue;
            }
            let mut key = vec![Tag::Open.pack(), rng.below(500) as u64];
            key.truncate(1 + rng.below(2));
            let id = groups.intern(&key);
            assert_eq!(*groups.list[id as usize].key, *key, "step {step}");
            let is_new = members.insert(key, id).is_none_or(|before| before == id);
            assert!(is_new, "step {step}");
            groups.list[id as usize].members = 1;
            let used: std::collections::BTreeSet<_> = members.values().collect();
            assert_eq!(used.len(), members.len(), "step {step}");
        }
        assert!(groups.list.len() <= 128, "{}", groups.list.len());
    }
}
