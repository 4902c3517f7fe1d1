//! Objects as clients want to see them: whole, as metadata, as rows of a Table.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{Convert, Output};
use crate::request::{Request, Target};
use crate::table::{self, Include, Style, table};
use serde_json::{Value, json};
use stowplan_machinery::{Edit, Status, View};

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
