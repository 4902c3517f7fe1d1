//! What the evaluators of quotas read.

use super::counts::Counts;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_client::{Cluster, Object};

/// The objects of informers as JSON, and counts of others.
pub(super) struct Objects {
    cluster: Arc<Cluster>,
    pub(super) counts: Counts,
}

impl Objects {
    pub(super) fn new(cluster: Arc<Cluster>, counts: Counts) -> Self {
        Self { cluster, counts }
    }

    fn look<K: Object>(&self, namespace: &str, look: &mut dyn FnMut(&Value)) {
        let objects = match namespace {
            "" => self.cluster.all::<K>(),
            namespace => self.cluster.namespace::<K>(namespace),
        };
        for object in objects {
            if let Ok(value) = serde_json::to_value(&*object) {
                look(&value);
            }
        }
    }

    fn one<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let object = self.cluster.get::<K>(namespace, name)?;
        Some(Arc::new(serde_json::to_value(&*object).ok()?))
    }
}

impl Lookup for Objects {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        match (group, resource) {
            ("", "pods") => self.one::<Pod>(namespace, name),
            ("resource.k8s.io", "resourceclaims") => self.one::<ResourceClaim>(namespace, name),
            ("resource.k8s.io", "deviceclasses") => self.one::<DeviceClass>("", name),
            _ => None,
        }
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let mut all = Vec::new();
        self.each(group, resource, namespace, &mut |object| {
            all.push(Arc::new(object.clone()));
        });
        all
    }

    fn each(&self, group: &str, resource: &str, namespace: &str, look: &mut dyn FnMut(&Value)) {
        match (group, resource) {
            ("", "pods") => self.look::<Pod>(namespace, look),
            ("", "services") => self.look::<Service>(namespace, look),
            ("", "persistentvolumeclaims") => {
                self.look::<PersistentVolumeClaim>(namespace, look);
            }
            ("resource.k8s.io", "resourceclaims") => self.look::<ResourceClaim>(namespace, look),
            ("resource.k8s.io", "deviceclasses") => self.look::<DeviceClass>("", look),
            _ => {}
        }
    }

    fn count(&self, group: &str, resource: &str, namespace: &str) -> usize {
        let resource = GroupResource::new(group, resource);
        self.counts.count(&resource, namespace)
    }
}
