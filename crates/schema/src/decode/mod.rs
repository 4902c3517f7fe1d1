//! Objects on their way in: from JSON to the form that Go would write after reading it.
//!
//! Upstream: `sigs.k8s.io/json` (a fork of Go's `encoding/json`) in its case-sensitive, strict mode,
//! and `k8s.io/apimachinery/pkg/runtime/converter.go` for what a strategic merge or an apply made.

mod error;
mod meta;
mod reader;
mod special;
mod unstructured;

pub use error::DecodeError;
pub use meta::{TypeMeta, type_meta};
pub use unstructured::from_unstructured;

pub(crate) use reader::float;
pub(crate) use special::schema_type;

use crate::room::MemoryBudget;
use crate::types::Type;
use reader::Reader;
use serde_json::Value;

/// An object that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Decoded {
    /// As Go would write it: unknown fields are gone, those that are always written are there.
    pub object: Value,
    /// Unknown and duplicate fields, in upstream's words and order: `unknown field "spec.x"`.
    pub problems: Vec<String>,
}

/// Reads JSON as a built-in type.
pub fn decode_json(ty: &Type, json: &[u8]) -> Result<Decoded, DecodeError> {
    Reader::new(json, true).whole(ty)
}

/// Reads a JSON value as a built-in type, with the messages of [`decode_json`].
pub fn decode(ty: &Type, value: &Value) -> Result<Decoded, DecodeError> {
    decode_json(ty, value.to_string().as_bytes())
}

/// Reads a JSON object of any type, as upstream reads a custom resource: whole numbers stay whole,
/// duplicate fields are told. What is no object is refused.
pub fn parse_json(json: &[u8]) -> Result<Decoded, DecodeError> {
    Reader::new(json, true).whole_object()
}

/// Reads JSON of any type, as it stands in a raw extension.
pub fn parse_any(json: &[u8]) -> Result<Value, DecodeError> {
    parse_inside(json, 0, &mut MemoryBudget::default())
}

/// The same, inside so many levels of something else that takes of the same room.
pub(crate) fn parse_inside(
    json: &[u8],
    depth: usize,
    room: &mut MemoryBudget,
) -> Result<Value, DecodeError> {
    match crate::json::problem(json) {
        Some(problem) => Err(DecodeError::text(problem)),
        None => reader::read_any(json, depth, room),
    }
}
