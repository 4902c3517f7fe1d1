//! `meta.k8s.io` Tables: what `kubectl get` prints.

use crate::api::Api;
use crate::request::{Request, Target};
use crate::storage::{self, glance};
use crate::transform::{partial, write_list, write_partial};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use stowplan_apimachinery::json::write_field;
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_store::Entry;

/// What a row carries beside its cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
                let shown = stowplan_apimachinery::go::quote(other);
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

/// A table of stored objects, of which there is at least one. It says what [`table`] would say.
pub(crate) fn write(
    api: &Api,
    target: &Target,
    entries: &[Arc<Entry>],
    metadata: &Value,
    style: Style,
) -> Vec<u8> {
    let now_s = api.env().now().as_millis() / 1_000;
    let spoken = target.spoken();
    let reads = spoken.row_reads();
    let head = json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{}", style.version),
        "metadata": metadata,
        "columnDefinitions": spoken.columns(),
    });
    write_list(&head, "rows", entries, |out, entry| {
        let (cells, conditions) = spoken.row(&glance::part(entry, reads), now_s);
        out.push(b'{');
        write_field(out, "cells", &cells.into());
        if let Some(conditions) = conditions {
            out.push(b',');
            write_field(out, "conditions", &conditions);
        }
        out.extend_from_slice(b",\"object\":");
        match style.include {
            Include::Metadata => write_partial(out, entry, style.version),
            Include::Object => storage::write_object(out, entry),
            Include::Nothing => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Style {
    pub(crate) version: &'static str,
    pub(crate) include: Include,
    /// Whether the columns are defined: once per watch.
    pub(crate) headers: bool,
}

fn columns(target: &Target) -> Value {
    let mut columns = target.spoken().columns();
    if target.resource.is_custom() && target.subresource == "scale" {
        // Upstream: `scaleTableConvertor` of `registry/customresource`.
        for (i, field, text) in [
            (0, "format", "name"),
            (1, "description", "Number of desired replicas"),
            (2, "description", "Number of actual replicas"),
            (3, "type", "date"),
        ] {
            if let Some(column) = columns.get_mut(i) {
                column.set(field, text);
            }
        }
    }
    columns
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
    match object.at("metadata").text("resourceVersion") {
        "" => json!({}),
        version => json!({"resourceVersion": version}),
    }
}
