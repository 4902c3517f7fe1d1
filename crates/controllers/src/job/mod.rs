//! Jobs. Upstream: `pkg/controller/job`.

pub(crate) mod util;
