//! Environments in which components run: [`System`] has the machine's clock, [`Scaled`] one that runs faster,
//! [`virtual_runtime`] runs everything on one thread and a clock that jumps.
//!
//! **Invariant:** no other part of the product reads a clock or sleeps on its own; connections are the
//! one exception, which know no other time than the machine's.

mod late;
mod scaled;
mod system;
mod virtual_runtime;

pub use late::{Late, timeout, timeout_at};
pub use scaled::Scaled;
pub use stowplan_base::{Env, Sleep, Time, Virtual};
pub use system::{Stopwatch, System, stopwatch_ns, wall_clock};
pub use virtual_runtime::virtual_runtime;
