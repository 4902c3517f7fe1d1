//! Changes to a request.

use super::corpus::Corpus;
use super::{generate, once_in, patch, pick, tree, values};
use serde_json::{Map, Value, json};
use stowplan_base::Rng;

const METHODS: &[&str] = &[
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "QUERY",
];

const PARAMETERS: &[&str] = &[
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "watch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "timeoutSeconds",
    "fieldManager",
    "fieldValidation",
    "dryRun",
    "force",
    "pretty",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "preconditions",
    "includeObject",
    "container",
    "tailLines",
    "follow",
    "sinceTime",
    "limitBytes",
    "path",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
];

const SELECTORS: &[&str] = &[
    "a in (b",
    "a in (b,c),!d",
    "a notin ()",
    "=",
    "a==b=c",
    "a>1",
    "a<x",
    "!",
    ",",
    "a,,b",
    "é",
    "a in b",
    "()",
    "metadata.name=a",
    "metadata.name!=a,metadata.namespace=b",
    "spec.nodeName=",
    "status.phase==Running",
    "a\\,b=c\\=",
    "\\",
    "involvedObject.name=a",
    "type=x",
    "metadata.name",
    "a=\u{0}",
];

const MEDIA: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "*/*",
    "",
    "a/b/c",
    ";",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/cbor",
    "application/json;stream=watch",
    "application/json;q=2",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/apply-patch+cbor",
    "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
];

/// Changes one thing about a request.
pub(super) fn mutate(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    match rng.below(16) {
        0..=3 => match step.get_mut("body") {
            Some(body) => tree::change(body, rng, corpus),
            None => add_parameter(step, rng, corpus),
        },
        4 | 5 => match step.get_mut("body") {
            Some(body) => generate::place_field(body, rng, corpus),
            None => new_object(step, rng, corpus),
        },
        6 => new_object(step, rng, corpus),
        7 | 8 => add_parameter(step, rng, corpus),
        9 => add_header(step, rng, corpus),
        10 => drop(step.insert("method".to_owned(), json!(pick(rng, METHODS)))),
        11 => change_path(step, rng, corpus),
        12 => raw_body(step, rng),
        13 => drop(step.insert("body".to_owned(), corpus.body(rng))),
        _ => new_patch(step, rng, corpus),
    }
}

/// What a step has under this name, if it is an object; else an empty one.
fn take_object(step: &mut Map<String, Value>, name: &str) -> Value {
    let object = step.remove(name).filter(Value::is_object);
    object.unwrap_or_else(|| json!({}))
}

fn add_parameter(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let mut query = take_object(step, "query");
    match rng.below(4) {
        0 => {
            if let Some((name, value)) = corpus.query(rng) {
                query[name] = value;
            }
        }
        1 => {
            let name = pick(rng, &["labelSelector", "fieldSelector"])
                .copied()
                .unwrap_or_default();
            query[name] = json!(pick(rng, SELECTORS));
        }
        2 => {
            let name = pick(rng, PARAMETERS).copied().unwrap_or_default();
            query[name] = json!([values::text(rng, corpus), values::text(rng, corpus)]);
        }
        _ => {
            let name = pick(rng, PARAMETERS).copied().unwrap_or_default();
            query[name] = values::odd(rng, corpus);
        }
    }
    step.insert("query".to_owned(), query);
}

fn add_header(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let mut headers = take_object(step, "headers");
    match rng.below(5) {
        0 => {
            if let Some((name, value)) = corpus.header(rng) {
                headers[name] = value;
            }
        }
        1 => headers["Accept"] = json!(pick(rng, MEDIA)),
        2 => headers["Content-Type"] = json!(pick(rng, MEDIA)),
        3 => headers["Content-Type"] = json!(pick(rng, patch::MEDIA_TYPES)),
        _ => {
            headers["Impersonate-User"] =
                json!(pick(rng, &["a", "", "system:admin", "system:anonymous"]))
        }
    }
    step.insert("headers".to_owned(), headers);
}

fn change_path(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let path = step
        .get("path")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let i = rng.below(parts.len());
    match rng.below(6) {
        0 => parts[i] = values::text(rng, corpus),
        1 => parts.push(corpus.word(rng)),
        2 => drop(parts.remove(i)),
        3 => {
            let subresources = [
                "status", "scale", "binding", "eviction", "log", "token", "resize", "finalize",
                "exec",
            ];
            let subresource = pick(rng, &subresources).copied().unwrap_or_default();
            parts.push(subresource.to_owned());
        }
        4 => parts[i] = generate::kind(rng).plural.to_owned(),
        _ => {
            let kind = generate::kind(rng);
            let api = collection(kind, "default");
            step.insert("path".to_owned(), api.into());
            return;
        }
    }
    step.insert("path".to_owned(), parts.join("/").into());
}

/// Where objects of a kind are created.
fn collection(kind: &stowplan_kinds::Kind, namespace: &str) -> String {
    let api = match kind.group {
        "" => format!("/api/{}", kind.version),
        group => format!("/apis/{group}/{}", kind.version),
    };
    match kind.namespaced() {
        true => format!("{api}/namespaces/{namespace}/{}", kind.plural),
        false => format!("{api}/{}", kind.plural),
    }
}

fn new_object(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let kind = generate::kind(rng);
    let path = collection(kind, "default");
    step.insert("body".to_owned(), generate::object(kind, rng, corpus));
    match rng.below(3) {
        0 => {
            step.insert("method".to_owned(), "PUT".into());
            step.insert("path".to_owned(), format!("{path}/a").into());
        }
        _ => {
            step.insert("method".to_owned(), "POST".into());
            step.insert("path".to_owned(), path.into());
        }
    }
    step.remove("headers");
}

fn new_patch(step: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let object = match step.get("body") {
        Some(body) if body.is_object() => body.clone(),
        _ => corpus.body(rng),
    };
    let path = step
        .get("path")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let posted = step.get("method").is_some_and(|method| method == "POST");
    if posted {
        let name = object["metadata"]["name"].as_str().unwrap_or("a");
        step.insert("path".to_owned(), format!("{path}/{name}").into());
    }
    let kind = pick(rng, patch::MEDIA_TYPES).copied().unwrap_or_default();
    step.insert("method".to_owned(), "PATCH".into());
    step.insert("headers".to_owned(), json!({"Content-Type": kind}));
    if kind.contains("apply") && !once_in(rng, 8) {
        step.insert(
            "query".to_owned(),
            json!({"fieldManager": "m", "force": once_in(rng, 2)}),
        );
    }
    step.insert("body".to_owned(), patch::patch(kind, &object, rng, corpus));
}

fn raw_body(step: &mut Map<String, Value>, rng: &mut Rng) {
    let text = step.get("body").map(Value::to_string).unwrap_or_default();
    let mut cut = rng.below(text.len() + 1);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let (head, tail) = text.split_at(cut);
    let scalar = text.rfind(":\"").map(|at| at + 1);
    let raw = match (rng.below(6), scalar) {
        (0, _) => head.to_owned(),
        (1, _) => format!(
            "{head}{}{tail}",
            pick(rng, &["\u{0}", "\"", "{", "]", ",", "é", "\\u"])
                .copied()
                .unwrap_or("")
        ),
        (2, _) => values::deep(rng),
        (3, Some(at)) => {
            let end = text[at + 1..]
                .find('"')
                .map_or(text.len(), |end| at + end + 2);
            format!("{}{}{}", &text[..at], values::deep(rng), &text[end..])
        }
        (4, _) => format!("{text}{text}"),
        _ => pick(
            rng,
            &[
                "a: &a [*a]",
                "? b\n: c",
                "- a\n-b",
                "a: b: c",
                "%YAML 9",
                "---\n---",
                "k8s\u{0}\n\u{4}",
                "<<: {a: b}",
                "a: !!binary x",
            ],
        )
        .copied()
        .unwrap_or_default()
        .to_owned(),
    };
    step.remove("body");
    step.insert("rawBody".to_owned(), raw.into());
}
