//! From the bytes of a request to an object in canonical form.

use crate::Resource;
use crate::registered::{is_registered, registered_type};
use serde_json::{Map, Value};
use std::borrow::Cow;
use stowplan_apimachinery::field::{Error, ErrorList};
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::{Edit, Status, View, meta};
use stowplan_schema::protobuf::{self, Envelope};
use stowplan_schema::yaml::{self, Converted};
use stowplan_schema::{DecodeError, Decoded, Type, TypeMeta};

/// How a body is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML, of which JSON is made first.
    Yaml,
    /// Protobuf in the envelope of Kubernetes.
    Protobuf,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// Tell.
    #[default]
    Warn,
    /// Refuse the object.
    Strict,
}

/// The object in a body, which has to be of the resource's kind, without the kind's defaults. `warn` is told
/// of unknown and duplicate fields, if the client is to be, even where the object is refused after that.
/// Upstream: the decoders of `runtime/serializer/codec_factory.go` and `transformDecodeError`.
pub fn object(
    body: &[u8],
    resource: &Resource,
    encoding: Encoding,
    validation: FieldValidation,
    warn: &mut dyn FnMut(String),
) -> Result<Value, Status> {
    let unrecognized = |why: String| {
        let kind = resource.kind();
        let summary = summary(body);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
        ))
    };
    let opened = open(body, encoding).map_err(unrecognized)?;
    if let Some(object) = opened.plain(resource) {
        return Ok(object);
    }
    let given = opened.meta().map_err(|e| unrecognized(e.to_string()))?;
    let (group, version) = match given.api_version.split('/').collect::<Vec<_>>()[..] {
        [""] if resource.is_custom() => ("", ""),
        [""] => (resource.group(), resource.version()),
        [version] => ("", version),
        [group, version] => (group, version),
        _ => {
            let text = &given.api_version;
            return Err(unrecognized(format!(
                "unexpected GroupVersion string: {text}"
            )));
        }
    };
    let kind = match given.kind.as_str() {
        "" if resource.is_custom() => {
            let shown = String::from_utf8_lossy(body);
            return Err(unrecognized(format!(
                "Object 'Kind' is missing in '{shown}'"
            )));
        }
        "" => resource.kind(),
        kind => kind,
    };
    let mishandled = |why: &str| {
        Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: {why}",
            quote(version),
            resource.kind()
        ))
    };
    if let Err(why) = check_kind(resource, group, version, kind) {
        // Upstream reads it as what it says it is first.
        let read = opened.read_as(registered_type(group, version, kind));
        return Err(mishandled(
            &read.err().map_or(why, |error| error.to_string()),
        ));
    }
    // An object of another version is read as what it says it is; that it is one is told below.
    let own = group == resource.group() && version == resource.version();
    let decoded = match own || resource.is_custom() || is_older(resource, version) {
        true => opened.decode(resource),
        false => opened.decode_as(registered_type(group, version, kind)),
    };
    let decoded = decoded.map_err(|e| mishandled(&e.to_string()))?;
    let object = validated(decoded, validation, warn).map_err(|why| mishandled(&why))?;
    check_version(resource, group, version)?;
    Ok(object)
}

/// Reads an object of the kind. An empty `managedFields` is no value in canonical form, but it asks
/// for something, so it is kept.
pub fn decode(resource: &Resource, json: &[u8]) -> Result<Decoded, DecodeError> {
    let mut decoded = resource.decode(json)?;
    const FIELD: &[u8] = b"\"managedFields\"";
    if !decoded.object.at("metadata").has("managedFields")
        && memchr::memmem::find(json, FIELD).is_some()
    {
        let raw = stowplan_schema::parse_any(json).unwrap_or_default();
        let asked = raw.at("metadata").at("managedFields");
        if asked.is_array() {
            let asked = asked.clone();
            decoded
                .object
                .at_mut("metadata")
                .set("managedFields", asked);
        }
    }
    Ok(decoded)
}

/// Puts the kind in and what the kind defaults.
pub fn finished(resource: &Resource, mut object: Value) -> Value {
    // What a custom resource says it is, its rules judge.
    if !resource.is_custom() {
        object.set("apiVersion", resource.api_version());
        object.set("kind", resource.kind());
    }
    resource.strategy().set_defaults(&mut object);
    object
}

/// What is wrong with the kind that an object says it is.
pub fn check_kind(
    resource: &Resource,
    group: &str,
    version: &str,
    kind: &str,
) -> Result<(), String> {
    if resource.is_custom() {
        return Ok(());
    }
    // Events of both groups are one kind.
    let group_of = |group: &str| match (group, kind) {
        ("events.k8s.io", "Event") => String::new(),
        (group, _) => group.to_owned(),
    };
    let same = kind == resource.kind() && group_of(group) == group_of(resource.group());
    if same && is_older(resource, version) {
        return Ok(());
    }
    match is_registered(group, version, kind) {
        // Another version is told apart later, in other words.
        true if same => Ok(()),
        true => Err(format!(
            "converting ({version}.{kind}) to ({}): unknown conversion",
            resource.go_type()
        )),
        false => Err(not_registered(&meta::api_version(group, version), kind)),
    }
}

/// What upstream says of a kind that nobody knows.
fn not_registered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(kind),
        quote(api_version)
    )
}

/// Evictions may still be written as they were before.
fn is_older(resource: &Resource, version: &str) -> bool {
    resource.kind() == "Eviction" && version == "v1beta1"
}

fn check_version(resource: &Resource, group: &str, version: &str) -> Result<(), Status> {
    let given = meta::api_version(group, version);
    let wanted = resource.api_version();
    match is_older(resource, version) || given == wanted {
        true => Ok(()),
        false => Err(Status::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({wanted})"
        ))),
    }
}

/// The object, if unknown and duplicate fields do not matter or are told.
fn validated(
    decoded: Decoded,
    validation: FieldValidation,
    warn: &mut dyn FnMut(String),
) -> Result<Value, String> {
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => decoded.problems.into_iter().for_each(warn),
        FieldValidation::Strict if decoded.problems.is_empty() => {}
        FieldValidation::Strict => return Err(strict_error(&decoded.problems)),
    }
    Ok(decoded.object)
}

/// All problems in one sentence. Upstream: `runtime.NewStrictDecodingError`.
pub fn strict_error(problems: &[String]) -> String {
    format!("strict decoding error: {}", problems.join(", "))
}

/// A body whose encoding has been undone as far as its kind can be read.
enum Opened<'a> {
    /// With the duplicate keys that a YAML document had.
    Json(Cow<'a, [u8]>, Vec<String>),
    Protobuf(Envelope<'a>),
}

fn open(body: &[u8], encoding: Encoding) -> Result<Opened<'_>, String> {
    match encoding {
        Encoding::Json => Ok(Opened::Json(Cow::Borrowed(body), Vec::new())),
        Encoding::Yaml => {
            let Converted { json, problems } = yaml::to_json(body)?;
            Ok(Opened::Json(Cow::Owned(json), problems))
        }
        Encoding::Protobuf => {
            let envelope = protobuf::envelope(body).map_err(|e| e.to_string())?;
            Ok(Opened::Protobuf(envelope))
        }
    }
}

impl Opened<'_> {
    /// The kind that the object says it is.
    fn meta(&self) -> Result<TypeMeta, DecodeError> {
        match self {
            Self::Json(json, _) => stowplan_schema::type_meta(json),
            Self::Protobuf(envelope) => Ok(envelope.meta.clone()),
        }
    }

    /// Reads an object of a type, if there is one, only to see whether it can be.
    fn read_as(&self, ty: Option<&'static Type>) -> Result<(), DecodeError> {
        match (self, ty) {
            (Self::Json(json, _), Some(ty)) => stowplan_schema::decode_json(ty, json).map(drop),
            _ => Ok(()),
        }
    }

    /// The same, with what was found on the way.
    fn decode_as(&self, ty: Option<&'static Type>) -> Result<Decoded, DecodeError> {
        match (self, ty) {
            (Self::Json(json, problems), Some(ty)) => {
                let mut decoded = stowplan_schema::decode_json(ty, json)?;
                decoded.problems.splice(0..0, problems.iter().cloned());
                Ok(decoded)
            }
            _ => Ok(Decoded {
                object: Value::Null,
                problems: Vec::new(),
            }),
        }
    }

    /// The object, if nothing is wrong with it and it is of the kind that is asked for: then one reading
    /// is enough. Otherwise what is said depends on what is found first.
    fn plain(&self, resource: &Resource) -> Option<Value> {
        if resource.is_custom() || matches!(self, Self::Protobuf(_)) {
            return None;
        }
        let decoded = self.decode(resource).ok()?;
        let fits = |field, own: &str| [own, ""].contains(&decoded.object.text(field));
        // A kind under another spelling of the field's name would be a problem.
        let is_plain = decoded.problems.is_empty()
            && fits("apiVersion", &resource.api_version())
            && fits("kind", resource.kind());
        is_plain.then_some(decoded.object)
    }

    fn decode(&self, resource: &Resource) -> Result<Decoded, DecodeError> {
        match self {
            Self::Json(json, problems) => {
                let mut decoded = decode(resource, json)?;
                decoded.problems.splice(0..0, problems.iter().cloned());
                Ok(decoded)
            }
            Self::Protobuf(envelope) => Ok(Decoded {
                object: resource.decode_protobuf(envelope.raw)?,
                problems: Vec::new(),
            }),
        }
    }
}

/// What a body says, before decoding takes away what is empty; null if it is no JSON or YAML.
pub fn given(body: &[u8], encoding: Encoding) -> Value {
    match open(body, encoding) {
        Ok(Opened::Json(json, _)) => stowplan_schema::parse_any(&json).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// Where a fault prints a map that is not there, says `{}` if there was an empty one in what was given:
/// the two are the same in canonical form, but not in Go.
pub(crate) fn tell_empty_maps(given: &dyn Fn() -> Value, errors: &mut ErrorList) {
    let absent = |error: &&mut Error| error.value.as_deref() == Some("null");
    let mut errors = errors.iter_mut().filter(absent).peekable();
    if errors.peek().is_none() {
        return;
    }
    let given = given();
    for error in errors {
        let place = error
            .field
            .split('.')
            .fold(&given, |at, field| at.at(field));
        if place.as_object().is_some_and(Map::is_empty) {
            error.value = Some("{}".to_owned());
        }
    }
}

/// The beginning of a body. Upstream: `summarizeData`.
fn summary(body: &[u8]) -> String {
    const BYTES_MAX: usize = 30;
    let (shown, more) = match body.get(..BYTES_MAX) {
        Some(start) if body.len() > BYTES_MAX => (start, " ..."),
        _ => (body, ""),
    };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

/// `DeleteOptions` in a body, of whatever version.
pub fn delete_options(body: &[u8], encoding: Encoding) -> Result<Value, Status> {
    let bad = Status::bad_request;
    let body = open(body, encoding).map_err(bad)?;
    let TypeMeta { api_version, kind } = body.meta().map_err(|e| bad(e.to_string()))?;
    if !matches!(kind.as_str(), "" | "DeleteOptions") {
        let api_version = match api_version.as_str() {
            "" => "meta.k8s.io/v1",
            given => given,
        };
        return Err(bad(not_registered(api_version, &kind)));
    }
    let ty = stowplan_schema::type_of("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    let ty = ty.unwrap_or(&stowplan_schema::DEDUCED);
    let object = match body {
        Opened::Json(json, _) => stowplan_schema::decode_json(ty, &json).map(|d| d.object),
        Opened::Protobuf(envelope) => protobuf::decode(ty, envelope.raw),
    };
    object.map_err(|e| bad(e.to_string()))
}
