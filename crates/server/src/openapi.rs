//! `/openapi/v3` and `/openapi/v2`: made once, when somebody asks.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::crd::Custom;
use crate::request::Request;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use stowplan_kinds::{Kind, table};
use stowplan_schema::openapi;

/// Documents by path, encoded.
static DOCUMENTS: Mutex<BTreeMap<String, Bytes>> = Mutex::new(BTreeMap::new());

fn resource(kind: &'static Kind) -> openapi::Resource<'static> {
    let own = (kind.group, kind.version);
    let subresources = kind.subresources.iter().map(|sub| {
        let (group, version) = sub.group_version.unwrap_or(own);
        openapi::Subresource {
            name: sub.name,
            group,
            version,
            kind: sub.kind,
            verbs: sub.verbs.to_vec(),
        }
    });
    openapi::Resource {
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
        plural: kind.plural,
        namespaced: kind.namespaced(),
        verbs: kind.verbs.to_vec(),
        schema: kind.schema,
        custom: false,
        subresources: subresources.collect(),
    }
}

fn resources() -> &'static [openapi::Resource<'static>] {
    static RESOURCES: OnceLock<Vec<openapi::Resource<'static>>> = OnceLock::new();
    RESOURCES.get_or_init(|| table::KINDS.iter().map(|kind| resource(kind)).collect())
}

const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The second version in protobuf, without any kind. kubectl asks for it when the third version does
/// not have a kind, and must learn that there is no such kind, not that it cannot ask.
fn no_kinds() -> Vec<u8> {
    fn text(field: u8, text: &[u8]) -> Vec<u8> {
        let length = u8::try_from(text.len()).unwrap_or_default();
        [&[(field << 3) | 2, length], text].concat()
    }
    let info = [text(1, b"Kubernetes"), text(2, b"v1.36.4")].concat();
    [text(1, b"2.0"), text(2, &info)].concat()
}

/// The document at a path below `/openapi`, if there is one.
pub(crate) fn answer(api: &Api, request: &Request, parts: &[&str]) -> Option<Answer> {
    let path = parts.join("/");
    if path == "v2" && request.header("accept").contains("protobuf") {
        return Some(answer::bytes(200, V2_PROTOBUF, no_kinds()));
    }
    let custom = api.resources().custom();
    let own = |c: &Custom| format!("v3/{}", openapi::path(&c.definition.group, &c.version.name));
    let shared = matches!(path.as_str(), "v2" | "v3");
    if !custom.is_empty() && (shared || custom.iter().any(|c| own(c) == path)) {
        let document = with_custom(&custom, parts).to_string();
        return Some(answer::bytes(200, "application/json", document));
    }
    let kept = || DOCUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = kept().get(&path) {
        return Some(answer::bytes(200, "application/json", document.clone()));
    }
    let none = openapi::Schemas::default();
    let document = match parts {
        ["v3"] => openapi::v3_index(resources(), &none),
        ["v2"] => openapi::v2(&none),
        ["v3", group_version @ ..] => {
            let wanted = group_version.join("/");
            let here = |r: &&openapi::Resource<'_>| openapi::path(r.group, r.version) == wanted;
            let some: Vec<_> = resources().iter().filter(here).cloned().collect();
            if some.is_empty() {
                return None;
            }
            openapi::v3(&some, &none)
        }
        _ => return None,
    };
    let document = Bytes::from(document.to_string());
    kept().insert(path, document.clone());
    Some(answer::bytes(200, "application/json", document))
}

/// A document that custom resources have a part in; it changes with them, so it is not kept.
fn with_custom(custom: &[Custom], parts: &[&str]) -> serde_json::Value {
    let mut schemas = openapi::Schemas::default();
    let names: Vec<String> = custom
        .iter()
        .map(|c| {
            let (d, v) = (&c.definition, &c.version);
            let made = openapi::custom_schemas(&d.group, &v.name, &d.kind, &d.plural, v.schema());
            let name = made.first().map(|(name, _)| name.clone());
            schemas.extend(made);
            name.unwrap_or_default()
        })
        .collect();
    let all = resources().iter().cloned();
    let all = all.chain(
        custom
            .iter()
            .zip(&names)
            .map(|(c, name)| of_custom(c, name)),
    );
    match parts {
        ["v2"] => openapi::v2(&schemas),
        ["v3"] => openapi::v3_index(&all.collect::<Vec<_>>(), &schemas),
        _ => {
            let wanted = parts.get(1..).unwrap_or_default().join("/");
            let here = |r: &openapi::Resource<'_>| openapi::path(r.group, r.version) == wanted;
            openapi::v3(&all.filter(here).collect::<Vec<_>>(), &schemas)
        }
    }
}

fn of_custom<'a>(custom: &'a Custom, schema: &'a str) -> openapi::Resource<'a> {
    let (definition, version) = (&custom.definition, &custom.version);
    let own = (definition.group.as_str(), version.name.as_str());
    let below = custom.subresources().iter().map(|sub| {
        let (group, version) = sub.group_version.unwrap_or(own);
        openapi::Subresource {
            name: sub.name,
            group,
            version,
            kind: match sub.kind {
                "" => &definition.kind,
                kind => kind,
            },
            verbs: sub.verbs.to_vec(),
        }
    });
    openapi::Resource {
        group: own.0,
        version: own.1,
        kind: &definition.kind,
        plural: &definition.plural,
        namespaced: definition.namespaced,
        verbs: crate::crd::VERBS.to_vec(),
        schema,
        custom: true,
        subresources: below.collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_without_kinds_is_protobuf() {
        let expected = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.4";
        assert_eq!(super::no_kinds(), expected);
    }
}
