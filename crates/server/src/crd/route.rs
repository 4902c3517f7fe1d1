//! Which requests a custom resource answers. Upstream: `crdHandler.ServeHTTP`.

use super::Custom;
use crate::request::{Request, Target};
use stowplan_apimachinery::Status;

/// Whether the request is for this resource at all, and if so why it is refused.
pub(crate) fn check(request: &Request, target: &Target, custom: &Custom) -> Result<bool, Status> {
    let info = &request.info;
    let verb = info.verb.as_str();
    let (namespaced, in_namespace) = (custom.definition.namespaced, !info.namespace.is_empty());
    let across = matches!(verb, "list" | "watch");
    if in_namespace != namespaced && !(namespaced && across) {
        return Ok(false);
    }
    if let Some(warning) = &custom.version.deprecation {
        request.warn(warning.clone());
    }
    let below = info.subresource.as_str();
    let mut known = custom.subresources().iter();
    let verbs = match known.find(|s| s.name == below) {
        Some(found) => found.verbs,
        None if below.is_empty() => &stowplan_registry::VERBS[..],
        None => return Err(Status::not_found(&target.group_resource(), &info.name)),
    };
    match verbs.contains(&verb) {
        true => Ok(true),
        false => Err(Status::method_not_supported(&target.group_resource(), verb)),
    }
}
