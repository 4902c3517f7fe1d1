//! Objects on their way in, out of the store and back into it.

use crate::{Definition, Version, default, embedded, prune};
use serde_json::{Map, Value};
use stowplan_apimachinery::{Edit, View};
use stowplan_schema::{DecodeError, Decoded};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Metadata as Go writes it after reading it. `place` is where it stands, for unknown fields.
pub(crate) fn metadata(value: &Value, place: &str) -> Result<Decoded, DecodeError> {
    let Some(ty) = stowplan_schema::type_of(OBJECT_META) else {
        return Ok(Decoded {
            object: value.clone(),
            problems: Vec::new(),
        });
    };
    let mut decoded = stowplan_schema::decode(ty, value)?;
    for problem in &mut decoded.problems {
        let field = problem.split_once('"').map_or("", |(_, field)| field);
        *problem = format!("unknown field \"{place}.{field}");
    }
    if decoded.object.is_null() {
        decoded.object = Value::Object(Map::new());
    }
    Ok(decoded)
}

impl Version {
    /// Reads an object. Upstream: `schemaCoercingDecoder` in `customresource_handler.go`.
    pub fn decode(&self, json: &[u8]) -> Result<Decoded, DecodeError> {
        let Decoded {
            mut object,
            mut problems,
        } = stowplan_schema::parse_json(json)?;
        self.coerce(&mut object, &mut problems)?;
        Ok(Decoded { object, problems })
    }

    /// Makes an object of what came out of a merge, in which nothing unknown can be.
    pub fn of_merged(&self, mut object: Value) -> Result<Decoded, DecodeError> {
        if let Some(own) = object.get("metadata") {
            let own = metadata(own, "metadata")?.object;
            object.set("metadata", own);
        }
        Ok(Decoded {
            object,
            problems: Vec::new(),
        })
    }

    /// Drops what the schema does not know, and gives metadata its form.
    fn coerce(&self, object: &mut Value, problems: &mut Vec<String>) -> Result<(), DecodeError> {
        let own = match object.get("metadata") {
            None => None,
            Some(own) => {
                let decoded = metadata(own, "metadata")?;
                problems.extend(decoded.problems);
                Some(decoded.object)
            }
        };
        // Other kinds come by as well; what is wrong with them is told later.
        if self.is_of(object) {
            let unknown = prune::prune(object, &self.schema).into_iter();
            problems.extend(unknown.map(|path| format!("unknown field \"{path}\"")));
            default::drop_nulls(object, Some(&self.schema));
            embedded::coerce(object, &self.schema, problems)?;
        }
        if let Some(own) = own {
            object.set("metadata", own);
        }
        Ok(())
    }

    /// Whether an object says that it is of this kind, in any version.
    fn is_of(&self, object: &Value) -> bool {
        let group = |api_version: &str| {
            api_version
                .split_once('/')
                .map(|(group, _)| group.to_owned())
        };
        object.text("kind") == self.empty.text("kind")
            && group(object.text("apiVersion")) == group(&self.api_version)
    }

    /// Fills in what the schema has defaults for.
    pub fn set_defaults(&self, object: &mut Value) {
        default::fill(object, &self.schema);
    }
}

impl Definition {
    /// The object in another version, without what that version does not know.
    pub fn convert(&self, mut object: Value, to: &Version) -> Value {
        object.set("apiVersion", to.api_version.as_str());
        prune::prune(&mut object, &to.schema);
        default::drop_nulls(&mut object, Some(&to.schema));
        object
    }

    /// The object under the name of another version, if that knows all its fields.
    pub fn renamed(&self, mut object: Value, to: &Version) -> Option<Value> {
        object.set("apiVersion", to.api_version.as_str());
        let unknown = prune::prune(&mut object.clone(), &to.schema);
        unknown.is_empty().then_some(object)
    }

    /// The object as it is kept.
    pub fn to_stored(&self, object: Value) -> Value {
        let stored = self.version(&self.stored_version);
        match stored {
            Some(stored) if stored.api_version != object.text("apiVersion") => {
                self.convert(object, stored)
            }
            _ => object,
        }
    }

    /// A kept object as a version shows it. Schemas may have changed since it was kept: what is no
    /// longer known goes, and defaults are those of today.
    pub fn from_stored(&self, mut object: Value, to: &Version) -> Value {
        let kept = self.version_of(&object);
        if let Some(kept) = kept {
            prune::prune(&mut object, &kept.schema);
            kept.set_defaults(&mut object);
        }
        match kept.is_some_and(|kept| kept.api_version == to.api_version) {
            true => object,
            false => self.convert(object, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition() -> Definition {
        let schema = |spec: Value| {
            json!({"openAPIV3Schema": {"type": "object", "properties":
                {"spec": {"type": "object", "properties": spec}}}})
        };
        Definition::new(&json!({
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": schema(json!(
                    {"x": {"type": "integer", "default": 1}, "new": {"type": "string"}}))},
                {"name": "v2", "served": true, "deprecated": true, "schema": schema(json!(
                    {"x": {"type": "integer"}, "old": {"type": "string"}}))},
            ]},
            "status": {"acceptedNames": {"kind": "Widget", "plural": "widgets"}},
        }))
    }

    #[test]
    fn objects_are_kept_in_one_version_and_shown_in_any() {
        let definition = definition();
        let v2 = definition.version("v2").expect("is defined");
        let json = br#"{"apiVersion": "example.com/v2", "kind": "Widget", "odd": 1,
            "metadata": {"name": "a", "odd": 1}, "spec": {"old": "o", "new": "n", "x": null}}"#;
        let decoded = v2.decode(json).expect("is an object");
        assert_eq!(
            decoded.problems,
            [
                r#"unknown field "metadata.odd""#,
                r#"unknown field "odd""#,
                r#"unknown field "spec.new""#
            ]
        );
        assert_eq!(decoded.object["spec"], json!({"old": "o"}));
        let stored = definition.to_stored(decoded.object.clone());
        assert_eq!(stored["apiVersion"], "example.com/v1");
        assert_eq!(stored["spec"], json!({}));
        let shown = definition.from_stored(stored, v2);
        assert_eq!(shown["apiVersion"], "example.com/v2");
        assert_eq!(shown["spec"], json!({"x": 1}));
        let v1 = definition.version("v1").expect("is defined");
        assert!(definition.renamed(decoded.object, v1).is_none());
        let words = v2.deprecation.as_deref();
        assert_eq!(words, Some("example.com/v2 Widget is deprecated"));
    }

    #[test]
    fn metadata_has_the_types_that_go_knows() {
        let definition = definition();
        let v1 = definition.version("v1").expect("is defined");
        let wrong = v1.decode(br#"{"metadata": {"name": 5}}"#);
        assert_eq!(
            wrong.expect_err("is no name").to_string(),
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
        );
    }
}
