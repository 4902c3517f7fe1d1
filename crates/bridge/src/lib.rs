//! Between the API and the engine: API objects in, verdicts out.

pub mod config;
pub mod convert;
pub mod effective;
pub mod effects;
pub mod resources;
