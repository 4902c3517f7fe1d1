//! The Common Expression Language, as Kubernetes speaks it: reading, checking, costs, evaluation, and
//! the libraries that Kubernetes adds.
//!
//! Upstream: `github.com/google/cel-go` v0.26 in the environment of `k8s.io/apiserver/pkg/cel` 0.36.
//!
//! ```
//! use serde_json::json;
//! use stowplan_cel::{Program, Val, schema};
//!
//! // Who offers expressions says which variables there are, and describes each by a schema.
//! let device = json!({"type": "object", "properties": {
//!     "driver": {"type": "string", "maxLength": 63},
//!     "attributes": {"type": "object", "maxProperties": 32, "additionalProperties": {
//!         "type": "object", "maxProperties": 32, "additionalProperties": {}}}}});
//! let program = Program::parse("device.driver == 'gpu' && device.attributes['x.io'].slots > 2")?;
//! assert!(program.uses("device"));
//! assert!(program.cost_max(&[("device", &device)]) < 1_000);
//!
//! // A run is given their values: from JSON, or made of values.
//! let own = json!({"driver": "gpu", "attributes": {"x.io": {"slots": 4}}});
//! let run = program.run(&[("device", schema::value(&own, &device))]);
//! assert_eq!(run.outcome, Ok(Val::Bool(true)));
//! assert_eq!(run.cost, 8);
//! # Ok::<(), String>(())
//! ```
//!
//! There is no type checker: what a value cannot do is found when an expression is run. What is not
//! part of the language here fails with a message of its own.

#![deny(clippy::disallowed_methods)]

mod constants;
mod estimate;
mod eval;
mod expr;
mod fold;
mod formatting;
mod functions;
mod kubernetes;
mod lists;
mod meter;
mod parse;
mod program;
mod room;
pub mod schema;
mod text;
mod times;
mod value;

pub use estimate::size_max;
pub use program::{EvalError, Program, Run};
pub use value::{Entries, List, Val};

#[cfg(test)]
mod tests;
