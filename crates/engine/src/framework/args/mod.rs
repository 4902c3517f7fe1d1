//! Arguments of plugins: what a profile's `pluginConfig` says, read, defaulted and validated by the
//! plugin itself.
//!
//! ```text
//! YAML, JSON ──outside──▶ ArgValue ──Args::decode──▶ the plugin's own struct
//!                                        │
//!                                        └──▶ errors by field; the arguments with their defaults
//! ```

mod decode;
mod field;
mod value;

pub use decode::{ArgErrors, ArgNames, Args, Fields, FromArg};
pub use field::{FieldError, FieldErrors, FieldPath};
pub use value::ArgValue;
