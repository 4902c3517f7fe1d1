//! Commands of the scheduler in the API's words.

use crate::convert::api_kind;
use serde_json::{Value, json};
use stowplan_base::Names;
use stowplan_engine::framework::FieldChange;
use stowplan_engine::model::Kind;

/// `apiVersion` of a kind.
pub fn api_version(kind: Kind) -> &'static str {
    api_kind(kind).api_version()
}

/// The plural of a kind, as paths and messages have it.
pub fn plural(kind: Kind) -> &'static str {
    api_kind(kind).plural()
}

/// Where the API has an object.
pub fn path(kind: Kind, namespace: &str, name: &str) -> String {
    let kind = api_kind(kind);
    let (version, plural) = (kind.api_version(), kind.plural());
    let root = if version.contains('/') { "apis" } else { "api" };
    match kind.is_namespaced() {
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
