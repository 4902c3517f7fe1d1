//! Types that read themselves.

use super::DecodeError;
use crate::go::Special;
use crate::json::Parser;
use crate::table::type_of;
use crate::time::Layout;
use crate::types::Type;
use serde_json::Value;
use stowplan_apimachinery::quantity::Quantity;

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// The type of a schema in a CustomResourceDefinition, which may hold others.
pub(crate) fn schema_type() -> Option<&'static Type> {
    type_of(SCHEMA)
}

/// Reads a value that is known to be JSON, and neither a schema nor raw JSON, which the reader
/// reads itself.
/// Errors are told as the type tells them, without the field.
pub(super) fn read(special: Special, raw: &[u8]) -> Result<Value, DecodeError> {
    match special {
        Special::Quantity => quantity(raw),
        Special::Time => time(Layout::Seconds, raw),
        Special::MicroTime => time(Layout::Micros, raw),
        Special::IntOrString => int_or_string(raw),
        Special::RawExtension | Special::FieldsV1 | Special::Json => Ok(Value::Null),
        Special::SchemaOrBool => match raw {
            b"true" => Ok(Value::Bool(true)),
            b"false" => Ok(Value::Bool(false)),
            _ => Err(DecodeError::text("boolean or JSON schema expected")),
        },
        Special::SchemaOrArray => Ok(Value::Null),
        Special::SchemaOrStringArray => match raw {
            [b'[', ..] => texts(raw),
            _ => Ok(Value::Null),
        },
    }
}

impl Special {
    /// Whether it is JSON that is kept as it is.
    pub(super) fn is_raw(self) -> bool {
        matches!(self, Self::RawExtension | Self::FieldsV1 | Self::Json)
    }

    /// Whether it may be a schema.
    pub(super) fn is_schema(self) -> bool {
        matches!(
            self,
            Self::SchemaOrBool | Self::SchemaOrArray | Self::SchemaOrStringArray
        )
    }

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
pub(super) fn word(raw: &[u8]) -> &'static str {
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

/// Reads a list of texts, which the type takes for nothing if it is empty.
fn texts(raw: &[u8]) -> Result<Value, DecodeError> {
    let mut parser = Parser::new(raw);
    parser.enter();
    let mut items = Vec::new();
    while let Ok(true) = parser.next_element(items.is_empty()) {
        let Ok(item) = parser.skip() else { break };
        items.push(Value::String(text(item)?));
    }
    match items.is_empty() {
        true => Ok(Value::Null),
        false => Ok(Value::Array(items)),
    }
}
