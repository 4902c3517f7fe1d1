//! One entry per kind: names, defaults, validation, columns.
//!
//! The entries are in [`table`]; what a kind does beyond its entry is its [`Strategy`]. Nothing
//! here knows of HTTP, the store or the clock.

#![deny(clippy::disallowed_methods)]

mod autoscaler;
mod batch;
pub mod columns;
pub mod common;
mod conversion;
mod core_group;
mod device;
mod disruption_budget;
mod endpoint_slice;
pub mod event;
mod fields;
mod kind;
mod lease;
mod networking;
mod plain;
pub mod pod;
mod priority_class;
mod rbac;
pub mod review;
mod runtime_class;
pub mod service;
mod storage;
mod strategy;
mod subresource;
pub mod table;
#[cfg(test)]
mod tests;
mod volume;
mod workloads;

pub use conversion::{Conversion, Forms};
pub use fields::{Fields, Refusal};
pub use kind::{Kind, Scope, Subresource};
pub use priority_class::SYSTEM as SYSTEM_PRIORITY_CLASSES;
pub(crate) use strategy::ReturnsDeletedObject;
pub use strategy::{Context, CreateStrategy, DeleteStrategy, Strategy, UpdateStrategy};
pub use workloads::metadata_alone;
