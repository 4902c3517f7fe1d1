//! Reading YAML.

use super::error::told;
use super::resolve::{Meaning, resolve};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};
use std::fmt;

/// How deep brackets may nest. The parser gives up at 128 levels, but takes ever longer to get there.
const FLOW_DEPTH_MAX: usize = 200;

/// The first document of a text, and the keys that it gives twice.
pub(super) fn read(text: &[u8]) -> Result<(Value, Vec<String>), String> {
    if flow_depth(text) > FLOW_DEPTH_MAX {
        return Err(format!("yaml: exceeded max depth of {FLOW_DEPTH_MAX}"));
    }
    let mut reader = Reader {
        text,
        last: None,
        duplicates: Vec::new(),
        refused: None,
    };
    let Some(document) = serde_yaml_ng::Deserializer::from_slice(text).next() else {
        return Ok((Value::Null, Vec::new()));
    };
    match (Node {
        reader: &mut reader,
    })
    .deserialize(document)
    {
        Ok(read) => match reader.refused {
            Some(problem) => Err(problem),
            None => Ok((read.value, reader.duplicates)),
        },
        Err(error) if error.to_string() == "EOF while parsing a value" => {
            Ok((Value::Null, Vec::new()))
        }
        Err(error) => Err(told(&error, text)),
    }
}

/// How deep the brackets of a text nest that are in no quotes. Those of comments and block texts
/// count too: nobody leaves that many open there.
fn flow_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut quote) = (0usize, 0, None);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', Some(b'"')) => drop(bytes.next()),
            (b'"' | b'\'', None) => quote = Some(*byte),
            (_, Some(open)) if *byte == open => quote = None,
            (b'[' | b'{', None) => depth += 1,
            (b']' | b'}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

struct Reader<'a> {
    text: &'a [u8],
    /// Where the first scalar was that was read since this was last empty.
    last: Option<usize>,
    duplicates: Vec<String>,
    /// What is YAML, but cannot be JSON. What is not even YAML is told first.
    refused: Option<String>,
}

/// A value, and whether it is the key that merges maps.
struct Read {
    value: Value,
    merge: bool,
}

impl From<Value> for Read {
    fn from(value: Value) -> Self {
        Self {
            value,
            merge: false,
        }
    }
}

impl Reader<'_> {
    /// Where a text that was borrowed from the input lies in it.
    fn offset(&self, borrowed: &str) -> Option<usize> {
        let at = (borrowed.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (at <= self.text.len()).then_some(at)
    }

    /// Counted from one.
    fn line(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// What a scalar that was borrowed from the input stands for. It is plain unless a quote stands
    /// before it.
    fn scalar(&mut self, borrowed: &str) -> Read {
        let offset = self.offset(borrowed);
        self.last = self.last.or(offset);
        let before = offset.and_then(|at| self.text.get(at.checked_sub(1)?));
        let tagged = offset
            .and_then(|at| self.text.get(..at))
            .is_some_and(|before| before.trim_ascii_end().ends_with(b"!!str"));
        if tagged || matches!(before, Some(b'"' | b'\'')) {
            return Value::from(borrowed).into();
        }
        match resolve(borrowed) {
            Meaning::Value(value) => value.into(),
            Meaning::Text | Meaning::Timestamp | Meaning::NotFinite => Read {
                value: Value::from(borrowed),
                merge: borrowed == "<<",
            },
        }
    }

    fn refuse(&mut self, problem: &str) {
        self.refused.get_or_insert_with(|| problem.to_owned());
    }

    /// Puts a value under a key; what is there already is told and replaced.
    fn insert(&mut self, map: &mut Map<String, Value>, key: Key, value: Value, line: usize) {
        if map.contains_key(&key.text) {
            let shown = &key.shown;
            let problem = format!("line {line}: key {shown} already set in map");
            self.duplicates.push(problem);
        }
        map.insert(key.text, value);
    }

    /// What `<<` does: the keys of another map, or of several of which the first wins. False if it
    /// is neither.
    fn merge(&mut self, map: &mut Map<String, Value>, value: Value, line: usize) -> bool {
        match value {
            Value::Object(other) => {
                for (key, value) in other {
                    self.insert(map, Key::of_text(key), value, line);
                }
                true
            }
            Value::Array(others) => {
                let mut others = others.into_iter().rev();
                others.all(|other| other.is_object() && self.merge(map, other, line))
            }
            _ => false,
        }
    }
}

/// A key as upstream turns it into text, and as Go would print it.
struct Key {
    text: String,
    shown: String,
}

impl Key {
    fn of_text(text: String) -> Self {
        Self {
            shown: stowplan_machinery::go::quote(&text),
            text,
        }
    }

    fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::String(text) => return Some(Self::of_text(text.clone())),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number_key(number),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let shown = text.clone();
        Some(Self { text, shown })
    }
}

struct Node<'r, 'a> {
    reader: &'r mut Reader<'a>,
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Read;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Value::Null.into())
    }

    fn visit_none<E>(self) -> Result<Read, E> {
        Ok(Value::Null.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Read, E> {
        Ok(Value::Bool(value).into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Read, E> {
        Ok(Value::from(value).into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Read, E> {
        Ok(Value::from(value).into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Read, E> {
        match crate::decode::float(value) {
            Some(number) => Ok(Value::Number(number).into()),
            None => {
                let shown = match value {
                    f64::INFINITY => "+Inf",
                    f64::NEG_INFINITY => "-Inf",
                    _ => "NaN",
                };
                let problem = format!("json: unsupported value: {shown}");
                self.reader.refuse(&problem);
                Ok(Value::Null.into())
            }
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Read, E> {
        Ok(Value::from(value).into())
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Read, E> {
        Ok(self.reader.scalar(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Read, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Node {
            reader: self.reader,
        })? {
            items.push(item.value);
        }
        Ok(Value::Array(items).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Read, A::Error> {
        let reader = self.reader;
        let mut map = Map::new();
        let mut start = None;
        loop {
            reader.last = None;
            let Some(key) = access.next_key_seed(Node { reader })? else {
                break;
            };
            let key_at = reader.last.take();
            start = start.or(key_at);
            let value = access.next_value_seed(Node { reader })?.value;
            let line = reader.line(reader.last.or(key_at).unwrap_or_default());
            if key.merge {
                if !reader.merge(&mut map, value, line) {
                    reader.refuse("yaml: map merge requires map or sequence of maps as the value");
                }
            } else if let Some(key) = Key::of(&key.value) {
                reader.insert(&mut map, key, value, line);
            } else {
                reader.refuse(&format!("yaml: invalid map key: {}", key.value));
            }
        }
        reader.last = start;
        Ok(Value::Object(map).into())
    }

    /// A tag of the author's own is passed over.
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Read, A::Error> {
        let (_, variant) = access.variant::<serde::de::IgnoredAny>()?;
        variant.newtype_variant_seed(self)
    }
}

fn number_key(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => super::scalar::go_float(float),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_nesting_is_refused_at_once() {
        let deep = "{a: [".repeat(100_000);
        let error = read(deep.as_bytes()).unwrap_err();
        assert_eq!(error, "yaml: exceeded max depth of 200");
        assert_eq!(flow_depth(b"{a: '[[', b: \"[\\\"[\", c: []}"), 2);
        assert!(read(b"a: '[[['\nb: [[[1]]]\n").is_ok());
    }
}
