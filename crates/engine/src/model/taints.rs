//! Taints and tolerations.

use stowplan_base::Sym;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// New pods stay away.
    NoSchedule,
    /// New pods rather stay away.
    PreferNoSchedule,
    /// New pods stay away, running ones leave.
    NoExecute,
}

/// A node's taint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Taint {
    /// The key.
    pub key: Sym,
    /// The value, or the empty string.
    pub value: Sym,
    /// The effect.
    pub effect: Effect,
}

/// How a toleration compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TolerationOp {
    /// Any value.
    Exists,
    /// The same value; the default.
    Equal,
    /// An operator that is unknown or switched off: tolerates nothing.
    Unknown,
}

/// A pod's toleration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Toleration {
    /// The key; empty stands for every key.
    pub key: Sym,
    /// The comparison.
    pub op: TolerationOp,
    /// The value of `Equal`.
    pub value: Sym,
    /// The effect; `None` stands for every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Upstream's `ToleratesTaint` (`component-helpers/scheduling/corev1`).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        match self.op {
            TolerationOp::Exists => true,
            TolerationOp::Equal => self.value == taint.value,
            TolerationOp::Unknown => false,
        }
    }
}
