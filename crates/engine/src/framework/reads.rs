//! What of a node a rule reads.

use stowplan_base::Sym;

/// Something that a node object says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodePart {
    /// Its taints.
    Taints,
    /// Whether it is cordoned.
    Unschedulable,
    /// The features that it declares.
    Features,
    /// The value of a label. That it is absent is a value like any other.
    Label(Sym),
    /// Whether it bears a label, whatever the value.
    HasLabel(Sym),
    /// Whether it holds an image.
    Image(Sym),
}

/// All that a rule's answer on a node hangs on, or what it sees of the node: nodes that have these
/// parts in common are asked about once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    pub(crate) parts: Vec<NodePart>,
    pub(crate) apart: Vec<Sym>,
    pub(crate) apart_by_label: Vec<(Sym, Sym)>,
}

impl Reads {
    /// These parts and nothing else.
    pub fn of(parts: impl IntoIterator<Item = NodePart>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The nodes of these names have to be looked at one by one. For rules that look at domains.
    pub fn apart(mut self, names: impl IntoIterator<Item = Sym>) -> Self {
        self.apart.extend(names);
        self
    }

    /// The nodes with one of these labels have to be looked at one by one. For rules that look at
    /// domains.
    pub fn apart_by_label(mut self, labels: impl IntoIterator<Item = (Sym, Sym)>) -> Self {
        self.apart_by_label.extend(labels);
        self
    }
}
