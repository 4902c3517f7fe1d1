//! Changes of fields, as far as scheduling reads them.

use super::{Labels, Object};
use crate::framework::FieldChange;
use std::sync::Arc;
use stowplan_base::{Names, Sym};

impl Object {
    /// The object with these changes, as far as scheduling reads them.
    #[must_use]
    pub fn changed(&self, changes: &[FieldChange], names: &mut Names) -> Self {
        let mut object = self.clone();
        for change in changes {
            match change {
                FieldChange::Annotation(key, value) => {
                    if let Some(annotations) = object.annotations_mut() {
                        set(annotations, key, value.as_deref(), names);
                    }
                }
                FieldChange::Label(key, value) => {
                    if let Some(labels) = object.labels_mut() {
                        set(labels, key, value.as_deref(), names);
                    }
                }
                FieldChange::ClaimRef(claim) => {
                    if let Self::PersistentVolume(volume) = &mut object {
                        Arc::make_mut(volume).claim_ref = Some(claim.clone());
                    }
                }
            }
        }
        object
    }

    fn annotations_mut(&mut self) -> Option<&mut Labels> {
        match self {
            Self::Node(node) => Some(&mut Arc::make_mut(node).annotations),
            Self::PersistentVolume(volume) => Some(&mut Arc::make_mut(volume).annotations),
            Self::PersistentVolumeClaim(claim) => Some(&mut Arc::make_mut(claim).annotations),
            _ => None,
        }
    }

    fn labels_mut(&mut self) -> Option<&mut Labels> {
        match self {
            Self::Pod(pod) => Some(&mut Arc::make_mut(pod).labels),
            Self::Node(node) => Some(&mut Arc::make_mut(node).labels),
            Self::Namespace(namespace) => Some(&mut Arc::make_mut(namespace).labels),
            Self::PersistentVolume(volume) => Some(&mut Arc::make_mut(volume).labels),
            _ => None,
        }
    }
}

fn set(labels: &mut Labels, key: &str, value: Option<&str>, names: &mut Names) {
    let key = names.intern(key);
    let value: Option<Sym> = value.map(|value| names.intern(value));
    let others = labels.iter().filter(|(other, _)| *other != key);
    *labels = Labels::new(others.chain(value.map(|value| (key, value))));
}
