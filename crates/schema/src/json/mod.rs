//! Reading JSON as Go reads it.
//!
//! `serde_json` would refuse what Go accepts (bad UTF-8, lone surrogates), and forgets what Go's
//! messages quote (how a number was written, duplicate keys). What is accepted here is exactly what
//! Go's scanner accepts, up to the depth of nesting.

mod parser;
mod syntax;

pub(crate) use parser::{Bad, Parser};
pub(crate) use syntax::problem;
