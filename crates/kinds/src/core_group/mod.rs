//! Kinds of the core group that are neither pods nor workloads.

pub(crate) mod config_map;
pub(crate) mod endpoints;
pub(crate) mod limit_range;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod resource_quota;
pub(crate) mod secret;
pub(crate) mod service_account;
