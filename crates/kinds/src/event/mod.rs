//! Event, in the core group and in `events.k8s.io`.

mod convert;

pub use convert::{from_core, to_core};
