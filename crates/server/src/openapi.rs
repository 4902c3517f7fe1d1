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

/// Documents by path, encoded: those of built-in kinds alone.
static DOCUMENTS: Mutex<BTreeMap<String, Bytes>> = Mutex::new(BTreeMap::new());

/// Documents that custom resources have a part in, as long as these stay what they are.
#[derive(Default)]
pub(crate) struct Documents(Mutex<(u64, BTreeMap<String, Bytes>)>);

impl Documents {
    /// A document of the so-manieth set of custom resources, kept or made.
    fn get(&self, set: u64, path: &str, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 < set {
            *kept = (set, BTreeMap::new());
        }
        if kept.0 > set {
            // Whoever asked saw what is gone by now.
            drop(kept);
            return make();
        }
        let document = kept.1.entry(path.to_owned()).or_insert_with(make);
        document.clone()
    }
}

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
    let (set, custom) = api.resources().custom();
    let own = |c: &Custom| format!("v3/{}", openapi::path(&c.definition.group, &c.version.name));
    let shared = matches!(path.as_str(), "v2" | "v3");
    if !custom.is_empty() && (shared || custom.iter().any(|c| own(c) == path)) {
        let make = || Bytes::from(with_custom(&custom, parts).to_string());
        let document = api.documents().get(set, &path, make);
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

/// A document that custom resources have a part in.
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
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn documents_are_made_once_for_a_set_of_custom_resources() {
        let documents = Documents::default();
        let never = || unreachable!("it is kept");
        for set in 1..3 {
            let text = format!("{set}");
            let made = documents.get(set, "v3", || Bytes::from(text.clone()));
            assert_eq!(made, text);
            assert_eq!(documents.get(set, "v3", never), text);
        }
        assert_eq!(documents.get(1, "v3", || Bytes::from("old")), "old");
        assert_eq!(documents.get(2, "v3", never), "2");
    }

    #[tokio::test]
    async fn documents_follow_definitions() {
        let api = testing::api().await;
        let url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for plural in ["as", "bs"] {
            let definition = json!({
                "metadata": {"name": format!("{plural}.x.io")},
                "spec": {
                    "group": "x.io", "scope": "Namespaced",
                    "names": {"plural": plural, "kind": plural.to_uppercase()},
                    "versions": [{"name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object"}}}],
                },
            });
            assert_eq!(
                testing::send(&api, "POST", url, &[], &definition).await.0,
                201
            );
            let (_, document) = testing::get(&api, "/openapi/v3/apis/x.io/v1", "").await;
            let path = format!("/apis/x.io/v1/namespaces/{{namespace}}/{plural}");
            assert!(document["paths"].get(&path).is_some(), "{plural}");
        }
    }

    #[test]
    fn the_document_without_kinds_is_protobuf() {
        let expected = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.4";
        assert_eq!(super::no_kinds(), expected);
    }
}
