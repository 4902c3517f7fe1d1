//! Who asks, and whether they may: before anything else is looked at.

use crate::api::Api;
use crate::flowcontrol::{Flow, Weight};
use crate::request::Request;
use crate::storage::Identities;
use crate::{clock, decisions, rbac};
use stowplan_apimachinery::Status;
use stowplan_auth::token::{self, Authenticated, Refusal};
use stowplan_auth::{Attributes, Decision, Grants, Target, User, authorize, impersonation};
use stowplan_base::Time;

/// Finds out who asks and refuses what they may not do. `certified` is whom a client certificate
/// stands for.
pub(crate) async fn pass(
    api: &Api,
    request: &mut Request,
    certified: Option<User>,
) -> Result<(), Status> {
    request.user = authenticate(api, request, certified)?;
    let wanted = impersonation::wanted(impersonate_headers(request)?.into_iter())?;
    let flow = Flow::of(request);
    let judge = |policy: &dyn Grants| judge(api, request, wanted.as_ref(), policy);
    let judged = rbac::decide(api, &flow, Weight::Light, judge).await;
    let (user, decision) = judged.ok_or_else(busy)??;
    if let Some(user) = user {
        request.impersonator = Some(std::mem::replace(&mut request.user, user));
    }
    let outcome = match decision.allowed {
        true => Ok(()),
        false => Err(attributes(api, request, &request.user).forbidden(&decision.reason)),
    };
    request.decision = Some(decision);
    outcome
}

/// As whom a request goes on, if as another, and whether that one may.
fn judge(
    api: &Api,
    request: &Request,
    wanted: Option<&User>,
    policy: &dyn Grants,
) -> Result<(Option<User>, Decision), Status> {
    let own = attributes(api, request, &request.user);
    let user = match wanted {
        Some(wanted) => Some(impersonation::impersonate(wanted, &own, policy)?),
        None => None,
    };
    let asked = match &user {
        Some(user) => attributes(api, request, user),
        None => own,
    };
    let decision = authorize(&asked, policy);
    Ok((user, decision))
}

/// It takes long to find out, and others wait for that, too.
fn busy() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
}

/// The headers that ask to act as somebody else. One that cannot be read is refused: without it the
/// request would run with the caller's own rights.
fn impersonate_headers(request: &Request) -> Result<Vec<(&str, &str)>, Status> {
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| name.as_str().starts_with("impersonate-"));
    headers
        .map(|(name, value)| {
            let text = std::str::from_utf8(value.as_bytes());
            let bad = |_| Status::bad_request(format!("the header {name} is not UTF-8"));
            Ok((name.as_str(), text.map_err(bad)?))
        })
        .collect()
}

/// A certificate decides before a token does, as upstream asks them in this order.
fn authenticate(api: &Api, request: &Request, certified: Option<User>) -> Result<User, Status> {
    if let Some(user) = certified {
        return Ok(user);
    }
    let header = request.header("authorization");
    let token = header
        .split_once(' ')
        .map(|(scheme, token)| (scheme, token.trim()));
    match token {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() => {
            let known = bearer(api, token, &[token::ISSUER.to_owned()]);
            known
                .map(|known| known.user)
                .map_err(|_| Status::unauthorized())
        }
        _ => Ok(User::anonymous()),
    }
}

/// The user that a token stands for, to one of these audiences.
pub(crate) fn bearer(
    api: &Api,
    token: &str,
    audiences: &[String],
) -> Result<Authenticated, Refusal> {
    if let Some(user) = api.tokens().get(token) {
        // It says nothing of audiences: it is meant for this server.
        return match audiences.iter().any(|audience| audience == token::ISSUER) {
            true => Ok(Authenticated {
                user: user.clone(),
                audiences: vec![token::ISSUER.to_owned()],
            }),
            false => Err(Refusal::Unknown),
        };
    }
    let seconds = api.env().now().as_millis() / 1_000;
    let key = api.token_key().ok_or(Refusal::Unknown)?;
    let deleted_before = clock::seconds(Time::from_secs(seconds - token::LEEWAY_SECONDS));
    let now = token::Moment {
        seconds,
        deleted_before: &deleted_before,
    };
    key.authenticate(token, audiences, now, &Identities(api))
}

/// What is asked, as rules are held against it.
pub(crate) fn attributes<'a>(api: &Api, request: &'a Request, user: &'a User) -> Attributes<'a> {
    let info = &request.info;
    // Nothing comes to be of a pod that is only asked about.
    let asks = decisions::is_question(api, request);
    Attributes {
        user,
        verb: if asks { "list" } else { &info.verb },
        target: match info.is_resource {
            // Who may read the pod may know what was decided about it.
            true if asks || decisions::is_read(api, request) => Target::Resource {
                group: "",
                resource: "pods",
                subresource: "",
                namespace: &info.namespace,
                name: &info.name,
            },
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
    let decision = authorize(&attributes, &rbac::All(api));
    match decision.allowed {
        true => Ok(()),
        false => Err(attributes.forbidden(&decision.reason)),
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
