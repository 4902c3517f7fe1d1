//! The typed views of Kubernetes objects that scheduling reads.

pub mod load;

pub use k8s_openapi as k8s;
