//! Objects as clients want to see them: whole, as metadata, as rows of a Table.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{Convert, Output};
use crate::request::{Request, Target};
use crate::storage::glance;
use crate::table::{self, Include, Style, table};
use crate::verbs::list::Found;
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_store::Entry;

/// One object. Upstream: `transformResponseObject`.
pub(crate) fn object(
    api: &Api,
    request: &Request,
    target: &Target,
    code: u16,
    object: &Value,
    output: Output,
) -> Result<Answer, Status> {
    let body = match output.convert {
        Convert::Nothing => return Ok(answer::object(code, object, output)),
        Convert::Table(version) => {
            let style = Style {
                version,
                include: Include::read(request)?,
                headers: true,
            };
            match object.text("kind") {
                "Status" => object.clone(),
                _ => {
                    let metadata = table::metadata_of(object);
                    table(api, target, std::iter::once(object), metadata, style)
                }
            }
        }
        _ if object.text("kind") == "Status" => object.clone(),
        Convert::Metadata(version, false) => partial(object, version),
        Convert::Metadata(_, true) if target.resource.is_custom() => {
            return Err(Status::plain_error("content is not a list"));
        }
        Convert::Metadata(_, true) => {
            let kind = target.spoken().go_type();
            return Err(not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list (*{kind})"
            )));
        }
    };
    Ok(answer::object(code, &body, output))
}

/// A list: `metadata` is the list's.
pub(crate) fn list<'a>(
    api: &Api,
    request: &Request,
    target: &Target,
    objects: impl Iterator<Item = &'a Value>,
    metadata: Value,
    output: Output,
) -> Result<Answer, Status> {
    let body = match output.convert {
        Convert::Table(version) => {
            let style = Style {
                version,
                include: Include::read(request)?,
                headers: true,
            };
            table(api, target, objects, metadata, style)
        }
        Convert::Metadata(version, true) => {
            let items: Vec<Value> = objects.map(|object| partial(object, version)).collect();
            // Upstream makes no list of nothing here.
            let items = Some(items).filter(|items| !items.is_empty());
            json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata,
                "items": items,
            })
        }
        Convert::Metadata(_, false) => {
            let kind = target.resource.go_type();
            return Err(not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list (*{kind}List)"
            )));
        }
        Convert::Nothing => {
            let items: Vec<Value> = objects.map(|o| without_type(o, target)).collect();
            let mut metadata = metadata;
            if target.resource.is_custom() {
                metadata.default_to("continue", "");
            }
            json!({
                "kind": target.resource.list_kind(),
                "apiVersion": target.resource.api_version(),
                "metadata": metadata,
                "items": items,
            })
        }
    };
    Ok(answer::object(200, &body, output))
}

/// A list as a Table or of metadata, written from stored bytes: none of it becomes a tree but what the
/// cells of one row are made from. Nothing if that cannot be done.
pub(crate) fn list_of_bytes(
    api: &Api,
    request: &Request,
    target: &Target,
    found: &Found,
    metadata: &Value,
    output: Output,
) -> Result<Option<Vec<u8>>, Status> {
    let resource = &target.resource;
    if resource.converts() || found.entries.is_empty() || resource.metadata_alone_differs() {
        return Ok(None);
    }
    let style = |version| {
        Ok::<_, Status>(Style {
            version,
            include: Include::read(request)?,
            headers: true,
        })
    };
    Ok(match output.convert {
        Convert::Table(version) => Some(table::write(
            api,
            target,
            &found.entries,
            metadata,
            style(version)?,
        )),
        Convert::Metadata(version, true) => {
            let head = json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata,
            });
            let one = |out: &mut Vec<u8>, entry: &Arc<Entry>| write_partial(out, entry, version);
            Some(write_list(&head, "items", &found.entries, one))
        }
        _ => None,
    })
}

/// A list with everything but its items, and its items written one by one.
pub(crate) fn write_list(
    head: &Value,
    field: &str,
    entries: &[Arc<Entry>],
    mut one: impl FnMut(&mut Vec<u8>, &Arc<Entry>),
) -> Vec<u8> {
    let size: usize = entries.iter().map(|e| e.value.len() + 40).sum();
    let mut body = Vec::with_capacity(size + 200);
    // Writing JSON to memory does not fail.
    let _ = serde_json::to_writer(&mut body, head);
    body.pop();
    body.extend_from_slice(b",\"");
    body.extend_from_slice(field.as_bytes());
    body.extend_from_slice(b"\":[");
    for (i, entry) in entries.iter().enumerate() {
        if i > 0 {
            body.push(b',');
        }
        one(&mut body, entry);
    }
    body.extend_from_slice(b"]}");
    body
}

/// Appends the metadata of a stored object alone.
pub(crate) fn write_partial(out: &mut Vec<u8>, entry: &Entry, version: &str) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    glance::write_metadata(out, entry, entry.mod_revision);
    out.push(b'}');
}

fn not_acceptable(message: String) -> Status {
    Status::failure(406, "NotAcceptable", message)
}

/// Items of a list of a built-in kind do not repeat what they are.
fn without_type(object: &Value, target: &Target) -> Value {
    let mut object = object.clone();
    if !target.resource.is_custom() {
        object.unset("apiVersion");
        object.unset("kind");
    }
    object
}

/// The object's metadata alone.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": stowplan_kinds::metadata_alone(object),
    })
}
