//! Faults of columns, selectable fields, subresources and conversion webhooks.

use serde_json::Value;
use std::collections::HashSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 9] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "name",
    "password",
];
/// How many fields may be selectable.
const SELECTABLE_MAX: usize = 8;

fn simple_path(path: &str, place: &Path<'_>) -> Option<Error> {
    let why = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| Error::invalid(place, path, why))
}

pub(super) fn column(column: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if column.text("name").is_empty() {
        errors.push(Error::required(&place.child("name"), ""));
    }
    let (kind, at) = (column.text("type"), place.child("type"));
    let why = format!("must be one of {}", TYPES.join(","));
    if kind.is_empty() {
        errors.push(Error::required(&at, why));
    } else if !TYPES.contains(&kind) {
        errors.push(Error::invalid(&at, kind, why));
    }
    let format = column.text("format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let why = format!("must be one of {}", FORMATS.join(","));
        errors.push(Error::invalid(&place.child("format"), format, why));
    }
    let (path, at) = (column.text("jsonPath"), place.child("JSONPath"));
    match path {
        "" => errors.push(Error::required(&at, "")),
        path => errors.extend(simple_path(path, &at)),
    }
    errors
}

pub(super) fn subresources(below: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let scale = below.at("scale");
    if scale.is_null() {
        return errors;
    }
    for (name, field, prefixes, under) in [
        (
            "scale.specReplicasPath",
            "specReplicasPath",
            &[".spec."][..],
            ".spec",
        ),
        (
            "scale.statusReplicasPath",
            "statusReplicasPath",
            &[".status."],
            ".status",
        ),
        (
            "scale.labelSelectorPath",
            "labelSelectorPath",
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ] {
        let (path, at) = (scale.text(field), place.child(name));
        if path.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(Error::required(&at, ""));
            }
        } else if let Some(error) = simple_path(path, &at) {
            errors.push(error);
        } else if !prefixes.iter().any(|prefix| path.starts_with(prefix)) {
            let why = format!("should be a json path under {under}");
            errors.push(Error::invalid(&at, path, why));
        }
    }
    errors
}

/// The delimiters and names of a path. Upstream: the scanner of `ValidFieldPath`.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let inner = rest.char_indices().skip(1);
                let close = inner.filter(|(i, c)| *c == '\'' && !rest[..*i].ends_with('\\'));
                close.map(|(i, _)| i + 1).next().unwrap_or(rest.len())
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Follows a path through a schema: its parts and the schema there.
pub(crate) fn field_path<'a>(
    path: &str,
    schema: &'a Value,
    arrays: bool,
) -> Result<(Vec<String>, &'a Value), String> {
    let mut tokens = tokens(path).into_iter();
    let (mut parts, mut here) = (Vec::new(), schema);
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if !arrays => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let name = tokens.next().ok_or_else(end)?;
                let inner = name.strip_prefix('\'').and_then(|n| n.strip_suffix('\''));
                let inner =
                    inner.ok_or_else(|| format!("expected single quoted string but got {name}"))?;
                match tokens.next().ok_or_else(end)? {
                    "]" => inner.replace("\\'", "'").replace("\\\\", "\\"),
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => tokens.next().ok_or_else(end)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let unknown = || "does not refer to a valid field".to_owned();
        here = if here.has("properties") {
            here.at("properties").get(&name).ok_or_else(unknown)?
        } else if here.has("additionalProperties") {
            here.at("additionalProperties")
        } else {
            return Err(unknown());
        };
        parts.push(name);
    }
    Ok((parts, here))
}

pub(super) fn selectable(list: &[Value], schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut seen: HashSet<Vec<String>> = HashSet::new();
    for (i, field) in list.iter().enumerate() {
        let at = place.index(i);
        let at = at.child("jsonPath");
        let path = field.text("jsonPath");
        if path.is_empty() {
            errors.push(Error::required(&at, ""));
            continue;
        }
        let (parts, found) = match field_path(path, schema, false) {
            Ok(found) => found,
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(Error::invalid(&at, path, why));
                continue;
            }
        };
        if parts.first().is_some_and(|first| first == "metadata") {
            let why = "must not point to fields in metadata";
            errors.push(Error::invalid(&at, path, why));
        }
        if !matches!(found.text("type"), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(Error::invalid(&at, path, why));
        }
        if !seen.insert(parts) {
            errors.push(Error::duplicate(&at, path));
        }
    }
    if seen.len() > SELECTABLE_MAX {
        errors.push(Error::too_many(place, seen.len(), SELECTABLE_MAX));
    }
    errors
}

pub(super) fn webhook_url(url: &str, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let form = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{form}");
        errors.push(Error::invalid(place, scheme, why));
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || scheme.is_empty() {
        let why = format!("host must be specified{form}");
        errors.push(Error::invalid(place, "", why));
    }
    errors
}

pub(super) fn webhook_service(service: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for (field, why) in [
        ("name", "service name is required"),
        ("namespace", "service namespace is required"),
    ] {
        if service.text(field).is_empty() {
            errors.push(Error::required(&place.child(field), why));
        }
    }
    let port = service.int("port").unwrap_or(443);
    for fault in names::port_number(port) {
        let why = format!("port is not valid: {fault}");
        errors.push(Error::invalid(&place.child("port"), port, why));
    }
    let path = service.text("path");
    if service.has("path") && !path.starts_with('/') {
        errors.push(Error::invalid(
            &place.child("path"),
            path,
            "must start with a '/'",
        ));
    }
    errors
}

pub(super) fn review_versions(versions: &[Value], place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if versions.is_empty() {
        errors.push(Error::required(place, ""));
        return errors;
    }
    let mut seen = HashSet::new();
    for (i, version) in versions.iter().enumerate() {
        let at = place.index(i);
        if !seen.insert(version) {
            errors.push(Error::invalid(&at, version, "duplicate version"));
            continue;
        }
        for fault in names::dns1035_label(version.as_str().unwrap_or_default()) {
            errors.push(Error::invalid(&at, version, fault));
        }
    }
    if !versions.iter().any(|v| v == "v1" || v == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(Error::invalid(place, Value::Array(versions.to_vec()), why));
    }
    errors
}
