//! `serviceaccounts/token`: tokens for a time.

mod rules;

use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::storage::Cluster;
use crate::verbs::Write;
use crate::{clock, decode, negotiate, transform};
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_base::Duration;

/// Answers a POST. Upstream: `TokenREST.Create`.
pub(super) fn create(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let mut asked = decode::object(
        request,
        &target.spoken(),
        encoding,
        options.field_validation,
    )?;
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    write.check_namespace(&mut asked)?;
    write.own_fields(&mut asked, &Value::Null);
    write.admit(&mut asked, &Value::Null)?;
    let (cluster, now) = (Cluster(api), api.env().now());
    let place = (target.namespace.as_str(), target.name.as_str());
    let account = rules::complete(&mut asked, place, &clock::seconds(now), &cluster)?;
    write.validate_admission(&mut asked, &Value::Null)?;
    let holder = rules::holder(&asked, place, &cluster)?;
    let audiences = asked.at("spec").list("audiences").iter();
    let audiences: Vec<String> = audiences
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect();
    let issued_s = now.as_millis() / 1_000;
    let times = (issued_s, issued_s + rules::life(&asked, holder.as_ref()));
    let bound = holder.as_ref().map(rules::Holder::bound);
    let key = api.token_key();
    let token = key
        .and_then(|key| {
            let id = api.env().uid();
            key.issue(&account, bound.as_ref(), &audiences, times, &id)
                .ok()
        })
        .ok_or_else(|| {
            Status::internal("failed to generate token: there is no key to sign it with")
        })?;
    let seconds = asked
        .at("spec")
        .int("expirationSeconds")
        .unwrap_or_default();
    let end = clock::seconds(now + Duration::from_secs(seconds));
    asked.set(
        "status",
        json!({"token": token, "expirationTimestamp": end}),
    );
    transform::object(api, request, target, 201, &asked, output)
}
