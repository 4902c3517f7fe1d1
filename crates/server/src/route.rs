//! Which methods a path has, and which media types they take and give.
//!
//! Upstream the routes of built-in resources are registered with go-restful
//! (`k8s.io/apiserver/pkg/endpoints/installer.go`), which answers in its own words when none fits.

use crate::negotiate::MEDIA_TYPES;
use crate::request::{Request, Target};
use crate::subresources::STREAMS as CONNECTS;
use stowplan_apimachinery::Status;

const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Refuses what no route takes: unknown paths first, then methods, then media types.
pub(crate) fn check(request: &Request, target: &Target) -> Result<(), Status> {
    let methods = methods(request, target).ok_or_else(no_such_path)?;
    let method = request.method.as_str();
    if !methods.contains(&method) {
        return Err(no_such_method());
    }
    if target.resource.is_custom() {
        return Ok(());
    }
    let content_type = request.header("content-type");
    let content_type = content_type.split(';').next().unwrap_or_default().trim();
    if method == "PATCH" && !PATCHES.contains(&content_type) {
        let message = "415: Unsupported Media Type";
        return Err(restful(415, "UnsupportedMediaType", message));
    }
    let lists = request.info.prefixed || request.info.parts.len() == 1;
    match target.subresource.as_str() {
        name if CONNECTS.contains(&name) => Ok(()),
        "log" => represent(request, &format!("text/plain, {MEDIA_TYPES}")),
        _ if method == "GET" && lists => represent(request, &format!("{MEDIA_TYPES}, {STREAMS}")),
        _ => represent(request, MEDIA_TYPES),
    }
}

/// What lists can be beside objects: they may be watched.
const STREAMS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Refuses who takes none of these media types.
pub(crate) fn represent(request: &Request, available: &str) -> Result<(), Status> {
    match accepts(request.header("accept"), available) {
        true => Ok(()),
        false => Err(restful(
            406,
            "NotAcceptable",
            &format!("406: Not Acceptable\n\nAvailable representations: {available}"),
        )),
    }
}

/// Whether any alternative of an Accept header is available. Parameters are not looked at, and of
/// wildcards only `*/*` is understood.
fn accepts(header: &str, available: &str) -> bool {
    let plain = |alternative: &str| {
        let range = alternative.split(';').next().unwrap_or_default();
        range.trim().to_owned()
    };
    let known = |range: &String| range == "*/*" || available.split(", ").any(|m| m == range);
    header.is_empty() || header.split(',').map(plain).any(|range| known(&range))
}

/// The methods of the path; `None` if there is no such path.
fn methods(request: &Request, target: &Target) -> Option<Vec<&'static str>> {
    let info = &request.info;
    let resource = &target.resource;
    let has = |verb: &str| resource.has_verb(verb);
    let fits = info.in_namespace == resource.namespaced();
    if info.prefixed {
        // The verb that was authorised comes from the path, so nothing else may be done there.
        let across = resource.namespaced() && info.parts.len() == 1;
        let known = info.verb == "watch" && info.parts.len() <= 2 && (fits || across);
        return (known && has("watch")).then(|| vec!["GET"]);
    }
    let verbs: &[(&str, &str)] = match (info.parts.len(), fits) {
        (1, true) => &[
            ("GET", "list"),
            ("POST", "create"),
            ("DELETE", "deletecollection"),
        ],
        (1, false) if resource.namespaced() => &[("GET", "list")],
        (2, true) => &[
            ("GET", "get"),
            ("PUT", "update"),
            ("PATCH", "patch"),
            ("DELETE", "delete"),
        ],
        (3, true) => {
            let verbs = resource.subresource(&info.subresource)?.verbs.iter();
            return Some(verbs.filter_map(|verb| method_of(verb)).collect());
        }
        _ => return None,
    };
    let found = verbs.iter().filter(|(_, verb)| has(verb));
    let found: Vec<_> = found.map(|(method, _)| *method).collect();
    (!found.is_empty()).then_some(found)
}

fn method_of(verb: &str) -> Option<&'static str> {
    match verb {
        "create" => Some("POST"),
        "get" => Some("GET"),
        "update" => Some("PUT"),
        "patch" => Some("PATCH"),
        "delete" => Some("DELETE"),
        _ => None,
    }
}

/// An answer of go-restful: about nothing in particular.
fn restful(code: u16, reason: &'static str, message: &str) -> Status {
    let mut status = Status::failure(code, reason, message);
    status.details = Some(Box::default());
    status
}

/// 404 for a path that nothing serves.
pub(crate) fn no_such_path() -> Status {
    let message = "the server could not find the requested resource";
    restful(404, "NotFound", message)
}

/// 405.
pub(crate) fn no_such_method() -> Status {
    let message = "the server does not allow this method on the requested resource";
    restful(405, "MethodNotAllowed", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_ranges_are_taken_literally() {
        for (header, taken) in [
            ("", true),
            ("*/*", true),
            ("application/*", false),
            ("text/html, application/yaml;q=0.1", true),
            ("application/json;as=Table", true),
            ("application/cbor", false),
        ] {
            assert_eq!(accepts(header, MEDIA_TYPES), taken, "{header}");
        }
    }
}
