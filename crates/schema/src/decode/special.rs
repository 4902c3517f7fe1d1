//! Types that read themselves.

use super::DecodeError;
use super::reader::{self, Reader};
use crate::go::Special;
use crate::json::Parser;
use crate::table::type_of;
use crate::time::Layout;
use crate::types::Type;
use serde_json::Value;
use stowplan_machinery::quantity::Quantity;

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// The type of a schema in a CustomResourceDefinition, which may hold others.
pub(crate) fn schema_type() -> Option<&'static Type> {
    type_of(SCHEMA)
}

/// Reads a value that is known to be JSON. Errors are told as the type tells them, without the
/// field.
pub(super) fn read(special: Special, raw: &[u8], depth: usize) -> Result<Value, DecodeError> {
    match special {
        Special::Quantity => quantity(raw),
        Special::Time => time(Layout::Seconds, raw),
        Special::MicroTime => time(Layout::Micros, raw),
        Special::IntOrString => int_or_string(raw),
        Special::RawExtension | Special::FieldsV1 | Special::Json => reader::read_any(raw, depth),
        Special::SchemaOrBool => match raw {
            b"true" => Ok(Value::Bool(true)),
            b"false" => Ok(Value::Bool(false)),
            [b'{', ..] => schema(raw, depth),
            _ => Err(DecodeError::text("boolean or JSON schema expected")),
        },
        Special::SchemaOrArray => match raw {
            [b'{', ..] => schema(raw, depth),
            [b'[', ..] => list(raw, "v1.JSONSchemaProps", |item| schema(item, depth)),
            _ => Ok(Value::Null),
        },
        Special::SchemaOrStringArray => match raw {
            [b'{', ..] => schema(raw, depth),
            [b'[', ..] => list(raw, "string", |item| text(item).map(Value::String)),
            _ => Ok(Value::Null),
        },
    }
}

impl Special {
    /// Whether a null leaves what was there before: it matters to fields that are given twice.
    pub(super) fn keeps(self, value: &Value) -> bool {
        match self {
            Self::RawExtension | Self::FieldsV1 | Self::Json => true,
            Self::IntOrString => value.is_number(),
            _ => false,
        }
    }
}

fn quantity(raw: &[u8]) -> Result<Value, DecodeError> {
    if raw == b"null" {
        return Ok(Value::from("0"));
    }
    // Upstream looks at the text between the quotes as it is, escapes and all.
    let inner = raw
        .strip_prefix(b"\"")
        .and_then(|raw| raw.strip_suffix(b"\""));
    let text = String::from_utf8_lossy(inner.unwrap_or(raw));
    match Quantity::parse(text.trim()) {
        Ok(quantity) => Ok(Value::String(quantity.to_string())),
        Err(error) => Err(DecodeError::text(error.to_string())),
    }
}

fn time(layout: Layout, raw: &[u8]) -> Result<Value, DecodeError> {
    if raw == b"null" {
        return Ok(Value::Null);
    }
    let parsed = layout.parse(&text(raw)?).map_err(DecodeError::text)?;
    Ok(layout.print(parsed).map_or(Value::Null, Value::String))
}

fn int_or_string(raw: &[u8]) -> Result<Value, DecodeError> {
    match raw.first() {
        Some(b'"') => Ok(Value::String(text(raw)?)),
        Some(b'n') => Ok(Value::from(0)),
        Some(b'-' | b'0'..=b'9') => {
            let number = String::from_utf8_lossy(raw);
            match number.parse::<i32>() {
                Ok(number) => Ok(Value::from(number)),
                Err(_) => Err(DecodeError::of_type(format!("number {number}"), "int32")),
            }
        }
        _ => Err(DecodeError::of_type(word(raw), "int32")),
    }
}

/// What Go calls a JSON value.
fn word(raw: &[u8]) -> &'static str {
    match raw.first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        _ => "number",
    }
}

fn text(raw: &[u8]) -> Result<String, DecodeError> {
    match raw.first() {
        Some(b'"') => match Parser::new(raw).string() {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Ok(String::new()),
        },
        Some(b'n') => Ok(String::new()),
        _ => Err(DecodeError::of_type(word(raw), "string")),
    }
}

fn schema(raw: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let Some(ty) = schema_type() else {
        return Ok(Value::Null);
    };
    let mut reader = Reader::new(raw, false);
    reader.start_at(depth);
    Ok(reader.whole(ty)?.object)
}

/// Reads a list, which the type takes for nothing if it is empty.
fn list(
    raw: &[u8],
    ty: &str,
    read: impl Fn(&[u8]) -> Result<Value, DecodeError>,
) -> Result<Value, DecodeError> {
    let mut parser = Parser::new(raw);
    parser.enter();
    let mut items = Vec::new();
    let mut error = None;
    while let Ok(true) = parser.next_element(items.is_empty()) {
        let Ok(item) = parser.skip() else { break };
        let fits = match ty {
            "string" => matches!(item.first(), Some(b'"' | b'n')),
            _ => matches!(item.first(), Some(b'{' | b'n')),
        };
        let item = match fits {
            true => read(item),
            false => Err(DecodeError::of_type(word(item), ty)),
        };
        match item {
            Ok(item) => items.push(item),
            Err(first) => {
                items.push(Value::Null);
                error.get_or_insert(first);
            }
        }
    }
    match error {
        Some(error) => Err(error),
        None if items.is_empty() => Ok(Value::Null),
        None => Ok(Value::Array(items)),
    }
}
