//! Objects in the store: keys, bytes, and the way back.
//!
//! An object is kept as the JSON that clients see, with `apiVersion`, `kind` and `metadata` first and
//! without `metadata.resourceVersion`, which is the revision of its entry and is put in when it is
//! read. So an object that nobody has to look into goes from the store to the wire as bytes.

pub(crate) mod glance;
mod whole;

use crate::limits::{LIGHT_BYTES_MAX, OBJECT_BYTES_MAX};
use crate::resource::Resource;
use bytes::Bytes;
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Edit, Status, View, json};
use stowplan_kinds::columns::Read;
use stowplan_store::{CommitError, Entry, Revision};
use whole::AnyValue;

/// The key of an object, or of all objects of a namespace (empty `name`), or of all (both empty).
/// Upstream's keys, because error messages show them.
pub(crate) fn key(resource: &Resource, namespace: &str, name: &str) -> String {
    let parts = prefix(resource);
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let mut key = String::with_capacity(length + namespace.len() + 1 + name.len());
    parts.iter().for_each(|part| key.push_str(part));
    if !namespace.is_empty() {
        key.push_str(namespace);
        key.push('/');
    }
    key.push_str(name);
    key
}

/// Upstream: `DefaultStorageFactory` and its special prefixes (`kubeapiserver/default_storage_factory_builder.go`).
fn prefix(resource: &Resource) -> [&str; 5] {
    let (group, plural) = (resource.group(), resource.plural());
    if resource.is_custom() || group == "apiextensions.k8s.io" {
        return ["/registry/", group, "/", plural, "/"];
    }
    let folder = match (group, plural) {
        ("", "replicationcontrollers") => "controllers",
        ("", "endpoints") => "services/endpoints",
        ("", "services") => "services/specs",
        ("", "nodes") => "minions",
        ("networking.k8s.io", "ingresses") => "ingress",
        (_, plural) => plural,
    };
    ["/registry/", folder, "/", "", ""]
}

/// Where the objects of a custom resource are.
pub(crate) fn custom_prefix(group: &str, plural: &str) -> String {
    ["/registry/", group, "/", plural, "/"].concat()
}

/// The bytes to keep of an object.
pub(crate) fn encode(object: &Value) -> Bytes {
    encode_as(object, false)
}

/// The bytes to keep of an object. `completed`: some of it was added only after it was accepted.
/// Upstream adds that whenever it reads the object, and keeps it only with the next write, which is a
/// change even if it changes nothing else. So the bytes remember it.
pub(crate) fn encode_as(object: &Value, completed: bool) -> Bytes {
    static EMPTY: Value = Value::Null;
    // Most objects fit.
    let mut out = Vec::with_capacity(4096);
    let field = |out: &mut Vec<u8>, separator: &str, name: &str, value: &Value| {
        out.extend_from_slice(separator.as_bytes());
        json::write_field(out, name, value);
    };
    let fields = object.as_object();
    let get = |name: &str| fields.and_then(|f| f.get(name)).unwrap_or(&EMPTY);
    field(&mut out, "{", "apiVersion", get("apiVersion"));
    field(&mut out, ",", "kind", get("kind"));
    out.extend_from_slice(METADATA);
    let mut separator = "";
    for (name, value) in get("metadata").as_object().into_iter().flatten() {
        if name != "resourceVersion" {
            field(&mut out, separator, name, value);
            separator = ",";
        }
    }
    out.push(b'}');
    for (name, value) in fields.into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            field(&mut out, ",", name, value);
        }
    }
    out.push(b'}');
    if completed {
        out.push(COMPLETED);
    }
    // Without the room that is left: it is kept for long.
    Bytes::copy_from_slice(&out)
}

/// Whether an object is small enough to be kept. Upstream keeps most kinds as protobuf, which needs no
/// escapes: a text of a million line feeds is two million bytes of JSON and fits all the same.
pub(crate) fn fits(bytes: &Bytes, object: &Value) -> bool {
    bytes.len() <= OBJECT_BYTES_MAX
        || (bytes.len() <= 2 * OBJECT_BYTES_MAX && json::unescaped_len(object) <= OBJECT_BYTES_MAX)
}

/// What follows a completed object in the store: nothing that a reader of JSON looks at.
const COMPLETED: u8 = b' ';

/// Whether the object was completed when it was stored.
pub(crate) fn is_completed(entry: &Entry) -> bool {
    entry.value.last() == Some(&COMPLETED)
}

const METADATA: &[u8] = b",\"metadata\":{";

/// Where an entry's `,"metadata":{` begins.
fn metadata_at(value: &[u8]) -> usize {
    let found = memchr::memmem::find(value, METADATA);
    found.unwrap_or(value.len().saturating_sub(METADATA.len()))
}

/// Appends the object as clients see it.
pub(crate) fn write_object(out: &mut Vec<u8>, entry: &Entry) {
    write_object_at(out, entry, entry.mod_revision);
}

/// Appends the object with another revision than its own: that of its end.
pub(crate) fn write_object_at(out: &mut Vec<u8>, entry: &Entry, revision: Revision) {
    let at = metadata_at(&entry.value);
    out.extend_from_slice(entry.value.get(..at).unwrap_or_default());
    out.push(b',');
    write_rest(out, entry, at, revision);
}

/// The object as clients see it, in parts of which the large ones are the entry's own bytes: whoever
/// waits for his turn to be told of it holds no copy.
pub(crate) fn object_parts(entry: &Entry, revision: Revision) -> [Bytes; 3] {
    let at = metadata_at(&entry.value);
    let rest = (at + METADATA.len()).min(entry.value.len());
    let mut between = b",\"metadata\":{\"resourceVersion\":\"".to_vec();
    between.extend_from_slice(revision.to_string().as_bytes());
    let empty = entry.value.get(rest) == Some(&b'}');
    between.extend_from_slice(if empty { b"\"" } else { b"\"," });
    [
        entry.value.slice(..at),
        between.into(),
        entry.value.slice(rest..),
    ]
}

/// Appends the object without `apiVersion` and `kind`, as it stands in a list.
pub(crate) fn write_item(out: &mut Vec<u8>, entry: &Entry) {
    out.push(b'{');
    write_rest(out, entry, metadata_at(&entry.value), entry.mod_revision);
}

fn write_rest(out: &mut Vec<u8>, entry: &Entry, at: usize, revision: Revision) {
    out.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
    out.extend_from_slice(revision.to_string().as_bytes());
    let rest = entry.value.get(at + METADATA.len()..).unwrap_or(b"}}");
    out.extend_from_slice(if rest.first() == Some(&b'}') {
        b"\""
    } else {
        b"\","
    });
    out.extend_from_slice(rest);
}

/// JSON that this server wrote. How deep it nests was checked when it came in.
pub(crate) fn parse(bytes: &[u8]) -> Value {
    read(bytes, AnyValue).unwrap_or_else(|error| {
        tracing::error!(%error, "a stored object cannot be read");
        Value::Object(Map::new())
    })
}

/// Reads bytes at the beginning of which there is JSON.
fn read<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    // To look at all bytes once costs less than to look at every text in them.
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mut reader = serde_json::Deserializer::from_str(text);
            reader.disable_recursion_limit();
            seed.deserialize(&mut reader)
        }
        Err(_) => {
            let mut reader = serde_json::Deserializer::from_slice(bytes);
            reader.disable_recursion_limit();
            seed.deserialize(&mut reader)
        }
    }
}

/// The object in an entry; made once and shared.
pub(crate) fn object(entry: &Entry) -> Arc<Value> {
    entry.decoded(|bytes| with_revision(bytes, entry.mod_revision))
}

/// The object in an entry that is about to be replaced, so that nobody will ask for it again.
pub(crate) fn outgoing_object(entry: &Entry) -> Value {
    match entry.decoded_before::<Value>() {
        Some(object) => Value::clone(&object),
        None => with_revision(&entry.value, entry.mod_revision),
    }
}

fn with_revision(bytes: &[u8], revision: Revision) -> Value {
    let mut object = parse(bytes);
    set_revision(&mut object, revision);
    object
}

/// What a client hears when a transaction failed for another reason than a precondition.
pub(crate) fn failure(error: &CommitError) -> Status {
    let mut whole = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        whole = format!("{whole}: {cause}");
        next = cause.source();
    }
    // The client is not told what the file is called.
    tracing::error!(error = whole, "a write failed");
    Status::internal(error.to_string())
}

/// Puts a revision into `metadata.resourceVersion`.
pub(crate) fn set_revision(object: &mut Value, revision: Revision) {
    object
        .at_mut("metadata")
        .set("resourceVersion", revision.to_string());
}

/// The revision in `metadata.resourceVersion`; absent is 0. Upstream: `APIObjectVersioner`.
pub(crate) fn revision_of(object: &Value) -> Result<Revision, String> {
    match object.at("metadata").text("resourceVersion") {
        "" => Ok(Revision(0)),
        text => parse_revision(text),
    }
}

/// A revision as text; the error is Go's.
pub(crate) fn parse_revision(text: &str) -> Result<Revision, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let why = match text.parse() {
        Ok(revision) if digits => return Ok(Revision(revision)),
        Err(_) if digits => "value out of range",
        _ => "invalid syntax",
    };
    let quoted = stowplan_apimachinery::go::quote(text);
    Err(format!("strconv.ParseUint: parsing {quoted}: {why}"))
}

/// The store as admission and access checks see it.
pub(crate) struct Cluster<'a>(pub(crate) &'a crate::Api);

impl Lookup for Cluster<'_> {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let resource = self.0.resources().by_group(group, resource)?;
        let entry = self
            .0
            .store()
            .get(key(&resource, namespace, name).as_bytes())?;
        Some(object(&entry))
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let entries = self.entries(group, resource, namespace);
        entries.iter().map(|entry| object(entry)).collect()
    }

    fn each(&self, group: &str, resource: &str, namespace: &str, look: &mut dyn FnMut(&Value)) {
        for entry in self.entries(group, resource, namespace) {
            match entry.decoded_before::<Value>() {
                Some(known) => look(&known),
                None => look(&glance::object(&entry)),
            }
        }
    }

    fn count(&self, group: &str, resource: &str, namespace: &str) -> usize {
        let resource = self.0.resources().by_group(group, resource);
        let prefix = resource.map(|resource| key(&resource, namespace, ""));
        prefix.map_or(0, |prefix| self.0.store().count(prefix.as_bytes()))
    }
}

/// The store as those see it who want to know whether objects are still there, and which: of large ones
/// nothing else is read.
pub(crate) struct Identities<'a>(pub(crate) &'a crate::Api);

impl Lookup for Identities<'_> {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        const METADATA: &[Read] = &[Read("uid", &[]), Read("deletionTimestamp", &[])];
        const READS: &[Read] = &[Read("metadata", METADATA)];
        let resource = self.0.resources().by_group(group, resource)?;
        let key = key(&resource, namespace, name);
        let entry = self.0.store().get(key.as_bytes())?;
        Some(match entry.value.len() > LIGHT_BYTES_MAX {
            true => Arc::new(glance::part(&entry, READS)),
            false => object(&entry),
        })
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        Cluster(self.0).list(group, resource, namespace)
    }
}

impl Cluster<'_> {
    fn entries(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Entry>> {
        let Some(resource) = self.0.resources().by_group(group, resource) else {
            return Vec::new();
        };
        let prefix = key(&resource, namespace, "");
        let page = self.0.store().range(prefix.as_bytes(), None, None, None);
        page.map(|page| page.entries).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use stowplan_store::{Expect, Options, Store, Txn};

    #[test]
    fn an_object_comes_back_with_its_revision() {
        let store = Store::in_memory(Options::default());
        let kept = json!({
            "apiVersion": "v1", "binaryData": {"a": "b"}, "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "77"}
        });
        let put = Txn::new().put("/a", encode(&kept), Expect::Absent);
        let revision = store.commit_blocking(put).expect("is new").revision;
        let entry = store.get(b"/a").expect("was put");
        let mut wanted = kept;
        set_revision(&mut wanted, revision);
        assert_eq!(*object(&entry), wanted);
        let mut wire = Vec::new();
        write_object(&mut wire, &entry);
        assert_eq!(serde_json::from_slice::<Value>(&wire).ok(), Some(wanted));
        assert_eq!(object_parts(&entry, revision).concat(), wire);
        let mut item = Vec::new();
        write_item(&mut item, &entry);
        let item: Value = serde_json::from_slice(&item).expect("JSON");
        assert_eq!(item.at("kind"), &Value::Null);
        assert_eq!(item.at("metadata").text("name"), "a");
    }

    #[test]
    fn a_completed_object_is_known_by_its_bytes() {
        let store = Store::in_memory(Options::default());
        let kept = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}});
        for (key, completed) in [("/a", true), ("/b", false)] {
            let put = Txn::new().put(key, encode_as(&kept, completed), Expect::Absent);
            store.commit_blocking(put).expect("is new");
            let entry = store.get(key.as_bytes()).expect("was put");
            assert_eq!(is_completed(&entry), completed);
            assert_eq!(object(&entry).at("metadata").text("name"), "a");
        }
    }

    #[test]
    fn revisions_are_numbers() {
        assert_eq!(parse_revision("12"), Ok(Revision(12)));
        for (text, why) in [
            ("abc", "invalid syntax"),
            ("-1", "invalid syntax"),
            ("+1", "invalid syntax"),
            ("99999999999999999999", "value out of range"),
        ] {
            let error = parse_revision(text).unwrap_err();
            assert!(error.ends_with(why), "{error}");
        }
    }
}
