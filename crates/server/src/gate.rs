//! Who asks, and whether they may: before anything else is looked at.

use crate::api::Api;
use crate::request::Request;
use crate::storage::Cluster;
use stowplan_access::{Attributes, Target, User, authorize, impersonation};
use stowplan_machinery::Status;

/// Finds out who asks and refuses what they may not do. `certified` is whom a client certificate
/// stands for.
pub(crate) fn pass(
    api: &Api,
    request: &mut Request,
    certified: Option<User>,
) -> Result<(), Status> {
    request.user = authenticate(api, request, certified)?;
    let cluster = Cluster(api);
    let headers = request.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    if let Some(wanted) = impersonation::wanted(headers)? {
        let user = impersonation::impersonate(&wanted, &attributes(request), &cluster)?;
        request.user = user;
    }
    let attributes = attributes(request);
    let decision = authorize(&attributes, &cluster);
    match decision.allowed {
        true => Ok(()),
        false => Err(attributes.forbidden(&decision.reason)),
    }
}

fn authenticate(api: &Api, request: &Request, certified: Option<User>) -> Result<User, Status> {
    let header = request.header("authorization");
    let token = header
        .split_once(' ')
        .map(|(scheme, token)| (scheme, token.trim()));
    match token {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() => {
            bearer(api, token).ok_or_else(Status::unauthorized)
        }
        _ => Ok(certified.unwrap_or_else(User::anonymous)),
    }
}

/// The user that a token stands for.
pub(crate) fn bearer(api: &Api, token: &str) -> Option<User> {
    if let Some(user) = api.tokens().get(token) {
        return Some(user.clone());
    }
    let now_s = api.env().now().as_millis() / 1_000;
    api.token_key()?.authenticate(token, now_s, &Cluster(api))
}

fn attributes(request: &Request) -> Attributes<'_> {
    let info = &request.info;
    Attributes {
        user: &request.user,
        verb: &info.verb,
        target: match info.is_resource {
            true => Target::Resource {
                group: &info.group,
                resource: &info.resource,
                subresource: &info.subresource,
                namespace: &info.namespace,
                name: &info.name,
            },
            false => Target::Path(&info.path),
        },
    }
}

/// Whether the one who asks for a change may also create: what is not there comes to be. Upstream:
/// `withAuthorization`.
pub(crate) fn may_create(
    api: &Api,
    request: &Request,
    target: &crate::request::Target,
) -> Result<(), Status> {
    let attributes = Attributes {
        user: &request.user,
        verb: "create",
        target: Target::Resource {
            group: target.resource.group(),
            resource: target.resource.plural(),
            subresource: &target.subresource,
            namespace: &target.namespace,
            name: &target.name,
        },
    };
    let decision = authorize(&attributes, &Cluster(api));
    match decision.allowed {
        true => Ok(()),
        false => Err(attributes.forbidden(&decision.reason)),
    }
}
