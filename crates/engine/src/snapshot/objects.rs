//! Objects of one kind, by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::Sym;

/// All objects of one kind by (namespace, name), walked in symbol order.
#[derive(Clone, Debug)]
pub struct Objects<T>(BTreeMap<(Sym, Sym), Arc<T>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Objects<T> {
    /// The object of this name; the namespace of cluster-scoped kinds is [`Sym::EMPTY`].
    pub fn get(&self, namespace: Sym, name: Sym) -> Option<&Arc<T>> {
        self.0.get(&(namespace, name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.values()
    }

    /// Those of one namespace.
    pub fn in_namespace(&self, namespace: Sym) -> impl Iterator<Item = &Arc<T>> {
        self.0
            .range((namespace, Sym::EMPTY)..)
            .take_while(move |((ns, _), _)| *ns == namespace)
            .map(|(_, object)| object)
    }

    pub(super) fn insert(&mut self, namespace: Sym, name: Sym, object: Arc<T>) -> Option<Arc<T>> {
        self.0.insert((namespace, name), object)
    }

    pub(super) fn remove(&mut self, namespace: Sym, name: Sym) -> Option<Arc<T>> {
        self.0.remove(&(namespace, name))
    }
}
