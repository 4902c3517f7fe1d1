//! Pods of a workload as JSON.

use k8s_openapi::api::core::v1::Pod;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stowplan_apimachinery::Edit;

/// A value as a type of the API. What is read from files has been validated.
pub(crate) fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// A pod as JSON, with a name that is the same every time.
pub(crate) fn named(mut pod: Pod, name: String) -> Value {
    pod.metadata.name = Some(name);
    as_json(pod)
}

/// A pod as JSON, without a name.
pub(crate) fn as_json(mut pod: Pod) -> Value {
    pod.metadata.generate_name = None;
    serde_json::to_value(pod).unwrap_or_default()
}

/// The same pod under several names. To copy JSON takes less time than to write each pod anew.
pub(crate) fn copies(pod: &Value, names: impl Iterator<Item = String>) -> Vec<Value> {
    let copy = |name: String| {
        let mut copy = pod.clone();
        copy.at_mut("metadata").set("name", name);
        copy
    };
    names.map(copy).collect()
}
