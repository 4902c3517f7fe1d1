//! Custom resources: their definitions, structural schemas, pruning, defaulting, validation.
//!
//! A schema is the `openAPIV3Schema` of a CustomResourceDefinition, as JSON. The functions here are
//! upstream's algorithms (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema` and
//! `k8s.io/kube-openapi/pkg/validation`) over plain values.
//!
//! [`Definition`] is what a CustomResourceDefinition comes to, [`Version`] one of its versions:
//! objects in, objects out, and their rules as a [`stowplan_kinds::Strategy`].

#![deny(clippy::disallowed_methods)]

mod check;
mod columns;
mod counterparts;
pub mod default;
mod define;
mod definition;
mod embedded;
mod json_path;
pub mod list_type;
pub mod names;
mod object;
pub mod prune;
mod rules;
mod scale;
mod strategy;
mod types;
pub mod validate;

pub use columns::Column;
pub use define::{CLEANUP, DefinitionStatus, Definitions};
pub use definition::{Definition, Version};
pub use scale::Scale;
pub use strategy::Rules;
