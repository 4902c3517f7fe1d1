//! The typed views of Kubernetes objects that scheduling reads.

pub mod load;
pub mod resource_names;

pub use k8s_openapi as k8s;
