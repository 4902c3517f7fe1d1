//! Custom resources in the server: which are served, and the life of their definitions.

mod life;
mod overlap;
mod route;

pub(crate) use life::{FollowUp, entry, is_definition, mark, reconcile};
pub(crate) use route::check;
pub(crate) use stowplan_registry::Custom;
