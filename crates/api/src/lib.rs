//! Kubernetes types in use, and what the API server would do to them: defaulting, validation,
//! effective requests.

pub mod config;
pub mod parse;

pub use k8s_openapi as k8s;

pub mod resources;
