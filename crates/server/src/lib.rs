//! The embedded Kubernetes API server.
//!
//! [`Api`] answers `http::Request`s; nothing in it knows of sockets. What a request goes through:
//! `api` (who asks, body) → `dispatch` (which resource, which verb) → `verbs` (the steps of that
//! verb, in upstream's order) → `storage` (objects as bytes under keys).

#![deny(clippy::unwrap_used)]

mod addresses;
mod advertise;
mod answer;
mod api;
mod audit;
mod bootstrap;
mod clock;
mod computed;
mod converted;
mod crd;
mod decisions;
mod decode;
mod discovery;
mod dispatch;
mod expiry;
mod flowcontrol;
mod gate;
mod health;
mod issuer;
pub mod limits;
mod metrics;
mod negotiate;
mod openapi;
mod pages;
mod provider;
mod rbac;
mod request;
mod resource;
mod route;
mod select;
mod storage;
mod subresources;
mod table;
#[cfg(test)]
mod testing;
mod transform;
mod verbs;

pub use answer::Answer;
pub use api::{Api, Config};
pub use audit::Log as AuditLog;
pub use decisions::{DecisionAnswer, Decisions, Reader};
pub use metrics::{Sample, Usage, Used};
pub use provider::{
    Answering, Attached, ExecOptions, LogOptions, Outcome, PIECE_BYTES_MAX, PIECES_MAX, PortStream,
    Provider, Session, StreamOptions, TerminalSize,
};
pub use stowplan_apimachinery::Status;
pub use stowplan_auth::{User, token};
