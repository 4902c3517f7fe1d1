//! The attacks. One file per road into the server; [`kinds`] makes one for each field of each kind.

mod beside;
mod bodies;
mod definitions;
pub(crate) mod kinds;
mod patches;
mod protobuf;
mod queries;
mod rights;
mod yaml;

use crate::attack::{Attack, Request};
use serde_json::{Map, Value, json};

/// All attacks that are written by hand.
pub(crate) fn by_hand() -> Vec<Attack> {
    [
        beside::attacks(),
        bodies::attacks(),
        yaml::attacks(),
        patches::attacks(),
        queries::attacks(),
        rights::attacks(),
        definitions::attacks(),
        protobuf::attacks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DRY: &str = "?dryRun=All";

/// `{"k0": "v", "k1": "v", …}`
fn keys(n: usize) -> Value {
    let keys = (0..n).map(|i| (format!("k{i}"), Value::from("v")));
    Value::Object(keys.collect::<Map<_, _>>())
}

/// `make(0), make(1), …`
fn list(n: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..n).map(make).collect()
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn pod(metadata: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

/// The scene: a ConfigMap that can be patched.
fn create(data: Value) -> Request {
    Request::post(CONFIG_MAPS, &config_map(data))
}
