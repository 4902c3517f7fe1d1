//! Names, namespaces and uids.

use crate::load::{Kind, LoadError, Loaded, Object, Source};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

/// The uid of an object that never saw an API server: the same every time.
pub fn made_up_uid(kind: Kind, namespace: Option<&str>, name: &str) -> String {
    let text = format!("{}/{}/{name}", kind.as_str(), namespace.unwrap_or_default());
    // FNV-1a, of 128 bits: names are few, and nobody tries to make them collide.
    let hash = text.bytes().fold(
        0x6c62_272e_07bb_0142_62b8_2175_6295_c58d,
        |hash: u128, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        },
    );
    let hex = format!("{hash:032x}");
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..],
    );
    // Version 8: made by rules of one's own.
    format!("{a}-{b}-8{c}-8{d}-{e}")
}

/// Gives the object a uid if it has none.
pub(super) fn ensure_uid(object: &mut Object) {
    if object
        .metadata()
        .uid
        .as_deref()
        .unwrap_or_default()
        .is_empty()
    {
        let metadata = object.metadata();
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = made_up_uid(object.kind(), metadata.namespace.as_deref(), name);
        object.metadata_mut().uid = Some(uid);
    }
}

/// Puts namespaced objects without a namespace into `default`, takes it away from the others, and
/// makes a name of `generateName`.
pub(super) fn complete(objects: &mut [Loaded]) {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for loaded in objects {
        let namespaced = loaded.object.kind().is_namespaced();
        let metadata = loaded.object.metadata_mut();
        metadata.namespace = match metadata.namespace.take() {
            Some(namespace) if namespaced && !namespace.is_empty() => Some(namespace),
            _ => namespaced.then(|| "default".to_owned()),
        };
        if metadata.name.as_deref().unwrap_or_default().is_empty()
            && let Some(stem) = metadata
                .generate_name
                .clone()
                .filter(|stem| !stem.is_empty())
        {
            let number = numbers.entry(stem.clone()).or_default();
            metadata.name = Some(format!("{stem}{number}"));
            *number += 1;
        }
    }
}

/// No two objects may have kind, namespace and name in common.
pub(super) fn check_duplicates(objects: &[Loaded], errors: &mut Vec<LoadError>) {
    let mut seen: BTreeMap<(Kind, &str, &str), &Source> = BTreeMap::new();
    for loaded in objects {
        let object = &loaded.object;
        if object.name().is_empty() {
            continue;
        }
        let key = (object.kind(), object.namespace(), object.name());
        if let Some(first) = seen.get(&key) {
            let message = format!("{}: already defined in {first}", object.title());
            errors.push(LoadError::object(&loaded.source, message));
        } else {
            seen.insert(key, &loaded.source);
        }
    }
}

/// No two objects may have a uid in common: pods are told apart by it.
pub(super) fn check_uids(objects: &[Loaded], errors: &mut Vec<LoadError>) {
    let mut seen: BTreeMap<&str, &Loaded> = BTreeMap::new();
    for loaded in objects {
        let Some(uid) = loaded.object.metadata().uid.as_deref() else {
            continue;
        };
        if let Some(first) = seen.get(uid) {
            let message = format!(
                "{}: metadata.uid: {uid:?} is also that of {} in {}, leave it out in one of them",
                loaded.object.title(),
                first.object.title(),
                first.source
            );
            errors.push(LoadError::object(&loaded.source, message));
        } else {
            seen.insert(uid, loaded);
        }
    }
}

/// Namespaces that objects are in exist, with nothing but the label that every namespace has.
pub(super) fn imply_namespaces(objects: &mut Vec<Loaded>) {
    let mut known = BTreeSet::new();
    let mut used: BTreeMap<String, Source> = BTreeMap::new();
    for loaded in &*objects {
        if let Object::Namespace(_) = loaded.object {
            known.insert(loaded.object.name().to_owned());
        } else if loaded.object.kind().is_namespaced()
            && !used.contains_key(loaded.object.namespace())
        {
            used.insert(loaded.object.namespace().to_owned(), loaded.source.clone());
        }
    }
    for (name, source) in used {
        if known.contains(&name) {
            continue;
        }
        let label = ("kubernetes.io/metadata.name".to_owned(), name.clone());
        let namespace = Namespace {
            metadata: ObjectMeta {
                uid: Some(made_up_uid(Kind::Namespace, None, &name)),
                name: Some(name),
                labels: Some([label].into()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        objects.push(Loaded {
            source,
            object: namespace.into(),
        });
    }
}
