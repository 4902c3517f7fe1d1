//! One attack for each list and map of each kind, found in the schema.

use super::{DRY, keys};
use crate::attack::{Attack, Request};
use crate::server::Server;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_kinds::{Kind, Scope, table};
use stowplan_schema::{Scalar, Type};

/// How deep fields are looked for.
const DEPTH_MAX: usize = 9;
/// In how many places a field of a struct is tried: a pod's template is part of many kinds.
const PLACES_MAX: usize = 2;

/// How an object is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Road {
    Json,
    Yaml,
    Apply,
}

/// A list or map of a kind.
pub(crate) struct Place {
    kind: &'static Kind,
    /// From the object to the list or map; `[]` is the first item of a list.
    path: Vec<String>,
    /// What an item is; a map's items are its values.
    item: &'static Type,
    map: bool,
}

/// All of them.
pub(crate) fn places() -> Vec<Place> {
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut places = Vec::new();
    for kind in table::KINDS {
        let Some(ty) = stowplan_schema::type_of(kind.schema) else {
            continue;
        };
        walk(kind, ty, &mut Vec::new(), &mut seen, &mut places);
    }
    places
}

fn walk(
    kind: &'static Kind,
    ty: &'static Type,
    path: &mut Vec<String>,
    seen: &mut BTreeMap<(String, String), usize>,
    places: &mut Vec<Place>,
) {
    let Some(object) = ty.map.as_ref().filter(|_| path.len() < DEPTH_MAX) else {
        return;
    };
    for field in object.fields() {
        let times = seen
            .entry((ty.name.to_string(), field.name.to_string()))
            .or_default();
        *times += 1;
        if *times > PLACES_MAX {
            continue;
        }
        path.push(field.name.to_string());
        let below: &'static Type = &field.ty;
        if let Some(list) = &below.list {
            let item = &list.item;
            places.push(Place {
                kind,
                path: path.clone(),
                item,
                map: false,
            });
            path.push("[]".to_owned());
            walk(kind, item, path, seen, places);
            path.pop();
        } else if let Some(rest) = below.map.as_ref().and_then(|map| map.rest.as_ref()) {
            places.push(Place {
                kind,
                path: path.clone(),
                item: rest,
                map: true,
            });
        }
        walk(kind, below, path, seen, places);
        path.pop();
    }
}

impl Place {
    pub(crate) fn name(&self) -> String {
        format!(
            "{}.{}",
            self.kind.kind,
            self.path.join(".").replace(".[]", "[]")
        )
    }

    /// The attack by one road, with items that differ or are all the same. What an item may be is found
    /// out by asking the server: the first that it can decode will do.
    pub(crate) fn attack(
        self: Arc<Self>,
        server: &Server,
        road: Road,
        same: bool,
    ) -> Option<Attack> {
        let item = self.find_item(server)?;
        let how = if same { "the same" } else { "others" };
        let name = format!("{road:?}: {}: {how}", self.name()).to_lowercase();
        Some(Attack::single(name, move |n| {
            self.request(road, self.fill(n, &item, same))
        }))
    }

    fn find_item(&self, server: &Server) -> Option<Value> {
        let decodes = |item: &Value| {
            let request = self.request(Road::Json, self.fill(1, item, false));
            server.send(&request) != 400
        };
        let scalar = |ty: &Type| -> Vec<Value> {
            match ty.scalar {
                Some(Scalar::Boolean) => vec![json!(true)],
                Some(Scalar::Number) => vec![json!(NUMBER)],
                Some(_) => TEXTS
                    .iter()
                    .map(|text| json!(text))
                    .chain([json!(NUMBER)])
                    .collect(),
                None => Vec::new(),
            }
        };
        if let Some(found) = scalar(self.item).into_iter().find(|item| decodes(item)) {
            return Some(found);
        }
        let mut item = Map::new();
        for field in self.item.map.as_ref()?.fields() {
            for value in scalar(&field.ty) {
                let before = item.insert(field.name.to_string(), value);
                if decodes(&Value::Object(item.clone())) {
                    break;
                }
                item.remove(field.name.as_ref());
                item.extend(before.map(|before| (field.name.to_string(), before)));
            }
        }
        let item = Value::Object(item);
        decodes(&item).then_some(item)
    }

    /// The list or map, of n items.
    fn fill(&self, n: usize, item: &Value, same: bool) -> Value {
        let numbered = |i: usize| number(item, if same { 0 } else { i });
        match self.map {
            true => (0..n)
                .map(|i| (format!("k{i}"), numbered(i)))
                .collect::<Map<_, _>>()
                .into(),
            false => (0..n).map(numbered).collect(),
        }
    }

    fn request(&self, road: Road, value: Value) -> Request {
        let mut object = value;
        for part in self.path.iter().rev() {
            object = match part.as_str() {
                "[]" => json!([object]),
                name => json!({name: object}),
            };
        }
        object["apiVersion"] = match self.kind.group {
            "" => json!(self.kind.version),
            group => json!(format!("{group}/{}", self.kind.version)),
        };
        object["kind"] = json!(self.kind.kind);
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        if object["metadata"]["name"].is_null() {
            object["metadata"]["name"] = json!("a");
        }
        let url = self.url();
        match road {
            Road::Json => Request::post(format!("{url}{DRY}"), &object),
            Road::Yaml => {
                let text = stowplan_schema::yaml::from_json(&object);
                Request::new("POST", format!("{url}{DRY}")).body("application/yaml", text)
            }
            Road::Apply => {
                let url = format!("{url}/a{DRY}&fieldManager=m");
                Request::new("PATCH", url).body("application/apply-patch+yaml", object.to_string())
            }
        }
    }

    fn url(&self) -> String {
        let prefix = match self.kind.group {
            "" => "/api".to_owned(),
            group => format!("/apis/{group}"),
        };
        let namespace = match self.kind.scope {
            Scope::Namespaced => "/namespaces/default",
            Scope::Cluster => "",
        };
        format!(
            "{prefix}/{}{namespace}/{}",
            self.kind.version, self.kind.plural
        )
    }
}

/// Stands for a number of its own in each item.
const NUMBER: i64 = 4_242;
/// Texts that kinds want, `#` for a number of its own: a name, a time, a quantity, base64.
const TEXTS: [&str; 4] = ["x#", "2026-01-02T03:04:05Z", "1#", "eHg="];

fn number(item: &Value, i: usize) -> Value {
    match item {
        Value::String(text) => Value::from(text.replace('#', &i.to_string())),
        Value::Number(_) => Value::from(i % 60_000),
        Value::Object(fields) => {
            let numbered = fields
                .iter()
                .map(|(name, value)| (name.clone(), number(value, i)));
            Value::Object(numbered.collect())
        }
        other => other.clone(),
    }
}

/// Every list and map of a kind at once.
pub(crate) fn all_at_once(server: &Server) -> Vec<Attack> {
    let mut by_kind: BTreeMap<&str, Vec<(Arc<Place>, Value)>> = BTreeMap::new();
    for place in places() {
        if place.path.iter().filter(|part| *part == "[]").count() > 1 {
            continue;
        }
        if let Some(item) = place.find_item(server) {
            by_kind
                .entry(place.kind.kind)
                .or_default()
                .push((Arc::new(place), item));
        }
    }
    let attack = |(kind, places): (&str, Vec<(Arc<Place>, Value)>)| {
        let kind = kind.to_owned();
        Attack::single(format!("all lists of {kind} at once"), move |n| {
            let each = n.div_ceil(places.len().max(1));
            let mut object = Value::Null;
            for (place, item) in &places {
                put(&mut object, &place.path, place.fill(each, item, false));
            }
            let (place, _) = places.first().expect("a kind has a list");
            let mut request = place.request(Road::Json, json!({}));
            let mut whole: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), object) {
                whole.extend(more);
            }
            whole["metadata"]["name"] = json!("a");
            request.body = whole.to_string().into();
            request
        })
    };
    let attacks = by_kind.into_iter().map(attack);
    let keys_of_all = Attack::single("all: a label of every name", |n| {
        let object = json!({"metadata": {"name": "a", "labels": keys(n), "annotations": keys(n)}});
        Request::post(format!("/api/v1/namespaces{DRY}"), &object)
    });
    attacks.chain([keys_of_all]).collect()
}

/// Puts a value where a path leads, if nothing else is in the way.
fn put(object: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        if object.is_null() {
            *object = value;
        }
        return;
    };
    match first.as_str() {
        "[]" => {
            if object.is_null() {
                *object = json!([null]);
            }
            if let Some(first) = object.as_array_mut().and_then(|items| items.first_mut()) {
                put(first, rest, value);
            }
        }
        name => {
            if object.is_null() {
                *object = json!({});
            }
            if let Some(object) = object.as_object_mut() {
                put(object.entry(name).or_insert(Value::Null), rest, value);
            }
        }
    }
}
