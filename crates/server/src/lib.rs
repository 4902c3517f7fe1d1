//! The embedded Kubernetes API.
