//! The `stowplan` binary.
fn main() {}
