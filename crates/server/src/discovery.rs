//! What is served, told to clients: groups, versions, resources.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/discovery`, with the aggregated form of
//! `apidiscovery.k8s.io`.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::computed;
use crate::dispatch::no_such_page;
use crate::negotiate::{self, Clause, Format, Output};
use crate::request::Request;
use crate::resource::Resource;
use crate::route;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, Status, meta};
use stowplan_kinds::Subresource;

/// Groups in the order in which a real server lists them; others follow by name.
const ORDER: [&str; 22] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
];

/// Answers `/api`, `/apis` and what is directly below.
pub(crate) fn answer(api: &Api, request: &Request, parts: &[&str]) -> Result<Answer, Status> {
    if let ([_], Some((format, version))) = (parts, aggregated(request)) {
        let body = all(api, parts, version);
        let mut answer = answer::object(200, &body, plain(format));
        let kind = format!(
            "application/{};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList",
            if format == Format::Yaml {
                "yaml"
            } else {
                "json"
            }
        );
        if let Ok(kind) = http::HeaderValue::from_str(&kind) {
            answer
                .headers_mut()
                .insert(http::header::CONTENT_TYPE, kind);
        }
        return Ok(answer);
    }
    let body = match *parts {
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": request.header("host")}
            ],
        }),
        ["api", "v1"] => resource_list(api, "", "v1"),
        ["apis"] => json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": groups(api).iter().map(|g| group(api, g)).collect::<Vec<_>>(),
        }),
        ["apis", name]
            if api.resources().serves(name, None)
                || computed::Group::named(api, name).is_some() =>
        {
            let mut body = group(api, name);
            body.set("kind", "APIGroup");
            body.set("apiVersion", "v1");
            body
        }
        ["apis", name, version] if api.resources().serves(name, Some(version)) => {
            resource_list(api, name, version)
        }
        ["api", ..] => return Err(route::no_such_path()),
        ["apis", name, ..] if api.resources().is_built_in(name) => {
            return Err(route::no_such_path());
        }
        ["apis", name, version] => match computed::Group::of(api, name, version) {
            Some(group) => group.resource_list(),
            None => return Ok(no_such_page()),
        },
        _ => return Ok(no_such_page()),
    };
    if request.method != http::Method::GET {
        return Err(route::no_such_method());
    }
    let mut output = negotiate::output(request)?;
    output.convert = negotiate::Convert::Nothing;
    Ok(answer::object(200, &body, output))
}

fn plain(format: Format) -> Output {
    Output {
        format,
        ..Output::default()
    }
}

/// The aggregated form that the client asks for, if it likes that best.
fn aggregated(request: &Request) -> Option<(Format, &'static str)> {
    let version = |clause: &Clause| match (clause.param("g"), clause.param("as"), clause.param("v"))
    {
        (Some("apidiscovery.k8s.io"), Some("APIGroupDiscoveryList"), Some("v2")) => Some("v2"),
        (Some("apidiscovery.k8s.io"), Some("APIGroupDiscoveryList"), Some("v2beta1")) => {
            Some("v2beta1")
        }
        _ => None,
    };
    for clause in negotiate::clauses(request.header("accept")) {
        let convert = clause.param("as").is_some() || clause.param("g").is_some();
        for (subtype, format) in [("json", Format::Json), ("yaml", Format::Yaml)] {
            if !clause.covers(subtype) {
                continue;
            }
            match version(&clause) {
                Some(version) => return Some((format, version)),
                None if !convert => return None,
                None => {}
            }
        }
    }
    None
}

fn groups(api: &Api) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for resource in api.resources().all() {
        let group = resource.group();
        if !group.is_empty() && !groups.iter().any(|g| g == group) {
            groups.push(group.to_owned());
        }
    }
    groups.extend(computed::Group::told(api).map(|group| group.name().to_owned()));
    let place = |group: &String| ORDER.iter().position(|g| g == group).unwrap_or(ORDER.len());
    groups.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    groups
}

/// The versions of a group, the preferred one first.
fn versions(api: &Api, group: &str) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for resource in api.resources().all() {
        let version = resource.version();
        if resource.group() == group && !versions.iter().any(|v| v == version) {
            versions.push(version.to_owned());
        }
    }
    let told = computed::Group::named(api, group);
    versions.extend(told.map(|group| group.version().to_owned()));
    versions.sort_by(|a, b| stowplan_apimachinery::versions::compare(b, a));
    versions
}

fn group(api: &Api, name: &str) -> Value {
    let versions: Vec<Value> = versions(api, name)
        .iter()
        .map(
            |version| json!({"groupVersion": meta::api_version(name, version), "version": version}),
        )
        .collect();
    json!({
        "name": name,
        "preferredVersion": versions.first(),
        "versions": versions,
    })
}

fn served(api: &Api, group: &str, version: &str) -> Vec<Resource> {
    let all = api.resources().all();
    let mut found: Vec<Resource> = all
        .filter(|r| r.group() == group && r.version() == version)
        .collect();
    found.sort_by(|a, b| a.plural().cmp(b.plural()));
    found
}

fn resource_list(api: &Api, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in served(api, group, version) {
        resources.push(legacy(&resource));
        let below = resource.subresources();
        resources.extend(below.iter().map(|sub| legacy_below(&resource, sub)));
    }
    let mut body = json!({
        "kind": "APIResourceList",
        "groupVersion": meta::api_version(group, version),
        "resources": resources,
    });
    if !group.is_empty() {
        body.set("apiVersion", "v1");
    }
    body
}

fn legacy(resource: &Resource) -> Value {
    let mut entry = Map::new();
    entry.set("name", resource.plural());
    entry.set("singularName", resource.singular());
    entry.set("namespaced", resource.namespaced());
    entry.set("kind", resource.kind());
    entry.set("verbs", resource.verbs());
    for (key, names) in [
        ("shortNames", resource.short_names()),
        ("categories", resource.categories()),
    ] {
        if !names.is_empty() {
            entry.set(key, names);
        }
    }
    if resource.has_verb("list") {
        entry.set("storageVersionHash", hash(resource));
    }
    Value::Object(entry)
}

/// Tells when the version changes in which objects are kept. Upstream: `StorageVersionHash`.
fn hash(resource: &Resource) -> String {
    let version = resource.storage_version();
    let digest = ring::digest::digest(&ring::digest::SHA256, version.as_bytes());
    BASE64.encode(digest.as_ref().get(..8).unwrap_or_default())
}

/// The kind that a subresource speaks.
fn kind_of<'a>(resource: &'a Resource, sub: &'a Subresource) -> &'a str {
    match sub.kind {
        "" => resource.kind(),
        kind => kind,
    }
}

fn legacy_below(resource: &Resource, sub: &Subresource) -> Value {
    let mut entry = Map::new();
    entry.set("name", format!("{}/{}", resource.plural(), sub.name));
    entry.set("singularName", "");
    entry.set("namespaced", resource.namespaced());
    entry.set("kind", kind_of(resource, sub));
    entry.set("verbs", sub.verbs.to_vec());
    if let Some((group, version)) = sub.group_version {
        entry.set("group", group);
        entry.set("version", version);
    }
    Value::Object(entry)
}

/// Everything at once.
fn all(api: &Api, parts: &[&str], version: &str) -> Value {
    let groups = match parts {
        ["api"] => vec![String::new()],
        _ => groups(api),
    };
    let items: Vec<Value> = groups.iter().map(|g| group_discovery(api, g)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    })
}

fn group_discovery(api: &Api, group: &str) -> Value {
    let mut metadata = Map::new();
    if !group.is_empty() {
        metadata.set("name", group);
    }
    let versions: Vec<Value> = versions(api, group)
        .iter()
        .map(|version| {
            let resources = match computed::Group::of(api, group, version) {
                Some(group) => group.resource_discovery(),
                None => {
                    let served = served(api, group, version);
                    served.iter().map(resource_discovery).collect()
                }
            };
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn resource_discovery(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = Map::new();
    entry.set("resource", resource.plural());
    entry.set("responseKind", kind("", "", resource.kind()));
    let scope = match resource.namespaced() {
        true => "Namespaced",
        false => "Cluster",
    };
    entry.set("scope", scope);
    entry.set("singularResource", resource.singular());
    entry.set("verbs", resource.verbs());
    for (key, names) in [
        ("shortNames", resource.short_names()),
        ("categories", resource.categories()),
    ] {
        if !names.is_empty() {
            entry.set(key, names);
        }
    }
    let below: Vec<Value> = resource
        .subresources()
        .iter()
        .map(|sub| {
            let (group, version) = sub.group_version.unwrap_or_default();
            json!({
                "subresource": sub.name,
                "responseKind": kind(group, version, kind_of(resource, sub)),
                "verbs": sub.verbs,
            })
        })
        .collect();
    if !below.is_empty() {
        entry.set("subresources", below);
    }
    Value::Object(entry)
}

/// `/version`: the Kubernetes that this server answers like.
pub(crate) fn version() -> Answer {
    let body = json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": concat!("v1.36.4+stowplan-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": "linux/amd64",
    });
    let output = Output {
        pretty: true,
        ..Output::default()
    };
    answer::object(200, &body, output)
}

/// `/`: where to look.
pub(crate) fn paths(api: &Api) -> Answer {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in groups(api) {
        paths.push(format!("/apis/{group}"));
        let versions = versions(api, &group);
        paths.extend(versions.iter().map(|v| format!("/apis/{group}/{v}")));
    }
    let others = [
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ];
    paths.extend(others.map(str::to_owned));
    let output = Output {
        pretty: true,
        ..Output::default()
    };
    answer::object(200, &json!({"paths": paths}), output)
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
