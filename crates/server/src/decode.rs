//! From the bytes of a request to an object in canonical form.

use crate::negotiate::MEDIA_TYPES;
use crate::request::options::FieldValidation;
use crate::request::{Request, Target};
use serde_json::Value;
use stowplan_machinery::{Edit, Status, View};

/// 415.
pub(crate) fn unsupported_media_type(known: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {known}"
    );
    Status::failure(415, "UnsupportedMediaType", message)
}

/// How a body is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// The encoding that Content-Type names. Upstream: `NegotiateInputSerializer`.
pub(crate) fn encoding(request: &Request) -> Result<Encoding, Status> {
    let header = request.header("content-type");
    let kind = header.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "" if header.is_empty() => Ok(Encoding::Json),
        "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(unsupported_media_type(MEDIA_TYPES)),
    }
}

/// The object in a body, which has to be of the target's kind.
pub(crate) fn body(
    request: &Request,
    target: &Target,
    encoding: Encoding,
    _validation: FieldValidation,
) -> Result<Value, Status> {
    let kind = target.resource.kind();
    let unrecognized = |why: String| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why}"
        ))
    };
    let mut object = parse(request, encoding).map_err(unrecognized)?;
    let api_version = target.resource.api_version();
    let given = object.text("apiVersion");
    if !given.is_empty() && given != api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({api_version})"
        )));
    }
    object.set("apiVersion", api_version);
    object.set("kind", kind);
    Ok(object)
}

/// `DeleteOptions` in a body, of whatever version.
pub(crate) fn delete_options(request: &Request) -> Result<Value, Status> {
    let body = parse(request, encoding(request)?).map_err(Status::bad_request)?;
    match body.text("kind") {
        "" | "DeleteOptions" => Ok(body),
        kind => {
            let version = stowplan_machinery::go::quote(body.text("apiVersion"));
            let kind = stowplan_machinery::go::quote(kind);
            Err(Status::bad_request(format!(
                "no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\""
            )))
        }
    }
}

fn parse(request: &Request, encoding: Encoding) -> Result<Value, String> {
    match encoding {
        Encoding::Json => serde_json::from_slice(&request.body).map_err(|e| e.to_string()),
        Encoding::Yaml | Encoding::Protobuf => {
            serde_yaml_ng::from_slice(&request.body).map_err(|e| e.to_string())
        }
    }
}
