//! The queue against what is obvious.

mod twin;
mod whole;
