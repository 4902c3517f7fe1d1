//! What every part of the API server speaks: JSON objects, field errors, `Status`, selectors, names.
//!
//! Objects are `serde_json::Value`s in the form in which Go's encoder would write them (see the
//! `schema` crate, which makes that form). Upstream: `k8s.io/apimachinery` 0.36.4.

#![deny(clippy::disallowed_methods)]

pub mod field;
pub mod fields;
pub mod go;
pub mod json;
pub mod kept;
pub mod labels;
pub mod limits;
pub mod lookup;
pub mod meta;
pub mod names;
pub mod quantity;
pub mod regexp;
pub mod resources;
mod status;
pub mod strfmt;
pub mod versions;
mod view;

pub use serde_json::{Map, Value, json};
pub use status::{Cause, Status};
pub use view::{Edit, View};
