//! What hangs below objects and has rules of its own: bindings, evictions, scales, tokens, logs.
//!
//! `status`, `resize`, `ephemeralcontainers` and `finalize` are plain writes of the object through
//! another strategy; the verbs do them.

pub(crate) mod binding;
mod condition;
mod eviction;
mod log;
mod scale;
mod token;

pub(crate) use scale::Scale;

use crate::answer::Answer;
use crate::api::Api;
use crate::request::{Request, Target};
use crate::route::no_such_method;
use crate::verbs;
use serde_json::{Value, json};
use stowplan_apimachinery::Status;

/// Answers a request for a subresource that exists, with a method that it has.
pub(crate) async fn answer(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let name = target.subresource.as_str();
    let verb = request.info.verb.as_str();
    match (name, verb) {
        ("binding", "create") => binding::create(api, request, target).await,
        ("eviction", "create") => eviction::create(api, request, target).await,
        ("token", "create") => token::create(api, request, target),
        ("log", "get") => log::get(api, request, target).await,
        ("scale", "get") => scale::get(api, request, target),
        (_, "get") => verbs::get::get(api, request, target).await,
        (_, "update") => verbs::update::update(api, request, target).await,
        (_, "patch") => verbs::patch::patch(api, request, target).await,
        _ => Err(no_such_method()),
    }
}

/// What is answered when something was done that makes no object.
fn done() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}
