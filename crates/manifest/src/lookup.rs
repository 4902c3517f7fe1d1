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
    /// By place in [`LOOKED_AT`], namespace and name.
    by_resource: [BTreeMap<String, BTreeMap<String, Arc<Value>>>; LOOKED_AT.len()],
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
            by_resource: Default::default(),
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
        place(resource.group(), resource.plural()).is_some()
    }

    /// Takes in an object that admission looks at, in place of what has its name.
    pub fn put(&mut self, group: &str, plural: &str, object: Value) {
        if let Some(place) = place(group, plural) {
            let names = self.by_resource[place].entry(meta::namespace(&object).to_owned());
            let name = meta::name(&object).to_owned();
            names.or_default().insert(name, Arc::new(object));
        }
    }
}

fn place(group: &str, plural: &str) -> Option<usize> {
    LOOKED_AT.iter().position(|known| *known == (group, plural))
}

impl Lookup for Objects {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let found = place(group, resource)
            .and_then(|place| self.by_resource[place].get(namespace)?.get(name));
        let implied = || match (group, resource) {
            ("", "namespaces") => Some(&self.namespace),
            ("", "serviceaccounts") => Some(&self.account),
            _ => None,
        };
        found.or_else(implied).cloned()
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some(place) = place(group, resource) else {
            return Vec::new();
        };
        let all = &self.by_resource[place];
        let there = all
            .iter()
            .filter(|(there, _)| namespace.is_empty() || *there == namespace);
        let objects = there.flat_map(|(_, names)| names.values());
        objects.cloned().collect()
    }
}
