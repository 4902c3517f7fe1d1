//! Label selectors and node selectors.

use super::labels::mark;
use super::{Labels, Node};
use stowplan_base::{Names, Sym, sym};

/// How a requirement compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// The key is there and its value is one of the values.
    In,
    /// The key is absent or its value is none of the values.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The value is a whole number above the bound.
    Gt(i64),
    /// The value is a whole number below the bound.
    Lt(i64),
}

/// One condition on a set of labels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirement {
    /// The label's key.
    pub key: Sym,
    /// The comparison.
    pub op: Op,
    /// The values of `In` and `NotIn`.
    pub values: Box<[Sym]>,
}

impl Requirement {
    /// `key in (value)`.
    pub fn equals(key: Sym, value: Sym) -> Self {
        Self {
            key,
            op: Op::In,
            values: [value].into(),
        }
    }

    /// Whether `labels` satisfy the condition.
    pub fn matches(&self, labels: &Labels, names: &Names) -> bool {
        self.matches_value(labels.get(self.key), names)
    }

    fn matches_value(&self, value: Option<Sym>, names: &Names) -> bool {
        let number = |value: Sym| names.text(value).parse::<i64>().ok();
        match (self.op, value) {
            (Op::In, Some(value)) => self.values.contains(&value),
            (Op::NotIn, Some(value)) => !self.values.contains(&value),
            (Op::Gt(bound), Some(value)) => number(value).is_some_and(|n| n > bound),
            (Op::Lt(bound), Some(value)) => number(value).is_some_and(|n| n < bound),
            (Op::Exists, value) => value.is_some(),
            (Op::DoesNotExist, value) => value.is_none(),
            (Op::NotIn, None) => true,
            (Op::In | Op::Gt(_) | Op::Lt(_), None) => false,
        }
    }
}

/// A label selector, as `metav1.LabelSelectorAsSelector` makes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Selector {
    /// The absent selector: matches nothing.
    Nothing,
    /// All of these must hold; none at all (`{}`) matches everything.
    All(Box<[Requirement]>),
}

impl Selector {
    /// The selector `{}`.
    pub fn everything() -> Self {
        Self::All([].into())
    }

    /// Whether `labels` are selected.
    pub fn matches(&self, labels: &Labels, names: &Names) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|r| r.matches(labels, names)),
        }
    }

    /// The conditions; none if it selects nothing or everything.
    pub fn requirements(&self) -> &[Requirement] {
        match self {
            Self::Nothing => &[],
            Self::All(requirements) => requirements,
        }
    }

    /// The bits of [`Labels::marks`] of which labels must have one to be selected.
    pub fn marks(&self) -> u64 {
        let narrow = |r: &&Requirement| r.op == Op::In;
        match self {
            Self::Nothing => 0,
            Self::All(requirements) => match requirements.iter().find(narrow) {
                Some(r) => r.values.iter().fold(0, |marks, v| marks | mark(r.key, *v)),
                None => u64::MAX,
            },
        }
    }

    /// Upstream's `Selector.Empty()`: `{}` restricts nothing. [`Selector::Nothing`] is not empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }
}

/// One term of a node selector.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeSelectorTerm {
    /// Conditions on the node's labels.
    pub expressions: Box<[Requirement]>,
    /// Conditions on the node's fields; only `metadata.name` exists, with `In` and `NotIn`.
    pub fields: Box<[Requirement]>,
    /// Why the term could not be parsed. A broken required term matches nothing; a broken
    /// preferred term fails the attempt.
    pub error: Option<Box<str>>,
}

impl NodeSelectorTerm {
    /// A term without any condition. It matches nothing, unlike an empty label selector.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty() && self.error.is_none()
    }

    /// Whether `node` is selected.
    pub fn matches(&self, node: &Node, names: &Names) -> bool {
        self.matches_labels(node.name, &node.labels, names)
    }

    /// Whether a node of this name and these labels is selected.
    pub fn matches_labels(&self, node_name: Sym, labels: &Labels, names: &Names) -> bool {
        if self.is_empty() || self.error.is_some() {
            return false;
        }
        self.expressions.iter().all(|r| r.matches(labels, names))
            && self.fields.iter().all(|r| {
                // A field that nodes do not have reads as the empty string.
                let named = r.key == sym::METADATA_NAME;
                r.matches_value(Some(if named { node_name } else { Sym::EMPTY }), names)
            })
    }
}

/// A node selector: any of its terms will do; no terms match nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeSelector {
    /// The alternatives.
    pub terms: Box<[NodeSelectorTerm]>,
}

impl NodeSelector {
    /// Whether `node` is selected by some term.
    pub fn matches(&self, node: &Node, names: &Names) -> bool {
        self.terms.iter().any(|term| term.matches(node, names))
    }

    /// Why some term could not be parsed.
    pub fn error(&self) -> Option<&str> {
        self.terms.iter().find_map(|term| term.error.as_deref())
    }
}
