//! One entry per kind: names, defaults, validation, columns.
//!
//! The entries are in [`table`]; what a kind does beyond its entry is its [`Strategy`]. Nothing
//! here knows of HTTP, the store or the clock.

pub mod columns;
pub mod common;
pub mod event;
mod fields;
mod kind;
mod plain;
mod strategy;
pub mod table;

pub use fields::{Fields, Refusal};
pub use kind::{Kind, Scope, Subresource};
pub use strategy::{Context, Strategy};
