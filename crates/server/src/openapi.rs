//! `/openapi/v3` and `/openapi/v2`: made once, when somebody asks.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::clock;
use crate::crd::Custom;
use crate::request::Request;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use stowplan_base::Duration;
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

/// The document at a path below `/openapi`, if there is one. Upstream: `kube-openapi/pkg/handler3`.
pub(crate) fn answer(api: &Api, request: &Request, parts: &[&str]) -> Option<Answer> {
    if parts == ["v2"] && request.header("accept").contains("protobuf") {
        return Some(answer::bytes(200, V2_PROTOBUF, no_kinds()));
    }
    let document = document(api, parts)?;
    let tag = match parts {
        ["v3", below @ ..] if !below.is_empty() => hash(api, &below.join("/"))?,
        _ => {
            let digest = ring::digest::digest(&ring::digest::SHA512, &document);
            let digest = digest.as_ref().iter();
            digest.map(|byte| format!("{byte:02X}")).collect()
        }
    };
    let mut headers = vec![(header::ETAG, format!("\"{tag}\""))];
    if parts.len() > 1 {
        headers.push((header::VARY, "Accept".to_owned()));
        match request.query.get("hash").unwrap_or_default() {
            "" => {}
            asked if asked == tag => {
                /// An address with a digest leads to the same document for ever.
                const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
                let end = clock::http_date(api.env().now() + YEAR);
                headers.push((header::CACHE_CONTROL, "public, immutable".to_owned()));
                headers.push((header::EXPIRES, end));
            }
            _ => {
                let url = format!("/openapi/{}?hash={tag}", parts.join("/"));
                headers.push((header::LOCATION, url));
                return Some(with_headers(answer::bytes(301, "", ""), headers));
            }
        }
    }
    let known = request.header("if-none-match").split(',');
    let known = known.map(|tag| tag.trim().trim_start_matches("W/"));
    let answer = match known
        .into_iter()
        .any(|k| k == "*" || k.trim_matches('"') == tag)
    {
        true => answer::bytes(304, "", ""),
        false => answer::bytes(200, "application/json", document),
    };
    Some(with_headers(answer, headers))
}

fn with_headers(mut answer: Answer, headers: Vec<(HeaderName, String)>) -> Answer {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.headers_mut().insert(name, value);
        }
    }
    if answer.status() != 200 {
        answer.headers_mut().remove(header::CONTENT_TYPE);
    }
    answer
}

/// The digest in the address of a document of the third version.
fn hash(api: &Api, path: &str) -> Option<String> {
    let index = document(api, &["v3"])?;
    let index: serde_json::Value = serde_json::from_slice(&index).ok()?;
    let url = index["paths"][path]["serverRelativeURL"].as_str()?;
    Some(url.split_once("?hash=")?.1.to_owned())
}

fn document(api: &Api, parts: &[&str]) -> Option<Bytes> {
    let path = parts.join("/");
    let (set, custom) = api.resources().custom();
    let own = |c: &Custom| format!("v3/{}", openapi::path(&c.definition.group, &c.version.name));
    let shared = matches!(path.as_str(), "v2" | "v3");
    if !custom.is_empty() && (shared || custom.iter().any(|c| own(c) == path)) {
        let make = || Bytes::from(with_custom(&custom, parts).to_string());
        return Some(api.documents().get(set, &path, make));
    }
    let kept = || DOCUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = kept().get(&path) {
        return Some(document.clone());
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
    Some(document)
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
        verbs: stowplan_registry::VERBS.to_vec(),
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

    #[tokio::test]
    async fn what_a_client_has_is_not_sent_again() {
        let api = testing::api().await;
        let ask = async |url: &str, known: &str| {
            let request = http::Request::get(url)
                .header("authorization", "Bearer test")
                .header("if-none-match", known);
            let request = request.body(axum::body::Body::empty()).expect("a request");
            let answer = api.call(request).await;
            let header = |name| {
                let value: Option<&HeaderValue> = answer.headers().get(name);
                let value = value.and_then(|value| value.to_str().ok());
                value.unwrap_or_default().to_owned()
            };
            let headers = ["etag", "cache-control", "location", "expires"].map(header);
            (answer.status().as_u16(), headers)
        };
        let (_, index) = testing::get(&api, "/openapi/v3", "").await;
        let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str();
        let url = url.expect("it is served");
        let (plain, hash) = url.split_once("?hash=").expect("a digest");
        let (code, [etag, cache, _, expires]) = ask(url, "").await;
        assert_eq!((code, etag.as_str()), (200, format!("\"{hash}\"").as_str()));
        assert_eq!(cache, "public, immutable");
        assert!(expires.ends_with(" GMT"), "{expires}");
        let (code, [_, cache, ..]) = ask(plain, &etag).await;
        assert_eq!((code, cache.as_str()), (304, "no-cache, private"));
        assert_eq!(ask(plain, "\"other\"").await.0, 200);
        let (code, [_, _, location, _]) = ask(&format!("{plain}?hash=x"), "").await;
        assert_eq!((code, location.as_str()), (301, url));
        for path in ["/openapi/v3", "/openapi/v2"] {
            let (code, [etag, ..]) = ask(path, "").await;
            assert_eq!(code, 200);
            assert_eq!(ask(path, &etag).await.0, 304, "{path}");
        }
    }

    #[test]
    fn the_document_without_kinds_is_protobuf() {
        let expected = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.4";
        assert_eq!(super::no_kinds(), expected);
    }
}
