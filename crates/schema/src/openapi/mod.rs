//! The documents that describe the API: `/openapi/v3` and `/openapi/v2`.
//!
//! kubectl reads them for `explain`, and before it applies or creates anything. Schemas and the texts
//! of parameters are upstream's own, generated; the operations follow from what each resource can
//! do. Upstream: kube-openapi's `builder3` and apiextensions-apiserver's `pkg/controller/openapi`.

mod custom;
mod operations;
mod swagger;

pub use custom::custom_schemas;
pub use swagger::v2;

use operations::Operations;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;

static COMPRESSED: &[u8] = include_bytes!("../generated/openapi.json.zst");

const REFERENCE: &str = "#/components/schemas/";

/// A resource as far as a document tells of it.
#[derive(Clone, Debug)]
pub struct Resource<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    /// `v1`
    pub version: &'a str,
    /// `Deployment`
    pub kind: &'a str,
    /// `deployments`
    pub plural: &'a str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What may be asked of it, in the words of discovery.
    pub verbs: Vec<&'a str>,
    /// The name of its schema: `io.k8s.api.apps.v1.Deployment`.
    pub schema: &'a str,
    /// Whether a CustomResourceDefinition made it.
    pub custom: bool,
    /// What hangs below its objects.
    pub subresources: Vec<Subresource<'a>>,
}

/// Something below an object: `deployments/scale`.
#[derive(Clone, Debug)]
pub struct Subresource<'a> {
    /// `scale`
    pub name: &'a str,
    /// The group of the kind it speaks.
    pub group: &'a str,
    /// The version of the kind it speaks.
    pub version: &'a str,
    /// `Scale`
    pub kind: &'a str,
    /// What may be asked of it, in the words of discovery.
    pub verbs: Vec<&'a str>,
}

/// Schemas by name, beside the built-in ones.
pub type Schemas = Map<String, Value>;

/// Where the document of a group's version is: `api/v1`, `apis/apps/v1`.
pub fn path(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        _ => format!("apis/{group}/{version}"),
    }
}

/// What `/openapi/v3` answers: where each document is. Clients keep a document until its address
/// changes, so the address holds a digest of all that goes into it.
pub fn v3_index(resources: &[Resource<'_>], extra: &Schemas) -> Value {
    let mut documents: BTreeMap<String, u64> = BTreeMap::new();
    for resource in resources {
        let path = path(resource.group, resource.version);
        let digest = documents.entry(path).or_insert(0xcbf2_9ce4_8422_2325);
        *digest = fold(*digest, &format!("{resource:?}"));
        if let Some(schema) = extra.get(resource.schema) {
            *digest = fold(*digest, &schema.to_string());
        }
    }
    let mut paths = Map::new();
    for (path, digest) in documents {
        let digest = fold(digest, env!("CARGO_PKG_VERSION"));
        let url = format!("/openapi/v3/{path}?hash={digest:016X}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// FNV-1a, going on from what was folded before.
fn fold(digest: u64, text: &str) -> u64 {
    let step = |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(digest, step)
}

/// The document of one group's version: all of its resources, and the schemas they lead to.
pub fn v3(resources: &[Resource<'_>], extra: &Schemas) -> Value {
    let built_in = BuiltIn::load();
    let operations = Operations::new(&built_in);
    let mut paths = Map::new();
    for resource in resources {
        operations.add(resource, &mut paths);
    }
    let schemas = reached(&Value::Object(paths.clone()), &built_in, extra);
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"BearerToken": {
                "type": "apiKey",
                "description": "Bearer Token authentication",
                "name": "authorization",
                "in": "header",
            }},
        },
    })
}

/// The schemas that a value refers to, and those that they refer to.
fn reached(value: &Value, built_in: &BuiltIn, extra: &Schemas) -> Schemas {
    let mut schemas = Schemas::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::String(text) => {
                let Some(name) = text.strip_prefix(REFERENCE) else {
                    continue;
                };
                let schema = extra.get(name).or_else(|| built_in.schemas.get(name));
                if let (false, Some(schema)) = (schemas.contains_key(name), schema) {
                    schemas.insert(name.to_owned(), schema.clone());
                    open.push(schema);
                }
            }
            _ => {}
        }
    }
    schemas
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{schema}")})
}

fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "kind": kind, "version": version})
}

/// The generated part. It is read anew for each document, because it is large and seldom needed.
struct BuiltIn {
    schemas: Schemas,
    parameters: Schemas,
}

impl BuiltIn {
    fn load() -> Self {
        let mut text = String::new();
        let decoder = ruzstd::decoding::StreamingDecoder::new(COMPRESSED);
        if let Ok(mut decoder) = decoder {
            // What is compiled in was tested: see `the_generated_part_is_whole`.
            let _ = decoder.read_to_string(&mut text);
        }
        let mut whole: Value = serde_json::from_str(&text).unwrap_or_default();
        let mut part = |name| match whole.get_mut(name).map(Value::take) {
            Some(Value::Object(part)) => part,
            _ => Map::new(),
        };
        Self {
            schemas: part("schemas"),
            parameters: part("parameters"),
        }
    }

    /// The schema of a kind.
    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let wanted = group_version_kind(group, version, kind);
        let found = self.schemas.iter().find(|(_, schema)| {
            let kinds = schema.get("x-kubernetes-group-version-kind");
            kinds
                .and_then(Value::as_array)
                .is_some_and(|kinds| kinds.contains(&wanted))
        });
        found.map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests;
