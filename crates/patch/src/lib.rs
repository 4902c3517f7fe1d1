//! The four kinds of patch, and who owns which field.
//!
//! Everything here is a function of its arguments. The order of steps around them is upstream's
//! (`apiserver/pkg/endpoints/handlers/{create,update,patch}.go`); "canonical" is the form of the
//! schema crate, and a write that meets a newer object begins again at its first step.
//!
//! | step | create, PUT | JSON and merge patch | strategic merge patch | apply |
//! |---|---|---|---|---|
//! | read the body | canonical | [`JsonPatch::decode`], [`merge_patch::decode`] | [`strategic::decode`] | YAML to a value |
//! | patch the live object | – | [`JsonPatch::apply`], [`merge_patch::apply`] | [`strategic::apply`] | [`managed::apply`] |
//! | canonical form, unknown fields | (above) | as a body; a fault is 422 ` "" is invalid: patch: …` that quotes the patched object | as `FromUnstructured`; a fault is 422 that quotes what is left of the patch | in `complete`; a fault is 500 |
//! | defaults | yes | yes | yes | in `complete` |
//! | owners | [`managed::update`] | [`managed::update`] | [`managed::update`] | (above) |
//! | namespace and name against the URL | before | here | here | here |
//! | mutating admission | yes | yes | yes | yes |
//! | prepare, validate | yes | yes | yes | yes |
//! | [`managed::keep_times`] | for an update | yes | yes | for an update |
//! | validating admission, store | yes | yes | yes | yes |
//!
//! Only an apply makes an object that is not there: the others answer 404. With a `uid` in it that
//! is 409, as for a PUT.

#![deny(clippy::disallowed_methods)]

mod body;
mod fields;
mod json_patch;
pub mod managed;
pub mod merge_patch;
pub mod strategic;
mod typed;

pub use json_patch::JsonPatch;

use stowplan_apimachinery::Status;

/// 422 that says nothing: what upstream makes of patches that cannot be carried out.
fn unprocessable() -> Status {
    let message = "the server rejected our request due to an error in our request";
    let mut status = Status::failure(422, "Invalid", message);
    status.details = Some(Box::default());
    status
}
