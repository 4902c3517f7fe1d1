//! Changes of the cluster that matter to rules which look at domains.

use crate::Delta;

/// Rules of a plan that look at domains, one bit each: its filters, then its scores.
pub(crate) type DomainRules = u32;

/// The bit of the nth rule. Of very many rules some share one and are told more than they need.
pub(crate) fn bit_of(n: usize) -> DomainRules {
    1 << (n % DomainRules::BITS as usize)
}

/// A change that matters beyond the node that it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RelevantChange {
    /// Its position in a run of changes.
    pub(crate) at: u32,
    /// The rules that it matters to.
    pub(crate) rules: DomainRules,
}

/// Those of a run of changes that matter to some rule.
#[derive(Clone, Copy)]
pub(crate) struct RelevantChanges<'a> {
    pub(crate) deltas: &'a [Delta],
    pub(crate) changes: &'a [RelevantChange],
    /// The rules that count.
    pub(crate) rules: DomainRules,
}

impl<'a> RelevantChanges<'a> {
    /// The same changes, of which only those count that matter to the nth rule.
    pub(crate) fn to(self, n: usize) -> Self {
        let rules = bit_of(n);
        Self { rules, ..self }
    }

    pub(crate) fn deltas(self) -> impl Iterator<Item = &'a Delta> {
        let changes = self.changes.iter();
        let changes = changes.filter(move |change| change.rules & self.rules != 0);
        changes.map(move |change| &self.deltas[change.at as usize])
    }
}
