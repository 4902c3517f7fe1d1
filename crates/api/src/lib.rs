//! The typed views of Kubernetes objects that scheduling reads, and KubeSchedulerConfiguration.

pub mod config;
pub mod field;
pub mod load;
mod names;
pub mod resource_names;

pub use k8s_openapi as k8s;
