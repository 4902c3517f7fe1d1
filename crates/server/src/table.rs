//! `meta.k8s.io` Tables: what `kubectl get` prints.

use crate::api::Api;
use crate::request::{Request, Target};
use crate::transform::partial;
use serde_json::{Map, Value, json};
use stowplan_machinery::{Edit, Status, View};

/// What a row carries beside its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Include {
    Metadata,
    Object,
    Nothing,
}

impl Include {
    /// Upstream: `optionsForTransform`.
    pub(crate) fn read(request: &Request) -> Result<Self, Status> {
        match request.query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::Nothing),
            other => {
                let shown = stowplan_machinery::go::quote(other);
                Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {shown}: \
                     must be 'Metadata', 'Object', 'None', or empty"
                )))
            }
        }
    }
}

/// A table of objects. `metadata` is that of the list, or what is known of it.
pub(crate) fn table<'a>(
    api: &Api,
    target: &Target,
    objects: impl Iterator<Item = &'a Value>,
    metadata: Value,
    style: Style,
) -> Value {
    let now_s = api.env().now().as_millis() / 1_000;
    let rows: Vec<Value> = objects
        .map(|object| row(target, object, now_s, style))
        .collect();
    let rows = match rows.is_empty() && has_plain_table(target) {
        true => Value::Null,
        false => rows.into(),
    };
    let columns = match style.headers {
        true => columns(target),
        false => Value::Null,
    };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{}", style.version),
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// Whether upstream makes the table without knowing the kind, and leaves out what is empty:
/// `rest.NewDefaultTableConvertor`.
fn has_plain_table(target: &Target) -> bool {
    let kind = target.resource.kind();
    let plain = [
        "ClusterRole",
        "CSIStorageCapacity",
        "CustomResourceDefinition",
        "LimitRange",
        "Role",
    ];
    !target.resource.is_custom() && plain.contains(&kind)
}

/// How a table is made.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) version: &'static str,
    pub(crate) include: Include,
    /// Whether the columns are defined: once per watch.
    pub(crate) headers: bool,
}

fn columns(target: &Target) -> Value {
    target.spoken().columns()
}

fn row(target: &Target, object: &Value, now_s: i64, style: Style) -> Value {
    let mut row = Map::new();
    let (cells, conditions) = target.spoken().row(object, now_s);
    row.set("cells", cells);
    if let Some(conditions) = conditions {
        row.set("conditions", conditions);
    }
    let carried = match style.include {
        Include::Metadata => partial(object, style.version),
        Include::Object => object.clone(),
        Include::Nothing => Value::Null,
    };
    row.set("object", carried);
    Value::Object(row)
}

/// The metadata of a table of one object.
pub(crate) fn metadata_of(object: &Value) -> Value {
    json!({"resourceVersion": object.at("metadata").text("resourceVersion")})
}
