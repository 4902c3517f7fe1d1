//! Every published type is the same to server-side apply as upstream's own conversion makes it.

use std::fmt::Write;
use std::io::Read;
use stowplan_schema::{DEDUCED, ListKind, Object, Scalar, Type, UNTYPED, type_of};

fn upstream() -> String {
    let compressed = include_bytes!("generated/merge-types.txt.zst");
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(&compressed[..])
        .expect("zstd")
        .read_to_string(&mut text)
        .expect("text");
    text
}

fn print(ty: &Type) -> String {
    let mut parts = Vec::new();
    if let Some(scalar) = ty.scalar {
        parts.push(match scalar {
            Scalar::Number => "numeric".to_owned(),
            Scalar::String => "string".to_owned(),
            Scalar::Boolean => "boolean".to_owned(),
            Scalar::Untyped => "untyped".to_owned(),
        });
    }
    if let Some(list) = &ty.list {
        let kind = match &list.kind {
            ListKind::Atomic => "atomic".to_owned(),
            ListKind::Set => "set".to_owned(),
            ListKind::Map(keys) => keys.join(","),
        };
        parts.push(format!("[{kind}]{}", reference(&list.item)));
    }
    if let Some(object) = &ty.map {
        parts.push(print_object(object));
    }
    parts.join("|")
}

fn print_object(object: &Object) -> String {
    let mut fields: Vec<String> = Vec::new();
    for field in object.fields() {
        let mut text = format!("{}:{}", field.name, reference(&field.ty));
        if let Some(default) = &field.default {
            write!(text, "={default}").expect("a string");
        }
        fields.push(text);
    }
    fields.sort();
    if let Some(rest) = &object.rest {
        fields.push(format!("*:{}", reference(rest)));
    }
    let kind = if object.atomic { "atomic;" } else { "" };
    format!("{{{kind}{}}}", fields.join(";"))
}

fn reference(ty: &Type) -> String {
    if std::ptr::eq(ty, &UNTYPED) {
        return "@__untyped_atomic_".to_owned();
    }
    if std::ptr::eq(ty, &DEDUCED) {
        return "@__untyped_deduced_".to_owned();
    }
    if ty.name.is_empty() {
        return print(ty);
    }
    let atomic = |ty: &Type| ty.map.as_ref().is_some_and(|map| map.atomic);
    let own = type_of(&ty.name).is_some_and(atomic);
    match (own, atomic(ty)) {
        (false, true) => format!("@{}!atomic", ty.name),
        (true, false) => format!("@{}!separable", ty.name),
        _ => format!("@{}", ty.name),
    }
}

#[test]
fn types_are_upstreams() {
    let mut compared = 0;
    for line in upstream().lines() {
        let (name, expected) = line.split_once(' ').expect("a name");
        // What is sent, but not as an object of its own: patches and discovery's descriptions.
        let Some(ty) = type_of(name) else { continue };
        assert_eq!(print(ty), expected, "{name}");
        compared += 1;
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn a_type_may_hold_itself() {
    let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    let schema = type_of(name).expect("known");
    let not = schema.field("not").expect("a field");
    assert_eq!(not.ty.name, name);
    assert!(not.ty.field("not").is_some());
}

#[test]
fn patch_strategies_are_at_the_fields() {
    let pod = type_of("io.k8s.api.core.v1.PodSpec").expect("known");
    let volumes = pod.field("volumes").expect("a field");
    assert!(volumes.patches_by("merge") && volumes.patches_by("retainKeys"));
    assert_eq!(volumes.patch_merge_key, "name");
    assert_eq!(
        pod.field("tolerations").expect("a field").patch_strategy,
        ""
    );
    let item = volumes.ty.item().expect("a list");
    assert!(
        item.field("emptyDir").is_some(),
        "embedded fields lie among the others"
    );
    assert!(item.key("nothing").is_none());
}
