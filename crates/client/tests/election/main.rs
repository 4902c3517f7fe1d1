//! Candidates and a Lease under a virtual clock: requests and answers take their time or get lost,
//! candidates stop, die and sleep.

mod turns;
mod world;
