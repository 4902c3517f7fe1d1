//! From a request to the function that answers it.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::{negotiate, subresources, verbs};
use std::sync::Arc;
use stowplan_machinery::Status;

/// Answers a request whose caller is known and allowed.
pub(crate) async fn answer(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let info = &request.info;
    if !info.is_resource {
        return other(request);
    }
    let resource = api
        .resources()
        .find(&info.group, &info.version, &info.resource)
        .ok_or_else(no_such_path)?;
    let mut target = Target {
        resource,
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: if info.named {
            info.name.clone()
        } else {
            String::new()
        },
    };
    if !target.resource.namespaced() {
        target.namespace.clear();
    }
    if !target.subresource.is_empty() {
        return subresources::answer(api, request, &target).await;
    }
    match info.verb.as_str() {
        "create" if target.resource.kind() == "Binding" => {
            subresources::binding::create(api, request, &target).await
        }
        "create" if verbs::review::is_question(&target) => {
            verbs::review::answer(api, request, &target)
        }
        "create" => verbs::create::create(api, request, target).await,
        "get" => verbs::get::get(api, request, &target),
        "list" | "watch" => list_or_watch(api, request, &target).await,
        "update" => verbs::update::update(api, request, &target).await,
        "patch" => verbs::patch::patch(api, request, &target).await,
        "delete" => verbs::delete::delete(api, request, &target).await,
        "deletecollection" => verbs::collection::delete(api, request, &target).await,
        _ => Err(no_such_method()),
    }
}

/// Upstream: `ListResource`. A watch can be asked for by a parameter or, as of old, by the path.
async fn list_or_watch(
    api: &Arc<Api>,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let options = ListOptions::read(&request.query)?;
    match options.watch || request.info.verb == "watch" {
        true => verbs::watch::watch(api, request, target, options, output).await,
        false => verbs::list::list(api, request, target, &options, output).await,
    }
}

fn other(request: &Request) -> Result<Answer, Status> {
    match request.info.path.as_str() {
        "/healthz" | "/livez" | "/readyz" => {
            Ok(answer::bytes(200, "text/plain; charset=utf-8", "ok"))
        }
        _ => Err(no_such_path()),
    }
}

/// 404 for a path that nothing serves.
pub(crate) fn no_such_path() -> Status {
    Status::failure(
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
}

/// 405.
pub(crate) fn no_such_method() -> Status {
    Status::failure(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )
}
