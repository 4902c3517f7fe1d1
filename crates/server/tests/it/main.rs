//! The server as its clients meet it, in process.

mod client;
mod contention;
mod nesting;
mod streams;
mod uploads;
mod versions;
mod watches;
