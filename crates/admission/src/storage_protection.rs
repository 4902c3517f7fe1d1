//! StorageObjectInUseProtection: volumes and claims are not removed while they are in use.
//! Upstream: `plugin/pkg/admission/storage/storageobjectinuseprotection`.

use crate::{Attributes, Operation};
use stowplan_apimachinery::{Edit, View};

pub(crate) fn admit(request: &mut Attributes<'_>) {
    if request.operation != Operation::Create || !request.subresource.is_empty() {
        return;
    }
    let resource = (
        request.resource.group.as_str(),
        request.resource.resource.as_str(),
    );
    let finalizer = match resource {
        ("", "persistentvolumes") => "kubernetes.io/pv-protection",
        ("", "persistentvolumeclaims") => "kubernetes.io/pvc-protection",
        ("storage.k8s.io", "volumeattributesclasses") => "kubernetes.io/vac-protection",
        _ => return,
    };
    let Some(object) = request.object.as_deref_mut() else {
        return;
    };
    let mut finalizers = object.at("metadata").list("finalizers").iter();
    if !finalizers.any(|f| f == finalizer) {
        let metadata = object.at_mut("metadata");
        metadata.list_mut("finalizers").push(finalizer.into());
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Case;
    use serde_json::json;

    #[test]
    fn the_finalizer_is_added_once() {
        let claim = json!({"metadata": {"name": "c", "finalizers": ["a/b"]}});
        let create = |object| Case::create("", "persistentvolumeclaims", object);
        let out = create(claim).after(super::admit);
        let both = json!(["a/b", "kubernetes.io/pvc-protection"]);
        assert_eq!(out["metadata"]["finalizers"], both);
        let again = create(out).after(super::admit);
        assert_eq!(again["metadata"]["finalizers"], both);
        let volume = json!({"metadata": {"name": "v"}});
        let out = Case::create("", "persistentvolumes", volume).after(super::admit);
        assert_eq!(
            out["metadata"]["finalizers"],
            json!(["kubernetes.io/pv-protection"])
        );
    }
}
