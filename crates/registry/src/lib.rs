//! The road for objects: what happens to an object between its bytes and the store.
//!
//! ```text
//! bytes ──decode──▶ object ──defaults──▶ mutating admission ──▶ prepare ──▶ validate ──▶ validating admission
//! ```
//!
//! [`decode`] reads, [`Write`] does the rest, in upstream's order, because messages show the order. There
//! is no store here and no clock: other objects come through a `Lookup`, time and uids through
//! [`Stamps`]. The API server walks this road inside its transaction, and whoever reads files walks the
//! same one ([`Write::create`] for what is new, [`stored`] for what a server has already accepted).
//!
//! Upstream: `k8s.io/apiserver/pkg/registry/rest` and `endpoints/handlers`.

#![deny(clippy::disallowed_methods)]

mod custom;
pub mod decode;
mod registered;
mod resource;
mod stored;
mod versions;
mod write;

pub use custom::{Custom, VERBS};
pub use resource::{BuiltIn, Resource, served};
pub use stored::stored;
pub use write::{Stamps, Write, wipe};
