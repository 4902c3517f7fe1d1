//! Templates → pods.

use k8s_openapi::api::core::v1::Pod;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, View as _, meta};

/// A value as a type of the API. What is read from files has been validated.
pub(crate) fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// A pod as JSON, with a name that is the same every time.
pub(crate) fn named(mut pod: Pod, name: String) -> Value {
    pod.metadata.name = Some(name);
    pod.metadata.generate_name = None;
    serde_json::to_value(pod).unwrap_or_default()
}

/// An `ownerReferences` entry that says who controls.
pub(crate) fn controlled_by(api_version: &str, kind: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": meta::name(owner),
        "uid": meta::uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// A pod as a controller makes it.
pub(crate) fn pod(template: &Value, namespace: &str, name: &str, owner: Value) -> Value {
    let given = template.at("metadata");
    let mut metadata = Map::new();
    metadata.set("name", name);
    metadata.set("namespace", namespace);
    for field in ["labels", "annotations", "finalizers"] {
        if given.has(field) {
            metadata.set(field, given.at(field).clone());
        }
    }
    metadata.set("ownerReferences", vec![owner]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.at("spec")})
}

/// Sets labels.
pub(crate) fn label(object: &mut Value, labels: &[(&str, &str)]) {
    let to = object.at_mut("metadata").at_mut("labels");
    for (key, value) in labels {
        to.set(key, *value);
    }
}

/// A short name for a template, the same for the same template. It looks like upstream's but is not:
/// that one is a hash of Go's memory.
pub(crate) fn hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash: u32 = 0x811c_9dc5;
    for byte in template.to_string().bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let digit = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    hash.to_string().bytes().map(digit).collect()
}
