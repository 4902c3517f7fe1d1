//! What the API server would have filled in, as far as scheduling reads it.
//!
//! Objects that an API server has already stored (they have a uid, a resource version or a creation
//! time) are past what only creation does; those written by hand are not.

mod pod;
mod priority;
mod storage;
#[cfg(test)]
mod tests;

pub use priority::{PriorityClasses, SYSTEM_PRIORITY_CLASSES};
pub use storage::default_storage_class;

use crate::field::{FieldError, Path};
use crate::load::{Loaded, Object};
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whether an API server has stored the object.
pub fn is_stored(metadata: &ObjectMeta) -> bool {
    metadata.uid.is_some()
        || metadata.resource_version.is_some()
        || metadata.creation_timestamp.is_some()
}

/// What defaults depend on: classes of priority and storage.
#[derive(Clone, Debug)]
pub struct Defaults {
    priority_classes: PriorityClasses,
    storage_class: Option<String>,
}

impl Defaults {
    /// Reads the classes among the objects.
    pub fn of(objects: &[Loaded]) -> Self {
        let priority_classes = objects.iter().filter_map(|loaded| match &loaded.object {
            Object::PriorityClass(class) => Some(&**class),
            _ => None,
        });
        let storage_classes = objects.iter().filter_map(|loaded| match &loaded.object {
            Object::StorageClass(class) => Some(&**class),
            _ => None,
        });
        Self {
            priority_classes: PriorityClasses::new(priority_classes),
            storage_class: default_storage_class(storage_classes),
        }
    }

    /// Fills in one object; what cannot be filled in is reported.
    pub fn fill(&self, object: &mut Object, errors: &mut Vec<FieldError>) {
        match object {
            Object::Pod(pod) => self.pod(pod, errors),
            Object::PersistentVolumeClaim(claim) => self.claim(claim),
            Object::PersistentVolume(volume) => storage::volume(volume),
            Object::StorageClass(class) => storage::class(class),
            Object::Node(node) => fill_node(node),
            Object::Namespace(namespace) => fill_namespace(namespace),
            _ => {}
        }
    }

    /// Fills in a pod.
    pub fn pod(&self, pod: &mut Pod, errors: &mut Vec<FieldError>) {
        let new = !is_stored(&pod.metadata);
        pod::pod(pod);
        if new {
            pod::merge_label_keys(pod);
        }
        if let Some(spec) = &mut pod.spec {
            self.priority_classes
                .admit(spec, new, &Path::new("spec"), errors);
        }
    }

    /// Fills in a claim.
    pub fn claim(&self, claim: &mut PersistentVolumeClaim) {
        // A stored claim without a class is one that must not have any.
        let class = self
            .storage_class
            .as_deref()
            .filter(|_| !is_stored(&claim.metadata));
        storage::claim(claim, class);
    }
}

/// A node without `allocatable` can give all that it has.
fn fill_node(node: &mut Node) {
    if let Some(status) = &mut node.status
        && status.allocatable.is_none()
    {
        status.allocatable = status.capacity.clone();
    }
}

fn fill_namespace(namespace: &mut Namespace) {
    if let Some(name) = namespace.metadata.name.clone() {
        let labels = namespace.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}
