//! About which nodes a rule has to be asked.

use stowplan_base::Sym;

/// About which nodes Filter has to be asked, for its verdict on all of them to be known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodesToCheck {
    /// All of them.
    All,
    /// Those at these positions: it accepts all others.
    These(Vec<u32>),
    /// One of those that have the same labels under `keys`: its verdict is that on all of them.
    Alike {
        /// The labels that count. A label that is absent is a value like any other.
        keys: Vec<Sym>,
        /// A label and some values of it: nodes with none of them are rejected.
        need: Option<(Sym, Box<[Sym]>)>,
    },
}
