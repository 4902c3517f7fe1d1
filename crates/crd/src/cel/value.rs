//! The values of expressions.

use std::cmp::Ordering;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Val>),
    Map(Vec<(Val, Val)>),
    /// Nanoseconds.
    Duration(i128),
    /// Nanoseconds since the epoch.
    Time(i128),
    Type(&'static str),
    Optional(Option<Box<Val>>),
}

impl Val {
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
        }
    }

    /// What stands under a key.
    pub(super) fn get(&self, key: &Val) -> Option<&Val> {
        match self {
            Self::Map(entries) => {
                let mut entries = entries.iter();
                entries.find(|(k, _)| k == key).map(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// The field of that name.
    pub(super) fn field(&self, name: &str) -> Option<&Val> {
        match self {
            Self::Map(entries) => {
                let is = |k: &Val| matches!(k, Self::Text(text) if text == name);
                entries.iter().find(|(k, _)| is(k)).map(|(_, v)| v)
            }
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
            _ => self.order(other) == Some(Ordering::Equal),
        }
    }
}
