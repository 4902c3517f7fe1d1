//! Stowplan oracle.
