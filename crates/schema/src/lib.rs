//! The table of the API's types, and what follows from it: decoding, protobuf, OpenAPI.
//!
//! The table is generated from the Go types and OpenAPI definitions of Kubernetes 1.36.4 by
//! `cargo xtask schema`. [`type_of`] finds a built-in type; custom resources build theirs from
//! [`Type::new`]. [`decode_json`] and its kin make the *canonical form* of an object: the JSON that
//! Go would write after reading it into its struct.

#![deny(clippy::disallowed_methods)]

mod decode;
mod dump;
mod go;
mod json;
pub mod openapi;
pub mod protobuf;
mod room;
mod stored;
mod table;
mod time;
mod types;
pub mod yaml;
mod zero;

pub use decode::{
    DecodeError, Decoded, TypeMeta, decode, decode_json, from_unstructured, parse_any, parse_json,
    type_meta,
};
pub use dump::dump_for_hash;
pub use stored::to_stored_form;
pub use table::{type_names, type_of};
pub use types::{DEDUCED, Field, List, ListKind, Object, Scalar, Type, TypeRef, UNTYPED};
