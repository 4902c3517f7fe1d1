//! The values of expressions. They are shared, not copied.

use super::kubernetes::Opaque;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<Vec<Val>>),
    Map(Arc<Entries>),
    /// Nanoseconds.
    Duration(i128),
    /// Nanoseconds since the epoch.
    Time(i128),
    Type(&'static str),
    Optional(Option<Arc<Val>>),
    /// A value of a library of Kubernetes.
    Opaque(Arc<Opaque>),
}

/// The entries of a map, in the order in which they were given.
#[derive(Debug)]
pub(super) struct Entries {
    list: Vec<(Val, Val)>,
    /// Where text keys are, if there are many.
    places: HashMap<Arc<str>, usize>,
}

/// Up to here looking at all of them is quicker.
const FEW: usize = 8;

impl Entries {
    fn new(list: Vec<(Val, Val)>) -> Self {
        let mut places = HashMap::new();
        if list.len() > FEW {
            for (i, (key, _)) in list.iter().enumerate().rev() {
                if let Val::Text(text) = key {
                    places.insert(text.clone(), i);
                }
            }
        }
        Self { list, places }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Val, Val)> {
        self.list.iter()
    }

    fn get(&self, key: &Val) -> Option<&Val> {
        match key {
            Val::Text(name) => self.field(name),
            key => self.find(|k| k == key),
        }
    }

    fn field(&self, name: &str) -> Option<&Val> {
        match self.places.is_empty() {
            true => self.find(|k| matches!(k, Val::Text(text) if **text == *name)),
            false => {
                let entry = self.places.get(name).and_then(|i| self.list.get(*i));
                entry.map(|(_, value)| value)
            }
        }
    }

    fn find(&self, fits: impl Fn(&Val) -> bool) -> Option<&Val> {
        let found = self.list.iter().find(|(key, _)| fits(key));
        found.map(|(_, value)| value)
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<Val>> for Val {
    fn from(list: Vec<Val>) -> Self {
        Self::List(Arc::new(list))
    }
}

impl From<Vec<(Val, Val)>> for Val {
    fn from(entries: Vec<(Val, Val)>) -> Self {
        Self::Map(Arc::new(Entries::new(entries)))
    }
}

impl From<Opaque> for Val {
    fn from(value: Opaque) -> Self {
        Self::Opaque(Arc::new(value))
    }
}

impl Val {
    /// A value that may be missing.
    pub(super) fn optional(value: Option<Val>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// The name of the type, as conversion errors and `type()` have it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Opaque(value) => value.type_name(),
        }
    }

    /// Characters, bytes, elements or entries; 1 for what has no size. Upstream: `actualSize`.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Self::Text(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(entries) => entries.len(),
            Self::Optional(Some(inner)) => return inner.size(),
            Self::Opaque(value) => value.size(),
            _ => 1,
        };
        size as u64
    }

    /// What stands under a key.
    pub(super) fn get(&self, key: &Val) -> Option<&Val> {
        match self {
            Self::Map(entries) => entries.get(key),
            _ => None,
        }
    }

    /// The field of that name.
    pub(super) fn field(&self, name: &str) -> Option<&Val> {
        match self {
            Self::Map(entries) => entries.field(name),
            _ => None,
        }
    }

    /// Which of two is greater, if they can be compared.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) | (Self::Time(a), Self::Time(b)) => {
                Some(a.cmp(b))
            }
            _ => numbers(self, other),
        }
    }
}

fn numbers(a: &Val, b: &Val) -> Option<Ordering> {
    let whole = |v: &Val| match v {
        Val::Int(n) => Some(i128::from(*n)),
        Val::Uint(n) => Some(i128::from(*n)),
        _ => None,
    };
    let real = |v: &Val| match v {
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        Val::Double(n) => Some(*n),
        _ => None,
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => real(a)?.partial_cmp(&real(b)?),
    }
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(k, v)| other.get(k) == Some(v))
            }
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            _ => self.order(other) == Some(Ordering::Equal),
        }
    }
}
