//! Event, in the core group and in `events.k8s.io`.

mod convert;
mod strategy;

pub use convert::{from_core, to_core};
pub(crate) use strategy::{Event, EventV1, FIELDS, FIELDS_V1};
