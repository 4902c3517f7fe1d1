//! From the bytes of a request to an object in canonical form.

use crate::negotiate::MEDIA_TYPES;
use crate::request::options::FieldValidation;
use crate::request::{Request, Sent};
use crate::resource::Resource;
use http::Method;
use serde_json::Value;
use stowplan_apimachinery::Status;
use stowplan_registry::decode;
pub(crate) use stowplan_registry::decode::{Encoding, check_kind, decode, finished, strict_error};

/// 415.
pub(crate) fn unsupported_media_type(known: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {known}"
    );
    Status::failure(415, "UnsupportedMediaType", message)
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

/// The object in the body, which has to be of the resource's kind, with the kind's defaults. The client
/// is told of unknown and duplicate fields.
pub(crate) fn object(
    request: &Request,
    resource: &Resource,
    encoding: Encoding,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let warn = &mut |problem| request.warn(problem);
    let object = decode::object(&request.body, resource, encoding, validation, warn)?;
    // Upstream looks at the first object only.
    request.sent.get_or_init(|| Sent::of(&object));
    Ok(finished(resource, object))
}

/// What the body of a write of a whole object says, or null: decoding takes away what is empty.
pub(crate) fn given(request: &Request) -> Value {
    match (&request.method, encoding(request)) {
        (&Method::POST | &Method::PUT, Ok(encoding)) => decode::given(&request.body, encoding),
        _ => Value::Null,
    }
}

/// `DeleteOptions` in the body, of whatever version.
pub(crate) fn delete_options(request: &Request) -> Result<Value, Status> {
    decode::delete_options(&request.body, encoding(request)?)
}
