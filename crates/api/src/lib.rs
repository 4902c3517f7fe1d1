//! Kubernetes types in use, and what the API server would do to them: defaulting, validation,
//! effective requests.

pub mod decode;
pub mod defaults;
pub mod field;
pub mod load;
mod names;
pub mod prepare;
pub mod resource_names;
pub mod resources;
pub mod selector;
pub mod validation;
pub mod workloads;

pub use k8s_openapi as k8s;
