//! Questions that are answered and not kept: access reviews, token reviews, "who am I".

use super::Write;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::flowcontrol::{Flow, Weight};
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::storage::Cluster;
use crate::{clock, decode, gate, negotiate, rbac, transform};
use serde_json::{Value, json};
use stowplan_apimachinery::meta::GroupKind;
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_auth::Grants;
use stowplan_kinds::Context;
use stowplan_registry::wipe;

/// Whether the objects of a resource are questions.
pub(crate) fn is_question(target: &Target) -> bool {
    let group = target.resource.group();
    !target.resource.is_custom()
        && matches!(group, "authorization.k8s.io" | "authentication.k8s.io")
}

/// Upstream: `pkg/registry/{authorization,authentication}`.
pub(crate) async fn answer(
    api: &Api,
    request: &Request,
    target: &Target,
    flow: &Flow,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let validation = options.field_validation;
    let mut object = decode::object(request, &target.resource, encoding, validation)?;
    wipe(&mut object);
    let strategy = target.resource.strategy();
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy,
    };
    write.check_namespace(&mut object)?;
    write.own_fields(&mut object, &Value::Null);
    let now = clock::seconds(api.env().now());
    let errors = {
        let cluster = Cluster(api);
        let cx = Context {
            now: &now,
            cluster: &cluster,
        };
        strategy.validate(&object, &cx)
    };
    if !errors.is_empty() {
        // Upstream takes the kind from the decoded object, which does not know its own.
        let kind = GroupKind::new(target.resource.group(), "");
        return Err(Status::invalid(&kind, "", &errors));
    }
    match target.resource.plural() {
        "selfsubjectreviews" => {
            object = stowplan_auth::self_subject_review(&request.user, &now);
        }
        "tokenreviews" => review_token(api, &mut object),
        plural => {
            let weight = Weight::of(api, request, target);
            let own = Some(&request.user).filter(|_| plural == "selfsubjectaccessreviews");
            let review = |policy: &dyn Grants| match plural {
                "selfsubjectrulesreviews" => {
                    stowplan_auth::rules_review(&object, &request.user, policy)
                }
                _ => Ok(stowplan_auth::access_review(&object, own, policy)),
            };
            match rbac::decide(api, flow, weight, review).await {
                Some(reviewed) => object = reviewed?,
                None => return Ok(answer::too_many_requests()),
            }
        }
    }
    transform::object(api, request, target, 201, &object, output)
}

/// Upstream: `pkg/registry/authentication/tokenreview`.
fn review_token(api: &Api, review: &mut Value) {
    let spec = review.at("spec");
    let wanted = spec.list("audiences").iter();
    let wanted = wanted.filter_map(|audience| audience.as_str().map(str::to_owned));
    let mut wanted: Vec<String> = wanted.collect();
    if wanted.is_empty() {
        wanted.push(stowplan_auth::token::ISSUER.to_owned());
    }
    let status = match gate::bearer(api, spec.text("token"), &wanted) {
        Ok(known) => {
            let me = stowplan_auth::self_subject_review(&known.user, "");
            json!({
                "authenticated": true,
                "user": me.path(&["status", "userInfo"]),
                "audiences": known.audiences,
            })
        }
        Err(why) => json!({"user": {}, "error": format!("[invalid bearer token, {why}]")}),
    };
    review.set("status", status);
}
