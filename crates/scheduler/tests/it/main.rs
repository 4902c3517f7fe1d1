//! The live scheduler against the embedded API server, in process.
//!
//! Nothing here waits for a while: it waits until something is so, and gives up only when a test
//! hangs.

mod answers;
mod cluster;
mod constraints;
mod extenders;
mod faults;
mod placement;
mod preemption;
mod proxy;
mod status;
mod volumes;
