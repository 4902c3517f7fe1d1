//! One step of a field's path.
//!
//! Upstream: `structured-merge-diff/v6/fieldpath/element.go` and `serialize-pe.go`.

use super::value;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Leads from a map or list to something in it. Borrows from the object or the managedFields that
/// it was read from.
#[derive(Clone, Debug)]
pub(crate) enum Element<'a> {
    /// A field of a struct or a key of a map.
    Field(&'a str),
    /// The element of a list that has these values in its key fields, which are in order of name.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The element of a set.
    Value(Cow<'a, Value>),
    /// The element of a list at this place.
    Index(i64),
}

impl Element<'_> {
    /// As in the path of a conflict: `.name`, `[name="a"]`, `[="a"]`, `[0]`.
    pub(crate) fn print(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push('.');
                out.push_str(name);
            }
            Self::Key(keys) => {
                out.push('[');
                for (i, (name, key)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(name);
                    out.push('=');
                    value::print(out, key);
                }
                out.push(']');
            }
            Self::Value(item) => {
                out.push_str("[=");
                value::print(out, item);
                out.push(']');
            }
            Self::Index(index) => {
                out.push('[');
                out.push_str(&index.to_string());
                out.push(']');
            }
        }
    }

    /// As a key of `fieldsV1`: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Field(name) => return ["f:", name].concat(),
            Self::Key(keys) => {
                out.push_str("k:{");
                for (i, (name, key)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    value::write_text(&mut out, name);
                    out.push(':');
                    value::write_json(&mut out, key);
                }
                out.push('}');
            }
            Self::Value(item) => {
                out.push_str("v:");
                value::write_json(&mut out, item);
            }
            Self::Index(index) => {
                out.push_str("i:");
                out.push_str(&index.to_string());
            }
        }
        out
    }
}

/// What a key of `fieldsV1` may turn out to be.
pub(crate) enum Decoded<'a> {
    /// A step.
    Element(Element<'a>),
    /// Of a kind that only a newer server knows, which is dropped.
    Unknown,
    /// Nothing that can be read; the text says why.
    Bad(String),
}

impl<'a> Decoded<'a> {
    /// Reads a key of `fieldsV1`.
    pub(crate) fn read(key: &'a str) -> Self {
        let Some((kind, colon)) = key.as_bytes().first().zip(key.as_bytes().get(1)) else {
            return Self::Bad("key must be 2 characters long:".to_owned());
        };
        let (b':', Some(rest)) = (*colon, key.get(2..)) else {
            return Self::Bad(format!("missing colon: {key}"));
        };
        match kind {
            b'f' => Self::Element(Element::Field(rest)),
            b'v' => match serde_json::from_str(rest) {
                Ok(item) => Self::Element(Element::Value(Cow::Owned(as_floats(item)))),
                Err(error) => Self::Bad(error.to_string()),
            },
            b'k' => match serde_json::from_str::<serde_json::Map<String, Value>>(rest) {
                Ok(keys) => Self::Element(Element::Key(
                    keys.into_iter()
                        .map(|(name, key)| (Cow::Owned(name), Cow::Owned(as_floats(key))))
                        .collect(),
                )),
                Err(error) => Self::Bad(error.to_string()),
            },
            b'i' => match rest.parse() {
                Ok(index) => Self::Element(Element::Index(index)),
                Err(_) => Self::Bad(format!("bad index: {rest}")),
            },
            _ => Self::Unknown,
        }
    }
}

/// Upstream reads all numbers of `fieldsV1` as floats, which shows in the paths of conflicts.
fn as_floats(value: Value) -> Value {
    match &value {
        Value::Number(number) if number.is_i64() => number.as_f64().map_or(value, Value::from),
        _ => value,
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element<'_> {}

impl PartialOrd for Element<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((a_name, a_key), (b_name, b_key)) in a.iter().zip(b) {
                    let order = a_name.cmp(b_name);
                    let order = order.then_with(|| value::compare(a_key, b_key));
                    if order.is_ne() {
                        return order;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => value::compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Element<'_> {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}
