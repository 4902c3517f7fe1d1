//! The type of the custom resource in the recorded cases, with lists and maps of every kind.

use stowplan_schema::{DEDUCED, Field, List, ListKind, Object, Scalar, Type, TypeRef, type_of};

fn scalar(kind: Scalar) -> Type {
    Type::new(Some(kind), None, None)
}

fn text() -> Type {
    scalar(Scalar::String)
}

fn number() -> Type {
    scalar(Scalar::Number)
}

fn list(item: Type, kind: ListKind) -> Type {
    let item = item.into();
    Type::new(None, Some(List { item, kind }), None)
}

fn keyed_by(keys: &[&'static str], item: Type) -> Type {
    let keys = keys.iter().map(|key| (*key).into()).collect();
    list(item, ListKind::Map(keys))
}

fn object(fields: Vec<(&'static str, Type)>) -> Type {
    let fields = fields.into_iter().map(|(name, ty)| Field::new(name, ty));
    Type::new(None, None, Some(Object::of_fields(fields.collect())))
}

fn map_of(values: Type, atomic: bool) -> Type {
    let mut map = Object::of_values(values.into());
    map.atomic = atomic;
    Type::new(None, None, Some(map))
}

/// `e.com/v1`, kind `Thing`.
pub(crate) fn thing() -> Type {
    let metadata = type_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").expect("built in");
    let status = object(vec![("phase", text()), ("n", number())]);
    let mut fields = vec![
        Field::new("apiVersion", text()),
        Field::new("kind", text()),
        Field::new("metadata", TypeRef::from(metadata)),
        Field::new("status", status),
    ];
    fields.push(Field::new("spec", spec()));
    Type::new(None, None, Some(Object::of_fields(fields)))
}

fn spec() -> Type {
    let free = Object::of_values(TypeRef::to(&DEDUCED));
    let value = object(vec![("a", text()), ("b", list(text(), ListKind::Set))]);
    let c = object(vec![("d", number())]);
    let a = object(vec![("b", text()), ("c", c)]);
    object(vec![
        ("mode", text()),
        ("size", number()),
        ("on", scalar(Scalar::Boolean)),
        ("ratio", number()),
        ("tags", list(text(), ListKind::Set)),
        ("nums", list(number(), ListKind::Set)),
        ("order", list(text(), ListKind::Atomic)),
        ("whole", map_of(text(), true)),
        ("free", Type::new(None, None, Some(free))),
        ("ios", DEDUCED.clone()),
        ("labels", map_of(text(), false)),
        ("items", items()),
        ("maps", map_of(value, false)),
        ("deep", object(vec![("a", a)])),
    ])
}

fn items() -> Type {
    let mut proto = Field::new("proto", text());
    proto.default = Some("TCP".into());
    let sub = object(vec![("n", number()), ("x", text())]);
    let fields = vec![
        Field::new("id", text()),
        proto,
        Field::new("value", text()),
        Field::new("note", text()),
        Field::new("sub", keyed_by(&["n"], sub)),
    ];
    let item = Type::new(None, None, Some(Object::of_fields(fields)));
    keyed_by(&["id", "proto"], item)
}
