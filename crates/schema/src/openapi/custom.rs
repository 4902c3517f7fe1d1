//! Schemas of custom resources.

use super::{BuiltIn, Resource, Schemas, group_version_kind, reference};
use serde_json::{Value, json};

/// A kind whose `apiVersion`, `kind` and `metadata` are described as those of any other.
const MODEL: &str = "io.k8s.api.core.v1.ConfigMap";
const MODEL_LIST: &str = "io.k8s.api.core.v1.ConfigMapList";

/// The name of a custom kind's schema: `com.example.v1.Widget`.
fn name(group: &str, version: &str, kind: &str) -> String {
    let mut words: Vec<&str> = group.split('.').rev().collect();
    words.extend([version, kind]);
    words.join(".")
}

/// The schemas of a custom kind and of its lists, from the schema in its definition; the kind's own
/// comes first.
pub fn custom_schemas(
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
    schema: &Value,
) -> [(String, Value); 2] {
    let built_in = BuiltIn::load();
    let property = |model: &str, name: &str| {
        let schema = built_in.schemas.get(model);
        let found = schema.and_then(|schema| schema.pointer(&format!("/properties/{name}")));
        found.cloned().unwrap_or_default()
    };
    let mut object = schema.clone();
    if !object.is_object() {
        object = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    object["x-kubernetes-group-version-kind"] = json!([group_version_kind(group, version, kind)]);
    if object.get("properties").is_some_and(Value::is_object) {
        for field in ["apiVersion", "kind", "metadata"] {
            object["properties"][field] = property(MODEL, field);
        }
    }
    let own = name(group, version, kind);
    let list_kind = format!("{kind}List");
    let list = json!({
        "description": format!("{list_kind} is a list of {kind}"),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": property(MODEL_LIST, "apiVersion"),
            "kind": property(MODEL_LIST, "kind"),
            "metadata": property(MODEL_LIST, "metadata"),
            "items": {
                "description": format!("List of {plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"),
                "type": "array",
                "items": reference(&own),
            },
        },
        "x-kubernetes-group-version-kind": [group_version_kind(group, version, &list_kind)],
    });
    let list_name = name(group, version, &list_kind);
    [(own, object), (list_name, list)]
}

impl Resource<'_> {
    /// Adds the schemas of a custom kind to those beside the built-in ones.
    pub fn add_custom(&self, schema: &Value, extra: &mut Schemas) -> String {
        let [own, list] = custom_schemas(self.group, self.version, self.kind, self.plural, schema);
        let name = own.0.clone();
        extra.insert(own.0, own.1);
        extra.insert(list.0, list.1);
        name
    }
}
