//! Writes as the server makes them, as far as strategies go.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::lookup::Nothing;
use stowplan_apimachinery::{Edit, Status, View, names};
use stowplan_kinds::common::metadata;
use stowplan_kinds::service::allocate::{Allocation, InUse, Ranges, begin_create, begin_update};
use stowplan_kinds::{Context, Kind, Strategy, table};

pub(crate) const NOW: &str = "<time>";

/// The kind, namespace, name and subresource in a path.
pub(crate) struct Target {
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

pub(crate) fn target(path: &str) -> Option<Target> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let rest = match parts.as_slice() {
        ["api", ..] => parts.split_off(2),
        ["apis", ..] if parts.len() > 3 => parts.split_off(3),
        _ => return None,
    };
    let (group, version) = match parts.as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return None,
    };
    let (namespace, rest) = match rest.as_slice() {
        ["namespaces", namespace, rest @ ..]
            if rest
                .first()
                .is_some_and(|r| !matches!(*r, "status" | "finalize")) =>
        {
            (*namespace, rest)
        }
        rest => ("", rest),
    };
    let part = |i: usize| rest.get(i).copied().unwrap_or_default().to_owned();
    Some(Target {
        kind: table::by_resource(group, version, rest.first()?)?,
        namespace: namespace.to_owned(),
        name: part(1),
        subresource: part(2),
    })
}

/// What a write led to.
pub(crate) enum Outcome {
    Stored(Value, Vec<String>),
    Refused(String, Vec<Value>),
}

fn context() -> Context<'static> {
    Context {
        now: NOW,
        cluster: &Nothing,
    }
}

fn refused(kind: &Kind, object: &Value, errors: &ErrorList) -> Outcome {
    let name = object.at("metadata").text("name");
    of_status(&Status::invalid(&kind.group_kind(), name, errors))
}

fn of_status(status: &Status) -> Outcome {
    let json = status.to_json();
    let causes = json.path(&["details", "causes"]);
    let causes = causes.as_array().cloned().unwrap_or_default();
    Outcome::Refused(status.message.clone(), causes)
}

/// The object in the form in which strategies take it; `None` if it cannot be read.
pub(crate) fn decoded(kind: &Kind, body: &Value) -> Option<Value> {
    let ty = stowplan_schema::type_of(kind.schema)?;
    let mut object = stowplan_schema::decode(ty, body).ok()?.object;
    object.set("apiVersion", kind.api_version());
    object.set("kind", kind.kind);
    Some(object)
}

/// The object as it comes back from the store.
fn stored(kind: &Kind, mut object: Value) -> Option<Value> {
    let ty = stowplan_schema::type_of(kind.schema)?;
    stowplan_schema::to_stored_form(ty, &mut object);
    kind.strategy.read_back(&mut object);
    Some(object)
}

fn allocation<'a>(ranges: &'a Ranges, in_use: &'a InUse, dry_run: bool) -> Allocation<'a> {
    Allocation {
        ranges,
        in_use,
        seed: 0,
        dry_run,
    }
}

/// Makes an object of a request's body.
pub(crate) fn create(target: &Target, body: &Value, dry_run: bool) -> Option<Outcome> {
    let (kind, cx) = (target.kind, context());
    let mut object = decoded(kind, body)?;
    kind.strategy.set_defaults(&mut object);
    let metadata = object.at_mut("metadata");
    metadata.set("uid", "<uid:1>");
    metadata.set("creationTimestamp", NOW);
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
    ] {
        metadata.unset(field);
    }
    if kind.namespaced() {
        metadata.set("namespace", target.namespace.as_str());
    } else {
        metadata.unset("namespace");
    }
    if metadata.text("name").is_empty() && !metadata.text("generateName").is_empty() {
        let name = format!("{}<gen:1>", metadata.text("generateName"));
        metadata.set("name", name);
    }
    if kind.kind == "Service" {
        let (ranges, in_use) = (Ranges::default(), InUse::default());
        let with = allocation(&ranges, &in_use, dry_run);
        if let Err(status) = begin_create(&mut object, &with) {
            return Some(of_status(&status));
        }
    }
    kind.strategy.prepare_for_create(&mut object, &cx);
    let mut errors = kind.strategy.validate(&object, &cx);
    if errors.is_empty() {
        let path = Path::new("metadata");
        let metadata = object.at("metadata");
        let rule = &names::path_segment;
        errors = metadata::validate(metadata, kind.namespaced(), rule, &path);
    }
    if !errors.is_empty() {
        return Some(refused(kind, &object, &errors));
    }
    let warnings = kind.strategy.warnings(&object, None);
    kind.strategy.canonicalize(&mut object);
    Some(Outcome::Stored(stored(kind, object)?, warnings))
}

/// Changes a stored object to a request's body.
pub(crate) fn update(target: &Target, body: &Value, old: &Value) -> Option<Outcome> {
    let (kind, cx) = (target.kind, context());
    let strategy: &dyn Strategy = match target.subresource.as_str() {
        "" => kind.strategy,
        name => kind.strategy.subresource(name)?,
    };
    let old = decoded(kind, old)?;
    let mut object = decoded(kind, body)?;
    strategy.set_defaults(&mut object);
    let before = old.at("metadata");
    let metadata = object.at_mut("metadata");
    if kind.namespaced() {
        metadata.set("namespace", target.namespace.as_str());
    }
    for field in ["resourceVersion", "uid", "creationTimestamp"] {
        metadata.set(field, before.at(field).clone());
    }
    metadata.unset("managedFields");
    match before.at("generation") {
        Value::Null => drop(metadata.unset("generation")),
        generation => metadata.set("generation", generation.clone()),
    }
    if kind.kind == "Service" && target.subresource.is_empty() {
        let ranges = Ranges::default();
        let in_use: InUse = [&old].into_iter().collect();
        let with = allocation(&ranges, &in_use, false);
        if let Err(status) = begin_update(&mut object, &old, &with) {
            return Some(of_status(&status));
        }
    }
    strategy.prepare_for_update(&mut object, &old, &cx);
    let path = Path::new("metadata");
    let (metadata, before) = (object.at("metadata"), old.at("metadata"));
    let rule = &names::path_segment;
    let mut errors = metadata::validate(metadata, kind.namespaced(), rule, &path);
    errors.extend(metadata::validate_update(metadata, before, &path));
    errors.extend(strategy.validate_update(&object, &old, &cx));
    if !errors.is_empty() {
        return Some(refused(kind, &object, &errors));
    }
    let warnings = strategy.warnings(&object, Some(&old));
    strategy.canonicalize(&mut object);
    Some(Outcome::Stored(stored(kind, object)?, warnings))
}

/// What of an object is compared: all but what others write.
pub(crate) fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.at_mut("metadata");
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "finalizers",
    ] {
        metadata.unset(field);
    }
    if let Some(spec) = object.child_mut("spec") {
        // Admission taints new nodes, and allocated values have no meaning.
        let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        if let Some(Value::Array(taints)) = spec.as_object_mut().and_then(|s| s.get_mut("taints")) {
            taints.retain(|t| *t != taint);
            if taints.is_empty() {
                spec.unset("taints");
            }
        }
        for field in ["clusterIP", "healthCheckNodePort"] {
            if spec.has(field) && spec.at(field) != "None" {
                spec.set(field, "<given>");
            }
        }
        if !spec.list("clusterIPs").is_empty() && spec.list("clusterIPs") != [json!("None")] {
            spec.set("clusterIPs", "<given>");
        }
        for port in spec.each_mut("ports") {
            if port.has("nodePort") {
                port.set("nodePort", "<given>");
            }
        }
    }
    object
}

/// The warnings of an answer that are a strategy's: not those of decoding and of the API itself.
pub(crate) fn own_warnings(expect: &Value) -> Vec<String> {
    let headers = expect.at("headers").as_object().into_iter().flatten();
    let warnings = headers.filter(|(name, _)| name.eq_ignore_ascii_case("warning"));
    let texts = warnings.flat_map(|(_, value)| match value {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    });
    texts
        .filter_map(|text| {
            let text = text.as_str()?.strip_prefix("299 - ")?;
            serde_json::from_str::<String>(text).ok()
        })
        .filter(|text| {
            let others = [
                "unknown field",
                "duplicate field",
                "v1 Endpoints is deprecated",
            ];
            !others.iter().any(|start| text.starts_with(start))
        })
        .collect()
}

/// Mismatches by resource, and how many steps were compared.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) compared: BTreeMap<String, usize>,
    pub(crate) mismatches: Vec<String>,
}
