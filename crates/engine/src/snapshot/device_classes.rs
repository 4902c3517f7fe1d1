//! Which device class stands for which extended resource. Upstream's
//! `dynamic-resource-allocation/deviceclass/extendedresourcecache`.

use crate::model::DeviceClass;
use std::hash::Hash;
use std::sync::Arc;
use stowplan_base::{Lookup, Marks, Names, Sym};

/// Device classes by extended resource, kept as classes come and go.
///
/// The map depends on history, as upstream's does: a class that loses to a newer one for the same
/// resource is not found by its implicit name either, and deleting one of two leaves the resource
/// without a class.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtendedResources(Lookup<Sym, Arc<DeviceClass>>);

impl ExtendedResources {
    /// Marks the names of all resources and classes.
    pub(super) fn mark_names(&self, marks: &mut Marks) {
        self.0.each(|resource, class| (resource, class).hash(marks));
    }

    /// The class for a resource.
    pub(super) fn get(&self, resource: Sym) -> Option<&Arc<DeviceClass>> {
        self.0.get(&resource)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A class was added or updated.
    pub(super) fn update(
        &mut self,
        class: &Arc<DeviceClass>,
        old: Option<&DeviceClass>,
        names: &Names,
    ) {
        if let Some(rival) = class.extended_resource_name.and_then(|r| self.get(r))
            && !wins(class, rival, names)
        {
            return;
        }
        if let Some(old) = old {
            self.remove(old);
        }
        if let Some(resource) = class.extended_resource_name {
            self.0.insert(resource, class.clone());
        }
        self.0.insert(class.implicit_resource_name, class.clone());
    }

    /// A class was deleted.
    pub(super) fn remove(&mut self, class: &DeviceClass) {
        self.0.remove(&class.implicit_resource_name);
        if let Some(resource) = class.extended_resource_name {
            self.0.remove(&resource);
        }
    }
}

/// Of two classes for one resource the newer wins, then the lower name.
fn wins(class: &DeviceClass, rival: &DeviceClass, names: &Names) -> bool {
    class
        .created
        .cmp(&rival.created)
        .then_with(|| names.text(rival.name).cmp(names.text(class.name)))
        .is_gt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Time;

    fn class(names: &mut Names, name: &str, secs: i64, resource: Option<&str>) -> Arc<DeviceClass> {
        Arc::new(DeviceClass {
            name: names.intern(name),
            created: Some(Time::from_secs(secs)),
            extended_resource_name: resource.map(|resource| names.intern(resource)),
            implicit_resource_name: names.intern(&format!("deviceclass/{name}")),
        })
    }

    #[test]
    fn the_newer_class_stands_for_a_resource_that_two_claim() {
        let mut names = Names::new();
        let gpu = names.intern("example.com/gpu");
        let old = class(&mut names, "old", 1, Some("example.com/gpu"));
        let new = class(&mut names, "new", 2, Some("example.com/gpu"));
        let twin = class(&mut names, "a", 2, Some("example.com/gpu"));
        let mut map = ExtendedResources::default();
        let holder = |map: &ExtendedResources| map.get(gpu).map(|class| class.name);
        map.update(&new, None, &names);
        map.update(&old, None, &names);
        assert_eq!(holder(&map), Some(new.name));
        assert!(map.get(old.implicit_resource_name).is_none());
        map.update(&twin, None, &names);
        assert_eq!(holder(&map), Some(twin.name));
        map.remove(&old);
        assert_eq!(holder(&map), None, "whoever held it");
        assert!(map.get(twin.implicit_resource_name).is_some());
    }

    #[test]
    fn an_update_moves_a_class_to_its_new_resource() {
        let mut names = Names::new();
        let [gpu, tpu] = ["example.com/gpu", "example.com/tpu"].map(|r| names.intern(r));
        let before = class(&mut names, "c", 1, Some("example.com/gpu"));
        let after = class(&mut names, "c", 1, Some("example.com/tpu"));
        let bare = class(&mut names, "c", 1, None);
        let mut map = ExtendedResources::default();
        map.update(&before, None, &names);
        map.update(&after, Some(&before), &names);
        assert!(map.get(gpu).is_none() && map.get(tpu).is_some());
        map.update(&bare, Some(&after), &names);
        assert!(map.get(tpu).is_none());
        assert!(map.get(bare.implicit_resource_name).is_some());
    }
}
