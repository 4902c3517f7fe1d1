//! Looking into stored bytes without making a tree of all of them, for lists of many objects.
//!
//! The bytes are JSON that [`super::encode`] wrote: `apiVersion`, `kind` and `metadata` come first, and
//! nothing is escaped that could be taken for the beginning of a field.

use super::whole::AnyValue;
use super::{METADATA, metadata_at, parse, read};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::ops::Range;
use stowplan_apimachinery::json;
use stowplan_kinds::columns::Read;
use stowplan_store::{Entry, Revision};

/// Where the value that begins at a bracket ends.
fn end_of(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_text(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// Behind the quote that ends a text.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..) {
        let plain = json::plain_prefix(rest);
        match rest.get(plain) {
            Some(b'"') => return at + plain + 1,
            // What is escaped ends nothing.
            Some(_) => at += plain + 2,
            None => break,
        }
    }
    bytes.len()
}

/// The metadata within the bytes of an object, brackets included.
fn metadata(value: &[u8]) -> Range<usize> {
    let start = metadata_at(value) + METADATA.len() - 1;
    start..end_of(value, start).max(start)
}

/// Where the value of a field of the metadata is, and where the field begins. The value begins with
/// this bracket.
fn field(value: &[u8], name: &str, bracket: u8) -> Option<(usize, Range<usize>)> {
    let metadata = metadata(value);
    let inside = value.get(metadata.clone())?;
    let mut quoted = format!("\"{name}\":").into_bytes();
    quoted.push(bracket);
    let begin = metadata.start + memchr::memmem::find(inside, &quoted)?;
    let start = begin + quoted.len() - 1;
    Some((begin, start..end_of(value, start)))
}

/// The metadata of an object, but for its revision. Nothing of it is kept.
pub(crate) fn metadata_alone(entry: &Entry) -> Value {
    let bytes = entry.value.get(metadata(&entry.value));
    bytes.map(parse).unwrap_or_default()
}

/// The labels of an object.
pub(crate) fn labels(entry: &Entry) -> Map<String, Value> {
    let found = field(&entry.value, "labels", b'{');
    let bytes = found.and_then(|(_, range)| entry.value.get(range));
    bytes
        .and_then(|bytes| serde_json::from_slice(bytes).ok())
        .unwrap_or_default()
}

/// The object but for `metadata.managedFields` and `metadata.resourceVersion`. Nothing of it is kept.
pub(crate) fn object(entry: &Entry) -> Value {
    let value = &*entry.value;
    let Some((begin, range)) = field(value, "managedFields", b'[') else {
        return parse(value);
    };
    let (mut begin, mut end) = (begin, range.end);
    if value.get(end) == Some(&b',') {
        end += 1;
    } else if value.get(begin.saturating_sub(1)) == Some(&b',') {
        begin -= 1;
    }
    let parts = [value.get(..begin), value.get(end..)];
    parse(&parts.map(Option::unwrap_or_default).concat())
}

/// Of the object only this, and nothing of it is kept; nothing said is all but what [`object`] leaves out.
pub(crate) fn part(entry: &Entry, reads: &'static [Read]) -> Value {
    if reads.is_empty() {
        return object(entry);
    }
    // The whole tells what is wrong with it.
    read(&entry.value, Part(reads)).unwrap_or_else(|_| parse(&entry.value))
}

/// Reads some fields of a value and passes over the others.
#[derive(Clone, Copy)]
struct Part(&'static [Read]);

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        match self.0.is_empty() {
            true => AnyValue.deserialize(reader),
            false => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map, a list of maps, or null")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(read) = fields.next_key_seed(Name(self.0))? {
            match read {
                Some(Read(name, inside)) => {
                    map.insert((*name).to_owned(), fields.next_value_seed(Part(inside))?);
                }
                None => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(map.into())
    }
}

/// Reads the name of a field, and tells whether it is one of these.
struct Name(&'static [Read]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static Read>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static Read>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|read| read.0 == name))
    }
}

/// Appends the metadata as clients see it.
pub(crate) fn write_metadata(out: &mut Vec<u8>, entry: &Entry, revision: Revision) {
    let range = metadata(&entry.value);
    let inside = entry.value.get(range.start + 1..range.end);
    out.extend_from_slice(b"{\"resourceVersion\":\"");
    out.extend_from_slice(revision.to_string().as_bytes());
    match inside {
        None | Some(b"}") => out.extend_from_slice(b"\"}"),
        Some(inside) => {
            out.extend_from_slice(b"\",");
            out.extend_from_slice(inside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::encode;
    use serde_json::json;
    use std::sync::Arc;
    use stowplan_apimachinery::{Edit, View};
    use stowplan_store::{Expect, Options, Store, Txn};

    fn stored(object: &Value) -> Arc<Entry> {
        let store = Store::in_memory(Options::default());
        let put = Txn::new().put("/a", encode(object), Expect::Absent);
        store.commit_blocking(put).expect("is new");
        store.get(b"/a").expect("was put")
    }

    fn check(metadata: Value) {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"template": {"metadata": {"labels": {"not": "ours"}, "managedFields": [1]}}},
        });
        let entry = stored(&object);
        let labels_of = |o: &Value| o.at("metadata").at("labels").as_object().cloned();
        assert_eq!(labels(&entry), labels_of(&object).unwrap_or_default());
        let mut expected = object.clone();
        expected.at_mut("metadata").unset("managedFields");
        assert_eq!(super::object(&entry), expected);
        assert_eq!(&metadata_alone(&entry), object.at("metadata"));
        let mut out = Vec::new();
        write_metadata(&mut out, &entry, Revision(7));
        let mut expected = object.at("metadata").clone();
        expected.set("resourceVersion", "7");
        assert_eq!(serde_json::from_slice::<Value>(&out).ok(), Some(expected));
    }

    #[test]
    fn bytes_tell_what_the_tree_tells() {
        let fields = json!([{"manager": "a", "fieldsV1": {"f:metadata": {"f:labels": {}}}}]);
        let tricky = "}\"]{\\ ,\"managedFields\":[1], \"labels\":{\"a\":\"b\"}";
        for metadata in [
            json!({}),
            json!({"name": "x"}),
            json!({"managedFields": fields}),
            json!({"managedFields": fields, "name": "x"}),
            json!({"labels": {"a": "b"}, "managedFields": fields}),
            json!({"annotations": {"k": tricky}, "labels": {"managedFields": "labels"},
                   "managedFields": fields, "name": tricky}),
            json!({"annotations": {"managedFields": tricky, "labels": tricky}, "name": "x"}),
        ] {
            check(metadata);
        }
    }

    #[test]
    fn some_fields_are_read_alone() {
        const READS: &[Read] = &[
            Read("metadata", &[Read("name", &[])]),
            Read(
                "spec",
                &[
                    Read("list", &[Read("a", &[])]),
                    Read("none", &[Read("a", &[])]),
                ],
            ),
            Read("status", &[]),
            Read("missing", &[Read("a", &[])]),
        ];
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "x\n", "labels": {"a": "{\"name\":\"y\"}"}},
            "spec": {"list": [{"a": [1, {"b": "\\"}], "b": 1}, null, {}], "none": null, "text": "\""},
            "status": {"a": {"b": [1.5, true]}},
        });
        let cut = part(&stored(&object), READS);
        assert_eq!(cut, Read::cut(&object, READS));
        assert_eq!(cut["spec"]["list"][0], json!({"a": [1, {"b": "\\"}]}));
        // What is not of the form that was expected is read as a whole.
        let odd = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": 1});
        assert_eq!(part(&stored(&odd), READS), odd);
        assert_eq!(part(&stored(&object), &[]), object);
    }

    #[test]
    fn no_bytes_bring_it_down() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"labels": {"a": "b"}, "managedFields": [{"a": "\\"}], "name": "x"},
        });
        let whole = encode(&object);
        for length in 0..whole.len() {
            let store = Store::in_memory(Options::default());
            let put = Txn::new().put("/a", whole.slice(..length), Expect::Absent);
            store.commit_blocking(put).expect("is new");
            let entry = store.get(b"/a").expect("was put");
            labels(&entry);
            super::object(&entry);
            part(&entry, &[Read("metadata", &[Read("name", &[])])]);
            metadata_alone(&entry);
            write_metadata(&mut Vec::new(), &entry, Revision(7));
        }
    }
}
