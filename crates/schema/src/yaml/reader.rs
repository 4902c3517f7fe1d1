//! Reading YAML.

use super::aliases::Aliases;
use super::error::told;
use super::lines::Lines;
use super::resolve::{Meaning, resolve};
use super::survey;
use crate::decode::DecodeError;
use crate::room::{Full, MemoryBudget};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;
use std::fmt;

/// How far before a scalar its tag is looked for.
const TAG_DISTANCE_MAX: usize = 256;

/// Where a text comes from, and so how much of it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    /// From whoever may ask: bounded.
    Request,
    /// From the user's own files: only what would take the parser too long is refused.
    File,
}

/// The first document of a text, and the keys that it gives twice.
pub(super) fn read(text: &[u8], trust: Trust) -> Result<(Value, Vec<String>), String> {
    survey::check_nesting(text)?;
    if trust == Trust::Request {
        survey::check_marks(text)?;
    }
    let mut reader = Reader {
        text,
        trust,
        lines: Lines::default(),
        room: match trust {
            Trust::Request => MemoryBudget::of_text(text.len()),
            Trust::File => MemoryBudget::of_file(text.len()),
        },
        full: false,
        aliases: Aliases::default(),
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
        Err(_) if reader.full || reader.aliases.are_excessive => Err(too_much(text)),
        Err(error) if error.to_string() == "EOF while parsing a value" => {
            Ok((Value::Null, Vec::new()))
        }
        Err(error) => Err(told(&error, text)),
    }
}

/// What is said of a document that becomes too much: upstream's words where aliases may have done it.
fn too_much(text: &[u8]) -> String {
    match text.contains(&b'*') {
        true => "yaml: document contains excessive aliasing".to_owned(),
        false => format!("yaml: {}", DecodeError::from(Full)),
    }
}

struct Reader<'a> {
    text: &'a [u8],
    trust: Trust,
    lines: Lines,
    /// Aliases repeat what they stand for, so this bounds what they can become.
    room: MemoryBudget,
    /// There was not enough of it.
    full: bool,
    aliases: Aliases,
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

    /// Takes room, or says why not.
    fn take<E: Error>(
        &mut self,
        take: impl FnOnce(&mut MemoryBudget) -> Result<(), Full>,
    ) -> Result<(), E> {
        take(&mut self.room).map_err(|Full| {
            self.full = true;
            E::custom("no room")
        })
    }

    /// Counts a value that was read, and where it stands if that is known.
    fn count<E: Error>(&mut self, offset: Option<usize>) -> Result<(), E> {
        match self.aliases.count(offset) {
            true => Ok(()),
            false => Err(E::custom("excessive aliasing")),
        }
    }

    /// What a scalar that was borrowed from the input stands for. It is plain unless a quote stands
    /// before it.
    fn scalar<E: Error>(&mut self, borrowed: &str) -> Result<Read, E> {
        let offset = self.offset(borrowed);
        self.count(offset)?;
        self.take(|room| room.text(borrowed.len()))?;
        self.last = self.last.or(offset);
        let before = offset.and_then(|at| self.text.get(at.checked_sub(1)?));
        let tagged = offset
            .and_then(|at| self.text.get(at.saturating_sub(TAG_DISTANCE_MAX)..at))
            .is_some_and(|before| before.trim_ascii_end().ends_with(b"!!str"));
        if tagged || matches!(before, Some(b'"' | b'\'')) {
            return Ok(Value::from(borrowed).into());
        }
        Ok(match resolve(borrowed) {
            Meaning::Value(value) => value.into(),
            Meaning::Text | Meaning::Timestamp | Meaning::NotFinite => Read {
                value: Value::from(borrowed),
                merge: borrowed == "<<",
            },
        })
    }

    fn refuse(&mut self, problem: &str) {
        self.refused.get_or_insert_with(|| problem.to_owned());
    }

    /// Puts a value under a key; what is there already is told and replaced.
    fn insert<E: Error>(
        &mut self,
        map: &mut Map<String, Value>,
        key: Key,
        value: Value,
        at: usize,
    ) -> Result<(), E> {
        self.take(|room| room.entry(map.len(), key.text.len()))?;
        if map.contains_key(&key.text) {
            let line = self.lines.line(self.text, at);
            let shown = key.shown();
            self.take(|room| room.text(shown.len()))?;
            let problem = format!("line {line}: key {shown} already set in map");
            self.duplicates.push(problem);
        }
        map.insert(key.text, value);
        Ok(())
    }

    /// What `<<` does: the keys of another map, or of several of which the first wins. False if it
    /// is neither.
    fn merge<E: Error>(
        &mut self,
        map: &mut Map<String, Value>,
        value: Value,
        at: usize,
    ) -> Result<bool, E> {
        match value {
            Value::Object(other) => {
                for (key, value) in other {
                    self.insert(map, Key::of_text(key), value, at)?;
                }
                Ok(true)
            }
            Value::Array(others) => {
                for other in others.into_iter().rev() {
                    if !other.is_object() || !self.merge(map, other, at)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// A key as upstream turns it into text.
struct Key {
    text: String,
    /// Go would print it in quotes.
    quoted: bool,
}

impl Key {
    fn of_text(text: String) -> Self {
        Self { text, quoted: true }
    }

    /// What is no scalar is no key, and comes back.
    fn of(value: Value) -> Result<Self, Value> {
        let text = match value {
            Value::String(text) => return Ok(Self::of_text(text)),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number_key(&number),
            Value::Null | Value::Array(_) | Value::Object(_) => return Err(value),
        };
        Ok(Self {
            text,
            quoted: false,
        })
    }

    fn shown(&self) -> String {
        match self.quoted {
            true => stowplan_apimachinery::go::quote(&self.text),
            false => self.text.clone(),
        }
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

    fn visit_unit<E: Error>(self) -> Result<Read, E> {
        self.reader.count(None)?;
        Ok(Value::Null.into())
    }

    fn visit_none<E: Error>(self) -> Result<Read, E> {
        self.reader.count(None)?;
        Ok(Value::Null.into())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Read, E> {
        self.reader.count(None)?;
        Ok(Value::Bool(value).into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Read, E> {
        self.reader.count(None)?;
        Ok(Value::from(value).into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Read, E> {
        self.reader.count(None)?;
        Ok(Value::from(value).into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Read, E> {
        self.reader.count(None)?;
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

    fn visit_str<E: Error>(self, value: &str) -> Result<Read, E> {
        self.reader.count(None)?;
        self.reader.take(|room| room.text(value.len()))?;
        Ok(Value::from(value).into())
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Read, E> {
        self.reader.scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Read, A::Error> {
        self.reader.count(None)?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Node {
            reader: self.reader,
        })? {
            self.reader.take(MemoryBudget::item)?;
            items.push(item.value);
        }
        Ok(Value::Array(items).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Read, A::Error> {
        let reader = self.reader;
        reader.count(None)?;
        let mut map = Map::new();
        // Keys that `<<` brought and that the map may give again, where nobody is strict.
        let mut merged = BTreeSet::new();
        let mut start = None;
        loop {
            reader.last = None;
            let Some(key) = access.next_key_seed(Node { reader })? else {
                break;
            };
            let key_at = reader.last.take();
            start = start.or(key_at);
            let value = access.next_value_seed(Node { reader })?.value;
            let at = reader.last.or(key_at).unwrap_or_default();
            if key.merge {
                if !reader.merge(&mut map, value, at)? {
                    reader.refuse("yaml: map merge requires map or sequence of maps as the value");
                }
                if reader.trust == Trust::File {
                    merged.extend(map.keys().cloned());
                }
                continue;
            }
            match Key::of(key.value) {
                Ok(key) => {
                    if merged.remove(&key.text) {
                        map.remove(&key.text);
                    }
                    reader.insert(&mut map, key, value, at)?;
                }
                Err(key) if reader.refused.is_none() => {
                    reader.refuse(&format!("yaml: invalid map key: {key}"));
                }
                Err(_) => {}
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
