//! Objects as clients want to see them: whole, as metadata, as rows of a Table.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{Convert, Output};
use crate::request::{Request, Target};
use serde_json::{Value, json};
use stowplan_machinery::{Status, View};

/// One object. Upstream: `transformResponseObject`.
pub(crate) fn object(
    _api: &Api,
    _request: &Request,
    _target: &Target,
    code: u16,
    object: &Value,
    output: Output,
) -> Result<Answer, Status> {
    match output.convert {
        Convert::Nothing | Convert::Table(_) => Ok(answer::object(code, object, output)),
        Convert::Metadata(version, false) => {
            let body = partial(object, version);
            Ok(answer::object(code, &body, output))
        }
        Convert::Metadata(_, true) => Err(Status::failure(
            406,
            "NotAcceptable",
            "you requested PartialObjectMetadataList, but the requested object is not a list",
        )),
    }
}

/// The object's metadata alone.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.at("metadata"),
    })
}
