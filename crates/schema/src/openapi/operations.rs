//! Paths and what can be done with them.

use super::{BuiltIn, Resource, Subresource, group_version_kind, reference};
use serde_json::{Map, Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

const LIST_PARAMETERS: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const DELETE_PARAMETERS: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
const DELETE_COLLECTION_PARAMETERS: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
];
const WRITE_PARAMETERS: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH_PARAMETERS: &[&str] = &["dryRun", "fieldManager/patch", "fieldValidation", "force"];
const LOG_PARAMETERS: &[&str] = &[
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
];

const MEDIA_TYPES: &[&str] = &["application/json", "application/yaml"];
const LIST_MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/json;stream=watch",
    "application/yaml",
];

/// One thing that can be done at a path.
struct Operation<'a> {
    /// `list`, as it starts the operation's id.
    id_verb: &'a str,
    /// What comes between the verb and the kind in the id: `CollectionNamespaced`.
    id_infix: String,
    /// What ends the id.
    id_suffix: String,
    description: String,
    /// Upstream's `x-kubernetes-action`.
    action: &'a str,
    parameters: &'a [&'a str],
    request: Option<Value>,
    /// Status codes and texts of the answers.
    codes: &'a [(&'a str, &'a str)],
    /// The schema of the answer; nothing for plain text.
    answer: Option<&'a str>,
    /// Group, version and kind that it is about.
    kind: (&'a str, &'a str, &'a str),
}

/// Writes operations, with the texts of parameters from the generated part.
pub(super) struct Operations<'b> {
    built_in: &'b BuiltIn,
}

const OK: &[(&str, &str)] = &[("200", "OK")];
const CREATED: &[(&str, &str)] = &[("200", "OK"), ("201", "Created")];
const POSTED: &[(&str, &str)] = &[("200", "OK"), ("201", "Created"), ("202", "Accepted")];
const DELETED: &[(&str, &str)] = &[("200", "OK"), ("202", "Accepted")];

impl<'b> Operations<'b> {
    pub(super) fn new(built_in: &'b BuiltIn) -> Self {
        Self { built_in }
    }

    /// Adds all paths of a resource.
    pub(super) fn add(&self, resource: &Resource<'_>, paths: &mut Map<String, Value>) {
        let root = format!("/{}", super::path(resource.group, resource.version));
        paths.insert(format!("{root}/"), self.discovery(resource));
        let plural = resource.plural;
        let collection = match resource.namespaced {
            true => format!("{root}/namespaces/{{namespace}}/{plural}"),
            false => format!("{root}/{plural}"),
        };
        if resource.namespaced && resource.verbs.contains(&"list") {
            paths.insert(format!("{root}/{plural}"), self.all_namespaces(resource));
        }
        paths.insert(collection.clone(), self.collection(resource));
        let item = format!("{collection}/{{name}}");
        let operations = self.item(resource);
        if !operations.is_null() {
            paths.insert(item.clone(), operations);
        }
        for sub in &resource.subresources {
            let path = format!("{item}/{}", sub.name);
            paths.insert(path, self.subresource(resource, sub));
        }
    }

    fn discovery(&self, resource: &Resource<'_>) -> Value {
        let list = format!("{META}.APIResourceList");
        let (id, tag) = names(resource);
        json!({"get": {
            "description": "get available resources",
            "operationId": format!("get{id}APIResources"),
            "responses": responses(OK, Some(&list), MEDIA_TYPES),
            "tags": [tag],
        }})
    }

    fn all_namespaces(&self, resource: &Resource<'_>) -> Value {
        let list = format!("{}List", resource.schema);
        let operation = Operation {
            id_suffix: "ForAllNamespaces".to_owned(),
            id_infix: String::new(),
            parameters: &[],
            ..list_operation(resource, &list)
        };
        let mut parameters = self.parameters(LIST_PARAMETERS);
        parameters.extend(self.parameters(&["pretty"]));
        json!({"get": self.write(resource, &operation), "parameters": parameters})
    }

    fn collection(&self, resource: &Resource<'_>) -> Value {
        let list = format!("{}List", resource.schema);
        let mut item = Map::new();
        for verb in &resource.verbs {
            let operation = match *verb {
                "list" => list_operation(resource, &list),
                "create" => create_operation(resource),
                "deletecollection" => delete_collection_operation(resource),
                _ => continue,
            };
            item.insert(method(verb).to_owned(), self.write(resource, &operation));
        }
        item.insert("parameters".to_owned(), self.place(resource, ""));
        Value::Object(item)
    }

    fn item(&self, resource: &Resource<'_>) -> Value {
        let mut item = Map::new();
        for verb in &resource.verbs {
            let operation = match *verb {
                "get" | "update" | "patch" => {
                    item_operation(resource, verb, "", own_kind(resource), resource.schema)
                }
                "delete" => delete_operation(resource),
                _ => continue,
            };
            item.insert(method(verb).to_owned(), self.write(resource, &operation));
        }
        if item.is_empty() {
            return Value::Null;
        }
        item.insert("parameters".to_owned(), self.place(resource, resource.kind));
        Value::Object(item)
    }

    fn subresource(&self, resource: &Resource<'_>, sub: &Subresource<'_>) -> Value {
        let kind = (sub.group, sub.version, sub.kind);
        let schema = match kind == own_kind(resource) {
            true => Some(resource.schema),
            false => self.built_in.of_kind(sub.group, sub.version, sub.kind),
        };
        let schema = schema.unwrap_or(resource.schema);
        let mut item = Map::new();
        for verb in &sub.verbs {
            let mut operation = match *verb {
                "create" => create_subresource_operation(resource, sub, schema),
                "get" | "update" | "patch" => {
                    item_operation(resource, verb, sub.name, kind, schema)
                }
                _ => continue,
            };
            if sub.name == "log" {
                (operation.parameters, operation.answer) = (LOG_PARAMETERS, None);
            }
            item.insert(method(verb).to_owned(), self.write(resource, &operation));
        }
        item.insert("parameters".to_owned(), self.place(resource, sub.kind));
        Value::Object(item)
    }

    /// The parameters that all operations at a path have.
    fn place(&self, resource: &Resource<'_>, named: &str) -> Value {
        let mut all = Vec::new();
        if !named.is_empty() {
            all.push(json!({
                "name": "name",
                "in": "path",
                "description": format!("name of the {named}"),
                "required": true,
                "schema": {"type": "string", "uniqueItems": true},
            }));
        }
        if resource.namespaced {
            all.extend(self.parameters(&["namespace"]));
        }
        all.extend(self.parameters(&["pretty"]));
        Value::Array(all)
    }

    fn parameters(&self, names: &[&str]) -> Vec<Value> {
        let known = names
            .iter()
            .filter_map(|n| self.built_in.parameters.get(*n));
        known.cloned().collect()
    }

    fn write(&self, resource: &Resource<'_>, operation: &Operation<'_>) -> Value {
        let (id, tag) = names(resource);
        let media_types = match operation.action {
            "list" => LIST_MEDIA_TYPES,
            _ => MEDIA_TYPES,
        };
        let (group, version, kind) = operation.kind;
        let mut written = json!({
            "description": operation.description,
            "operationId": format!(
                "{}{id}{}{}{}",
                operation.id_verb, operation.id_infix, resource.kind, operation.id_suffix
            ),
            "responses": responses(operation.codes, operation.answer, media_types),
            "tags": [tag],
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": group_version_kind(group, version, kind),
        });
        if !operation.parameters.is_empty() {
            written["parameters"] = self.parameters(operation.parameters).into();
        }
        if let Some(request) = &operation.request {
            written["requestBody"] = request.clone();
        }
        written
    }
}

/// `AppsV1` and `apps_v1`.
fn names(resource: &Resource<'_>) -> (String, String) {
    let group = match resource.group {
        "" => "core",
        group => group.trim_end_matches(".k8s.io"),
    };
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let words: String = group.split(['.', '-']).map(capital).collect();
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_ascii_lowercase());
    let lower: String = first.into_iter().chain(letters).collect();
    let id = format!("{words}{}", capital(resource.version));
    (id, format!("{lower}_{}", resource.version))
}

fn method(verb: &str) -> &'static str {
    match verb {
        "create" => "post",
        "update" => "put",
        "patch" => "patch",
        "delete" | "deletecollection" => "delete",
        _ => "get",
    }
}

fn namespaced(resource: &Resource<'_>) -> &'static str {
    if resource.namespaced {
        "Namespaced"
    } else {
        ""
    }
}

fn own_kind<'a>(resource: &Resource<'a>) -> (&'a str, &'a str, &'a str) {
    (resource.group, resource.version, resource.kind)
}

fn body(schema: &str, required: bool) -> Option<Value> {
    let mut body = json!({"content": {"*/*": {"schema": reference(schema)}}});
    if required {
        body["required"] = true.into();
    }
    Some(body)
}

fn patch_body(resource: &Resource<'_>) -> Option<Value> {
    let mut types = vec![
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ];
    if !resource.custom {
        types.push("application/strategic-merge-patch+json");
    }
    let patch = reference(&format!("{META}.Patch"));
    let content: Map<String, Value> = types
        .into_iter()
        .map(|media| (media.to_owned(), json!({"schema": patch})))
        .collect();
    Some(json!({"content": content, "required": true}))
}

fn responses(codes: &[(&str, &str)], schema: Option<&str>, media_types: &[&str]) -> Value {
    let mut responses = Map::new();
    for (code, description) in codes {
        let content: Map<String, Value> = match schema {
            Some(schema) => media_types
                .iter()
                .map(|media| ((*media).to_owned(), json!({"schema": reference(schema)})))
                .collect(),
            None => [(
                "text/plain".to_owned(),
                json!({"schema": {"type": "string"}}),
            )]
            .into_iter()
            .collect(),
        };
        let response = json!({"content": content, "description": description});
        responses.insert((*code).to_owned(), response);
    }
    let unauthorized = json!({"description": "Unauthorized"});
    responses.insert("401".to_owned(), unauthorized);
    Value::Object(responses)
}

fn list_operation<'a>(resource: &Resource<'a>, list: &'a str) -> Operation<'a> {
    Operation {
        id_verb: "list",
        id_infix: namespaced(resource).to_owned(),
        id_suffix: String::new(),
        description: format!("list or watch objects of kind {}", resource.kind),
        action: "list",
        parameters: LIST_PARAMETERS,
        request: None,
        codes: OK,
        answer: Some(list),
        kind: own_kind(resource),
    }
}

fn create_operation<'a>(resource: &Resource<'a>) -> Operation<'a> {
    Operation {
        id_verb: "create",
        id_infix: namespaced(resource).to_owned(),
        id_suffix: String::new(),
        description: format!("create {} {}", article(resource.kind), resource.kind),
        action: "post",
        parameters: WRITE_PARAMETERS,
        request: body(resource.schema, true),
        codes: POSTED,
        answer: Some(resource.schema),
        kind: own_kind(resource),
    }
}

fn delete_operation<'a>(resource: &Resource<'a>) -> Operation<'a> {
    Operation {
        id_verb: "delete",
        id_infix: namespaced(resource).to_owned(),
        id_suffix: String::new(),
        description: format!("delete {} {}", article(resource.kind), resource.kind),
        action: "delete",
        parameters: DELETE_PARAMETERS,
        request: body("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", false),
        codes: DELETED,
        answer: Some("io.k8s.apimachinery.pkg.apis.meta.v1.Status"),
        kind: own_kind(resource),
    }
}

fn delete_collection_operation<'a>(resource: &Resource<'a>) -> Operation<'a> {
    Operation {
        id_infix: format!("Collection{}", namespaced(resource)),
        description: format!("delete collection of {}", resource.kind),
        action: "deletecollection",
        parameters: DELETE_COLLECTION_PARAMETERS,
        codes: OK,
        ..delete_operation(resource)
    }
}

/// Reading or changing an object, or what hangs below it.
fn item_operation<'a>(
    resource: &Resource<'a>,
    verb: &str,
    sub: &str,
    kind: (&'a str, &'a str, &'a str),
    schema: &'a str,
) -> Operation<'a> {
    let (id_verb, action, phrase) = match verb {
        "update" => ("replace", "put", "replace"),
        "patch" => ("patch", "patch", "partially update"),
        _ => ("read", "get", "read"),
    };
    let of = match sub {
        "" => String::new(),
        sub => format!("{sub} of "),
    };
    let (parameters, request, codes): (&[&str], _, _) = match verb {
        "update" => (WRITE_PARAMETERS, body(schema, true), CREATED),
        "patch" => (PATCH_PARAMETERS, patch_body(resource), CREATED),
        _ => (&[], None, OK),
    };
    Operation {
        id_verb,
        id_infix: namespaced(resource).to_owned(),
        id_suffix: suffix(sub),
        description: format!("{phrase} {of}the specified {}", resource.kind),
        action,
        parameters,
        request,
        codes,
        answer: Some(schema),
        kind,
    }
}

fn create_subresource_operation<'a>(
    resource: &Resource<'a>,
    sub: &Subresource<'a>,
    schema: &'a str,
) -> Operation<'a> {
    Operation {
        id_suffix: suffix(sub.name),
        description: format!(
            "create {} of {} {}",
            sub.name,
            article(resource.kind),
            resource.kind
        ),
        request: body(schema, true),
        answer: Some(schema),
        kind: (sub.group, sub.version, sub.kind),
        ..create_operation(resource)
    }
}

/// `Status` of `status`.
fn suffix(sub: &str) -> String {
    let mut letters = sub.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn article(kind: &str) -> &'static str {
    match kind.starts_with(['A', 'E', 'I', 'O', 'U']) {
        true => "an",
        false => "a",
    }
}
