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

impl Effect {
    /// Whether the taint keeps new pods away, rather than asking them to.
    pub fn rejects(self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }
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

/// The first taint that `filter` lets through and no toleration tolerates. Upstream's
/// `FindMatchingUntoleratedTaint`.
pub fn find_untolerated_taint<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    filter: impl Fn(&Taint) -> bool,
) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| filter(taint))
        .find(|taint| !tolerations.iter().any(|t| t.tolerates(taint)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::sym;

    #[test]
    fn the_first_untolerated_taint_of_the_wanted_effects() {
        let taint = |key, effect| Taint {
            key,
            value: Sym::EMPTY,
            effect,
        };
        let taints = [
            taint(sym::CPU, Effect::PreferNoSchedule),
            taint(sym::MEMORY, Effect::NoSchedule),
            taint(sym::PODS, Effect::NoExecute),
        ];
        let tolerate_memory = Toleration {
            key: sym::MEMORY,
            op: TolerationOp::Exists,
            value: Sym::EMPTY,
            effect: None,
        };
        let find = |tolerations: &[Toleration]| {
            find_untolerated_taint(&taints, tolerations, |t| t.effect.rejects()).map(|t| t.key)
        };
        assert_eq!(find(&[]), Some(sym::MEMORY));
        assert_eq!(find(&[tolerate_memory]), Some(sym::PODS));
        let tolerate_all = Toleration {
            key: Sym::EMPTY,
            ..tolerate_memory
        };
        assert_eq!(find(&[tolerate_all]), None);
    }
}
