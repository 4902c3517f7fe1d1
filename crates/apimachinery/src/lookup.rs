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

    /// Looks at what [`Lookup::list`] gives, but for managedFields, one by one: of many objects no more
    /// than one is held.
    fn each(&self, group: &str, resource: &str, namespace: &str, look: &mut dyn FnMut(&Value)) {
        for object in self.list(group, resource, namespace) {
            look(&object);
        }
    }

    /// How many objects [`Lookup::list`] gives. No matter how large they are: none is read.
    fn count(&self, group: &str, resource: &str, namespace: &str) -> usize {
        self.list(group, resource, namespace).len()
    }
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
