//! From a request to the function that answers it.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::flowcontrol::{Flow, RelatedObjects, Weight};
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::{
    computed, crd, discovery, health, issuer, negotiate, openapi, route, subresources, verbs,
};
use std::sync::Arc;
use stowplan_apimachinery::Status;

/// Answers a request whose caller is known and allowed.
pub(crate) async fn answer(
    api: &Arc<Api>,
    request: &Request,
    flow: &Flow,
) -> Result<Answer, Status> {
    let info = &request.info;
    if info.path.starts_with("//") {
        return Ok(no_such_page());
    }
    if !info.is_resource {
        return other(api, request);
    }
    if let Some(group) = computed::Group::of(api, &info.group, &info.version) {
        return group.answer(api, request).await;
    }
    let resource = api
        .resources()
        .find(&info.group, &info.version, &info.resource);
    let Some(resource) = resource else {
        return no_such_resource(api, request);
    };
    let mut target = Target {
        resource,
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: match info.named {
            true => info.name.clone(),
            false => String::new(),
        },
    };
    if !target.resource.namespaced() {
        target.namespace.clear();
    }
    match target.resource.custom() {
        Some(custom) if !crd::check(request, &target, custom)? => return Ok(no_such_page()),
        Some(_) => {}
        None => route::check(request, &target)?,
    }
    if let Some(warning) = target.resource.deprecation() {
        request.warn(warning);
    }
    let reads = matches!(info.verb.as_str(), "get" | "list" | "watch");
    let follow_up = match reads {
        true => None,
        false => crd::FollowUp::of(api, &target),
    };
    let related = RelatedObjects::of(api, request, &target);
    let Some(_room) = related.room(api, flow)? else {
        return Ok(answer::too_many_requests());
    };
    let weight = related.added_to(Weight::of(api, request, &target));
    let grants = !reads && target.resource.group() == "rbac.authorization.k8s.io";
    let work = std::pin::pin!(async {
        let outcome = perform(api, request, target, flow).await;
        if grants {
            // Others are not to wait for what was changed here.
            api.rbac().catch_up(api.store());
        }
        outcome
    });
    let outcome = match weight.carry(api, flow, work).await {
        Some(outcome) => outcome,
        None => return Ok(answer::too_many_requests()),
    };
    if let Some(mut follow_up) = follow_up
        && let Some(task) = follow_up.start()
    {
        // It is done even if nobody waits for it any more.
        drop(task.await);
    }
    outcome
}

/// Does what the verb says.
async fn perform(
    api: &Arc<Api>,
    request: &Request,
    target: Target,
    flow: &Flow,
) -> Result<Answer, Status> {
    if !target.subresource.is_empty() {
        return subresources::answer(api, request, &target, flow).await;
    }
    match request.info.verb.as_str() {
        "create" if target.resource.is("", "bindings") => {
            subresources::binding::create(api, request, &target).await
        }
        "create" if verbs::review::is_question(&target) => {
            verbs::review::answer(api, request, &target, flow).await
        }
        "create" => verbs::create::create(api, request, target).await,
        "get" => verbs::get::get(api, request, &shown(request, target)).await,
        "list" | "watch" => list_or_watch(api, request, &shown(request, target), flow).await,
        "update" => verbs::update::update(api, request, &target).await,
        "patch" => verbs::patch::patch(api, request, &target).await,
        "delete" => verbs::delete::delete(api, request, &target).await,
        "deletecollection" => verbs::collection::delete(api, request, &target, flow).await,
        _ => Err(route::no_such_method()),
    }
}

/// Rows of tables, and metadata alone, are made of objects as they are kept, whatever the version.
/// Upstream: `doTransformObject`.
fn shown(request: &Request, target: Target) -> Target {
    // Most kinds have one version.
    let Some(judge) = target.judge() else {
        return target;
    };
    let output = negotiate::output(request);
    let whole = output.is_ok_and(|output| output.convert == negotiate::Convert::Nothing)
        || request.query.get("includeObject") == Some("Object");
    if whole { target } else { judge }
}

/// Upstream: `ListResource`. A watch can be asked for by a parameter or, as of old, by the path.
async fn list_or_watch(
    api: &Arc<Api>,
    request: &Request,
    target: &Target,
    flow: &Flow,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let options = ListOptions::read(&request.query)?;
    match options.watch || request.info.verb == "watch" {
        true => verbs::watch::watch(api, request, target, flow, options, output).await,
        false => verbs::list::list(api, request, target, flow, &options, output).await,
    }
}

/// Groups that exist answer in their own way; of others nothing is known.
fn no_such_resource(api: &Api, request: &Request) -> Result<Answer, Status> {
    let group = &request.info.group;
    match api.resources().is_built_in(group) {
        true => Err(route::no_such_path()),
        false => Ok(no_such_page()),
    }
}

fn other(api: &Api, request: &Request) -> Result<Answer, Status> {
    let path = request.info.path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["healthz" | "livez" | "readyz", checks @ ..] => Ok(health::answer(api, request, checks)),
        ["version"] if request.method != http::Method::GET => Err(route::no_such_method()),
        ["version"] => {
            route::represent(request, "application/json")?;
            Ok(discovery::version())
        }
        ["api" | "apis", below @ ..] => {
            let by_routes = match below {
                [] => parts == ["api"],
                ["v1"] => parts == ["api", "v1"],
                [group, _] => api.resources().is_built_in(group),
                _ => false,
            };
            if by_routes {
                route::represent(request, negotiate::MEDIA_TYPES)?;
            }
            discovery::answer(api, request, &parts)
        }
        [""] => Ok(discovery::paths(api)),
        ["metrics"] => Ok(health::metrics(api)),
        [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"] => {
            issuer::answer(api, request, &parts)
        }
        ["openapi", document @ ..] => {
            Ok(openapi::answer(api, request, document).unwrap_or_else(no_such_page))
        }
        _ => Ok(no_such_page()),
    }
}

/// 404 of a path that leads nowhere: plain text, as Go's mux answers.
pub(crate) fn no_such_page() -> Answer {
    answer::bytes(404, "text/plain; charset=utf-8", "404 page not found\n")
}
