//! The table of the API's types, and what follows from it: decoding, protobuf, OpenAPI.
//!
//! The table is generated from the Go types and OpenAPI definitions of Kubernetes 1.36.4 by
//! `cargo xtask schema`. [`type_of`] finds a built-in type; custom resources build theirs from
//! [`Type::new`].

#[allow(dead_code, reason = "for decoding, which follows")]
mod go;
mod table;
#[allow(dead_code, reason = "for decoding, which follows")]
mod types;

pub use table::{type_names, type_of};
pub use types::{DEDUCED, Field, List, ListKind, Object, Scalar, Type, TypeRef, UNTYPED};
