//! The server as its clients meet it, in process.

mod client;
mod contention;
mod nesting;
mod uploads;
mod versions;
mod watches;
