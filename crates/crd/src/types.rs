//! A schema as server-side apply sees it.
//!
//! Upstream: `kube-openapi/pkg/schemaconv/openapi.go` over what
//! `pkg/controller/openapi/builder` makes of the schema.

use crate::prune::{additional, items};
use serde_json::Value;
use std::borrow::Cow;
use stowplan_apimachinery::View;
use stowplan_schema::{DEDUCED, Field, List, ListKind, Object, Scalar, Type, TypeRef, UNTYPED};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The type of the objects of a version.
pub(crate) fn of(schema: &Value) -> Type {
    if schema.is_null() {
        return Type::new(None, None, Some(Object::of_values(TypeRef::to(&DEDUCED))));
    }
    let mut ty = convert(schema, false);
    add_meta(&mut ty);
    ty
}

/// What every object has.
fn add_meta(ty: &mut Type) {
    let Some(map) = &mut ty.map else { return };
    let text = || Type::new(Some(Scalar::String), None, None);
    let meta = stowplan_schema::type_of(OBJECT_META).unwrap_or(&DEDUCED);
    let own = [
        Field::new("apiVersion", text()),
        Field::new("kind", text()),
        Field::new("metadata", meta),
    ];
    map.add_fields(own.into());
}

fn convert(schema: &Value, keep: bool) -> Type {
    let keep = keep || schema.flag("x-kubernetes-preserve-unknown-fields");
    let mut ty = match schema.text("type") {
        "object" => Type::new(None, None, Some(object(schema, keep))),
        "array" => Type::new(None, Some(list(schema, keep)), None),
        "integer" | "number" => Type::new(Some(Scalar::Number), None, None),
        "boolean" => Type::new(Some(Scalar::Boolean), None, None),
        "string" => {
            let scalar = match schema.text("format") {
                "" | "byte" => Scalar::String,
                _ => Scalar::Untyped,
            };
            Type::new(Some(scalar), None, None)
        }
        _ => Type::new(
            Some(Scalar::Untyped),
            Some(list(schema, keep)),
            Some(object(schema, keep)),
        ),
    };
    if schema.flag("x-kubernetes-embedded-resource") {
        add_meta(&mut ty);
    }
    ty
}

fn object(schema: &Value, keep: bool) -> Object {
    let fields = schema.entries("properties").map(|(name, property)| {
        let mut field = Field::new(name.to_owned(), convert(property, keep));
        field.default = property
            .has("default")
            .then(|| property.at("default").clone());
        field
    });
    let fields: Vec<Field> = fields.collect();
    let embedded = schema.flag("x-kubernetes-embedded-resource");
    let rest = match additional(schema) {
        Some(Some(others)) => Some(convert(others, keep).into()),
        Some(None) => Some(TypeRef::to(&DEDUCED)),
        None if schema.at("additionalProperties") == &Value::Bool(false) => None,
        None if keep || (fields.is_empty() && !embedded) => Some(TypeRef::to(&DEDUCED)),
        None => None,
    };
    let mut object = Object::of_fields(fields);
    object.rest = rest;
    object.atomic = schema.text("x-kubernetes-map-type") == "atomic";
    object
}

fn list(schema: &Value, keep: bool) -> List {
    let item = match items(schema) {
        Some(items) => convert(items, keep).into(),
        None => TypeRef::to(&UNTYPED),
    };
    let kind = match schema.text("x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema.list("x-kubernetes-list-map-keys").iter();
            let keys = keys.filter_map(Value::as_str);
            ListKind::Map(keys.map(|key| Cow::Owned(key.to_owned())).collect())
        }
        _ => ListKind::Atomic,
    };
    List { item, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_and_maps_merge_as_their_schema_says() {
        let ty = of(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "map": {"type": "array", "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"], "items": {"type": "object"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "integer"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "port": {"x-kubernetes-int-or-string": true},
            }}}}),
        );
        let spec = ty.key("spec").expect("is described");
        let kind = |name: &str| spec.key(name)?.list.as_ref().map(|l| l.kind.clone());
        assert_eq!(kind("set"), Some(ListKind::Set));
        assert_eq!(kind("map"), Some(ListKind::Map(vec!["id".into()])));
        assert!(
            spec.key("whole")
                .and_then(|w| w.map.as_ref())
                .is_some_and(|m| m.atomic)
        );
        assert!(
            spec.key("free")
                .is_some_and(|f| f.key("anything").is_some())
        );
        assert_eq!(
            spec.key("port").and_then(|p| p.scalar),
            Some(Scalar::Untyped)
        );
        assert!(spec.key("unknown").is_none());
        assert!(
            ty.key("metadata")
                .is_some_and(|m| m.key("labels").is_some())
        );
    }
}
