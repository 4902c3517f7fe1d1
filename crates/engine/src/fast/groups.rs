//! Nodes that look alike to a class of pods.

use crate::framework::PluginStatus;
use stowplan_base::Lookup;

/// A group of nodes as a number.
pub(super) type GroupId = u32;

/// A verdict of a class as a number. 0 is "fits".
pub(super) type VerdictId = u32;

/// The verdict "fits".
pub(super) const FITS: VerdictId = 0;

/// Added to the score of nodes that are not feasible: no score makes up for it.
pub(super) const NEVER: i32 = i32::MIN / 2;

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
            1 => Self::Rejected(word as u32),
            2 => Self::Alone(word as u32),
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
    /// How many nodes there are.
    pub(super) members: u32,
    /// The verdict on all of them, as last evaluated.
    pub(super) verdict: VerdictId,
}

impl Group {
    pub(super) fn tag(&self) -> Tag {
        Tag::unpack(self.key[0])
    }

    pub(super) fn is_odd(&self) -> bool {
        self.key[0] & ODD != 0
    }

    pub(super) fn is_feasible(&self) -> bool {
        self.members > 0 && self.verdict == FITS
    }
}

/// The groups of a class, and the verdicts that occur in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    ids: Lookup<Box<[u64]>, GroupId>,
    pub(super) list: Vec<Group>,
    /// What the scores of each group's nodes have in common, or [`NEVER`].
    pub(super) bonus: Vec<i32>,
    /// The group that was found last: nodes in a row often look alike.
    last: GroupId,
    verdicts: Vec<Verdict>,
}

impl Groups {
    /// Forgets all groups; verdicts stay.
    pub(super) fn clear(&mut self) {
        self.ids = Lookup::new();
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
        self.last = match self.ids.get(key) {
            Some(id) => *id,
            None => self.add(key),
        };
        self.last
    }

    fn add(&mut self, key: &[u64]) -> GroupId {
        let id = self.list.len() as GroupId;
        self.ids.insert(key.into(), id);
        self.list.push(Group {
            key: key.into(),
            members: 0,
            verdict: FITS,
        });
        self.bonus.push(NEVER);
        id
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
        at as VerdictId + 1
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
