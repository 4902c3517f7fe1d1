//! Commands of the scheduler in the API's words.

use serde_json::{Value, json};
use stowplan_base::Names;
use stowplan_engine::framework::FieldChange;
use stowplan_engine::model::Kind;

/// Where the API has a kind: its group and version, its plural, and whether it lives in namespaces.
fn resource(kind: Kind) -> (&'static str, &'static str, bool) {
    match kind {
        Kind::Pod => ("v1", "pods", true),
        Kind::Node => ("v1", "nodes", false),
        Kind::Namespace => ("v1", "namespaces", false),
        Kind::PodDisruptionBudget => ("policy/v1", "poddisruptionbudgets", true),
        Kind::PersistentVolume => ("v1", "persistentvolumes", false),
        Kind::PersistentVolumeClaim => ("v1", "persistentvolumeclaims", true),
        Kind::StorageClass => ("storage.k8s.io/v1", "storageclasses", false),
        Kind::CSINode => ("storage.k8s.io/v1", "csinodes", false),
        Kind::CSIDriver => ("storage.k8s.io/v1", "csidrivers", false),
        Kind::CSIStorageCapacity => ("storage.k8s.io/v1", "csistoragecapacities", true),
        Kind::VolumeAttachment => ("storage.k8s.io/v1", "volumeattachments", false),
        Kind::Service => ("v1", "services", true),
        Kind::ReplicationController => ("v1", "replicationcontrollers", true),
        Kind::ReplicaSet => ("apps/v1", "replicasets", true),
        Kind::StatefulSet => ("apps/v1", "statefulsets", true),
        Kind::ResourceClaim => ("resource.k8s.io/v1", "resourceclaims", true),
        Kind::ResourceSlice => ("resource.k8s.io/v1", "resourceslices", false),
        Kind::DeviceClass => ("resource.k8s.io/v1", "deviceclasses", false),
    }
}

/// `apiVersion` of a kind.
pub fn api_version(kind: Kind) -> &'static str {
    resource(kind).0
}

/// The plural of a kind, as paths and messages have it.
pub fn plural(kind: Kind) -> &'static str {
    resource(kind).1
}

/// Where the API has an object.
pub fn path(kind: Kind, namespace: &str, name: &str) -> String {
    let (version, plural, is_namespaced) = resource(kind);
    let root = if version.contains('/') { "apis" } else { "api" };
    match is_namespaced {
        true => format!("/{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
        false => format!("/{root}/{version}/{plural}/{name}"),
    }
}

/// Changes of fields as a JSON merge patch (RFC 7386).
pub fn merge_patch(changes: &[FieldChange], names: &Names) -> Value {
    let mut patch = json!({});
    let text =
        |value: &Option<std::sync::Arc<str>>| value.as_deref().map_or(Value::Null, Into::into);
    for change in changes {
        match change {
            FieldChange::Annotation(key, value) => {
                patch["metadata"]["annotations"][&**key] = text(value);
            }
            FieldChange::Label(key, value) => {
                patch["metadata"]["labels"][&**key] = text(value);
            }
            FieldChange::ClaimRef(claim) => {
                patch["spec"]["claimRef"] = json!({
                    "kind": "PersistentVolumeClaim",
                    "apiVersion": "v1",
                    "namespace": names.text(claim.namespace),
                    "name": names.text(claim.name),
                    "uid": &*claim.uid,
                });
            }
        }
    }
    patch
}

/// Applies a JSON merge patch.
pub fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => {
                if let Some(object) = object.as_object_mut() {
                    object.remove(key);
                }
            }
            value => merge(&mut object[key], value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_engine::model::ClaimRef;

    #[test]
    fn changes_leave_alone_what_they_do_not_name() {
        let mut names = Names::default();
        let claim = ClaimRef {
            namespace: names.intern("n"),
            name: names.intern("c"),
            uid: "u".into(),
        };
        let changes = [
            FieldChange::Annotation("a".into(), Some("1".into())),
            FieldChange::Annotation("gone".into(), None),
            FieldChange::Label("l".into(), Some("2".into())),
            FieldChange::ClaimRef(claim),
        ];
        let mut object = json!({
            "metadata": {"name": "v", "annotations": {"gone": "x", "kept": "y"}},
            "spec": {"capacity": {"storage": "1Gi"}},
        });
        merge(&mut object, &merge_patch(&changes, &names));
        let expected = json!({
            "metadata": {
                "name": "v",
                "annotations": {"a": "1", "kept": "y"},
                "labels": {"l": "2"},
            },
            "spec": {
                "capacity": {"storage": "1Gi"},
                "claimRef": {
                    "kind": "PersistentVolumeClaim", "apiVersion": "v1",
                    "namespace": "n", "name": "c", "uid": "u",
                },
            },
        });
        assert_eq!(object, expected);
    }

    #[test]
    fn paths() {
        assert_eq!(path(Kind::Pod, "n", "p"), "/api/v1/namespaces/n/pods/p");
        let class = path(Kind::StorageClass, "", "s");
        assert_eq!(class, "/apis/storage.k8s.io/v1/storageclasses/s");
    }
}
