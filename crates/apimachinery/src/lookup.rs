//! Other objects, for those who judge one.

use serde_json::Value;
use std::sync::Arc;

/// What admission, access checks and strategies may read of the cluster. There is no lag: what a
/// write has answered is seen by the next request.
pub trait Lookup {
    /// One object; `group` and `resource` as in the URL (`"apps"`, `"deployments"`), `namespace`
    /// empty for cluster-scoped kinds.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// All objects of a namespace, or of all namespaces if it is empty, in key order.
    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>>;
}

/// A cluster with nothing in it.
pub struct Nothing;

impl Lookup for Nothing {
    fn get(&self, _: &str, _: &str, _: &str, _: &str) -> Option<Arc<Value>> {
        None
    }

    fn list(&self, _: &str, _: &str, _: &str) -> Vec<Arc<Value>> {
        Vec::new()
    }
}
