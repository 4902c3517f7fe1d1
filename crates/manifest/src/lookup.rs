//! The other objects of an input, for those who judge one.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_registry::Resource;

/// Objects of an input by resource, namespace and name, and what every cluster has beside them.
///
/// A namespace that no file names is there, without labels. So is a service account; it mounts no token,
/// because nobody would look at the volume. Both priority classes of the system are there.
#[derive(Clone, Debug)]
pub struct Objects {
    /// By group, plural, namespace and name.
    by_key: BTreeMap<(String, String, String, String), Arc<Value>>,
    namespace: Arc<Value>,
    account: Arc<Value>,
}

/// Resources that admission looks at.
const LOOKED_AT: [(&str, &str); 6] = [
    ("", "limitranges"),
    ("", "namespaces"),
    ("", "serviceaccounts"),
    ("node.k8s.io", "runtimeclasses"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
];

impl Default for Objects {
    fn default() -> Self {
        let mut objects = Self {
            by_key: BTreeMap::new(),
            namespace: Arc::new(json!({"metadata": {}, "status": {"phase": "Active"}})),
            account: Arc::new(json!({"metadata": {}, "automountServiceAccountToken": false})),
        };
        for (name, value) in stowplan_kinds::SYSTEM_PRIORITY_CLASSES {
            let metadata = json!({"name": name});
            let policy = "PreemptLowerPriority";
            let class = json!({"metadata": metadata, "value": value, "preemptionPolicy": policy});
            objects.put("scheduling.k8s.io", "priorityclasses", class);
        }
        objects
    }
}

impl Objects {
    /// Whether admission looks at objects of a resource, so that they have to be known first.
    pub(crate) fn wants(resource: &Resource) -> bool {
        LOOKED_AT.contains(&(resource.group(), resource.plural()))
    }

    /// Takes in an object, in place of what has its name.
    pub fn put(&mut self, group: &str, plural: &str, object: Value) {
        let key = (
            group.to_owned(),
            plural.to_owned(),
            meta::namespace(&object).to_owned(),
            meta::name(&object).to_owned(),
        );
        self.by_key.insert(key, Arc::new(object));
    }
}

impl Lookup for Objects {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = (
            group.to_owned(),
            resource.to_owned(),
            namespace.to_owned(),
            name.to_owned(),
        );
        let implied = || match (group, resource) {
            ("", "namespaces") => Some(&self.namespace),
            ("", "serviceaccounts") => Some(&self.account),
            _ => None,
        };
        self.by_key.get(&key).or_else(implied).cloned()
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let from = (
            group.to_owned(),
            resource.to_owned(),
            namespace.to_owned(),
            String::new(),
        );
        let range = self.by_key.range(from..);
        range
            .take_while(|((g, r, n, _), _)| {
                g == group && r == resource && (namespace.is_empty() || n == namespace)
            })
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }
}
