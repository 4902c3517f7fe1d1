//! The values of expressions. They are shared, not copied.

use crate::kubernetes::Opaque;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use stowplan_apimachinery::quantity::Quantity;

/// A value.
#[derive(Clone, Debug)]
pub enum Val {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// `1`.
    Int(i64),
    /// `1u`.
    Uint(u64),
    /// `1.0`.
    Double(f64),
    /// `'a'`.
    Text(Arc<str>),
    /// `b'a'`.
    Bytes(Arc<[u8]>),
    /// `[1]`.
    List(Arc<List>),
    /// `{'a': 1}`.
    Map(Arc<Entries>),
    /// Nanoseconds.
    Duration(i128),
    /// Nanoseconds since the epoch.
    Time(i128),
    /// The name of a type.
    Type(&'static str),
    /// A value that may be missing.
    Optional(Option<Arc<Val>>),
    /// A value of a library of Kubernetes.
    Opaque(Arc<Opaque>),
}

/// How much there is in a value, counted when it is made: values are shared, so that what is small in
/// memory can take for ever to walk through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bulk {
    /// The values in it, itself included; long texts count for more.
    weight: u64,
    /// What upstream asks for looking at all of it: `traversalCost` of `library/cost.go`.
    pub(crate) traversal: u64,
    /// How deep it nests.
    pub(crate) depth: u32,
}

impl Bulk {
    fn of<'a>(parts: impl Iterator<Item = &'a Val>) -> Self {
        let own = Self {
            weight: 1,
            traversal: 0,
            depth: 0,
        };
        let mut bulk = parts.map(Val::bulk).fold(own, |sum, part| Self {
            weight: sum.weight.saturating_add(part.weight),
            traversal: sum.traversal.saturating_add(part.traversal),
            depth: sum.depth.max(part.depth),
        });
        bulk.depth = bulk.depth.saturating_add(1);
        bulk
    }

    fn of_text(bytes: usize) -> Self {
        Self {
            weight: 1 + bytes as u64 / 32,
            traversal: bytes as u64 / 10,
            depth: 0,
        }
    }
}

/// The elements of a list.
#[derive(Debug)]
pub struct List {
    elements: Vec<Val>,
    bulk: Bulk,
}

impl Deref for List {
    type Target = [Val];

    fn deref(&self) -> &[Val] {
        &self.elements
    }
}

/// What keys are found by. Numbers of different types can be the same key.
#[derive(PartialEq, Eq, Hash, Debug)]
enum Key {
    Null,
    Bool(bool),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    Whole(i128),
    Real(u64),
    Time(i128),
    Duration(i128),
    Type(&'static str),
}

/// Doubles beyond this are no `i128`, and no other number is equal to them.
const WHOLE_MAX: f64 = 1e38;

impl Key {
    /// Lists, maps and what libraries make are no keys.
    fn of(value: &Val) -> Option<Self> {
        Some(match value {
            Val::Null => Self::Null,
            Val::Bool(b) => Self::Bool(*b),
            Val::Text(text) => Self::Text(Arc::clone(text)),
            Val::Bytes(bytes) => Self::Bytes(Arc::clone(bytes)),
            Val::Int(n) => Self::Whole(i128::from(*n)),
            Val::Uint(n) => Self::Whole(i128::from(*n)),
            Val::Double(n) if n.fract() == 0.0 && n.abs() < WHOLE_MAX => Self::Whole(*n as i128),
            Val::Double(n) => Self::Real(n.to_bits()),
            Val::Time(n) => Self::Time(*n),
            Val::Duration(n) => Self::Duration(*n),
            Val::Type(name) => Self::Type(name),
            Val::List(_) | Val::Map(_) | Val::Optional(_) | Val::Opaque(_) => return None,
        })
    }
}

/// The entries of a map, in the order in which they were given.
#[derive(Debug, Default)]
pub struct Entries {
    list: Vec<(Val, Val)>,
    /// Where keys are, if there are many.
    places: HashMap<Key, usize>,
    bulk: Bulk,
}

/// Up to here looking at all of them is quicker.
const FEW: usize = 8;

impl Entries {
    /// Adds an entry; says no if the key is known or is of a type that keys cannot have.
    pub(crate) fn insert(&mut self, key: Val, value: Val) -> bool {
        let Some(place) = Key::of(&key) else {
            return false;
        };
        if self.get(&key).is_some() {
            return false;
        }
        if self.list.len() == FEW {
            let known = (0..).zip(&self.list);
            let known = known.filter_map(|(i, (key, _))| Some((Key::of(key)?, i)));
            self.places = known.collect();
        }
        if self.list.len() >= FEW {
            self.places.insert(place, self.list.len());
        }
        self.list.push((key, value));
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = &(Val, Val)> {
        self.list.iter()
    }

    /// The entry at a place.
    pub(crate) fn at(&self, place: usize) -> Option<&(Val, Val)> {
        self.list.get(place)
    }

    /// Whether there is such a key.
    pub(crate) fn has(&self, key: &Val) -> bool {
        self.place(key).is_some()
    }

    fn get(&self, key: &Val) -> Option<&Val> {
        let entry = self.place(key).and_then(|place| self.list.get(place));
        entry.map(|(_, value)| value)
    }

    fn place(&self, key: &Val) -> Option<usize> {
        let place = Key::of(key)?;
        match self.places.is_empty() {
            true => self.list.iter().position(|(known, _)| known == key),
            false => self.places.get(&place).copied(),
        }
    }

    fn field(&self, name: &str) -> Option<&Val> {
        match self.places.is_empty() {
            true => self.find(|k| matches!(k, Val::Text(text) if **text == *name)),
            false => self.get(&name.into()),
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
        let bulk = Bulk::of(list.iter());
        let elements = list;
        Self::List(Arc::new(List { elements, bulk }))
    }
}

impl From<Entries> for Val {
    fn from(mut entries: Entries) -> Self {
        let parts = entries.list.iter().flat_map(|(key, value)| [key, value]);
        entries.bulk = Bulk::of(parts);
        Self::Map(Arc::new(entries))
    }
}

/// Of entries with the same key, the last one counts; what cannot be a key is left out.
impl FromIterator<(Val, Val)> for Val {
    fn from_iter<T: IntoIterator<Item = (Val, Val)>>(list: T) -> Self {
        let mut entries = Entries::default();
        for (key, value) in list {
            match entries.place(&key) {
                Some(place) => {
                    if let Some((_, known)) = entries.list.get_mut(place) {
                        *known = value;
                    }
                }
                None => {
                    entries.insert(key, value);
                }
            }
        }
        entries.into()
    }
}

impl From<Quantity> for Val {
    fn from(quantity: Quantity) -> Self {
        Opaque::Quantity(quantity).into()
    }
}

impl From<Opaque> for Val {
    fn from(value: Opaque) -> Self {
        Self::Opaque(Arc::new(value))
    }
}

impl Val {
    /// A value that may be missing.
    pub fn optional(value: Option<Val>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// The name of the type, as conversion errors and `type()` have it.
    pub(crate) fn type_name(&self) -> &'static str {
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
    pub(crate) fn size(&self) -> u64 {
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

    /// How much there is in it.
    pub(crate) fn bulk(&self) -> Bulk {
        match self {
            Self::Text(text) => Bulk::of_text(text.len()),
            Self::Bytes(bytes) => Bulk::of_text(bytes.len()),
            Self::List(list) => list.bulk,
            Self::Map(entries) => entries.bulk,
            Self::Optional(Some(inner)) => Bulk {
                traversal: 1,
                ..Bulk::of([&**inner].into_iter())
            },
            _ => Bulk {
                weight: 1,
                traversal: 1,
                depth: 0,
            },
        }
    }

    /// All values in it, itself included; long texts count for more.
    pub(crate) fn weight(&self) -> u64 {
        self.bulk().weight
    }

    /// What is in the elements of a list or the entries of a map, which its size does not tell.
    pub(crate) fn inner_weight(&self) -> u64 {
        let outer = match self {
            Self::List(list) => list.len(),
            Self::Map(entries) => entries.len().saturating_mul(2),
            Self::Optional(Some(inner)) => return inner.inner_weight(),
            _ => return 0,
        };
        self.weight().saturating_sub(1 + outer as u64)
    }

    /// Whether it can be the key of a map.
    pub(crate) fn is_key(&self) -> bool {
        Key::of(self).is_some()
    }

    /// What stands under a key.
    pub(crate) fn get(&self, key: &Val) -> Option<&Val> {
        match self {
            Self::Map(entries) => entries.get(key),
            _ => None,
        }
    }

    /// The field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&Val> {
        match self {
            Self::Map(entries) => entries.field(name),
            _ => None,
        }
    }

    /// Which of two is greater, if they can be compared.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
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
            (Self::List(a), Self::List(b)) => a.iter().eq(b.iter()),
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
