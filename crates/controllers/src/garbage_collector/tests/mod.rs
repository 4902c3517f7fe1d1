//! Tests of the garbage collector: tables for the graph and for attempts, and random histories.

mod attempts;
mod graph;
mod history;
mod server;
mod world;
