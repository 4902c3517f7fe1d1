//! PUT.

use super::{Creation, Write};
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::{decode, negotiate, transform};
use serde_json::Value;
use stowplan_apimachinery::{Status, View};

/// Upstream: `endpoints/handlers/update.go`.
pub(crate) async fn update(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let options = WriteOptions::read(request, "UpdateOptions")?;
    let encoding = decode::encoding(request)?;
    let validation = options.field_validation;
    let mut object = decode::object(request, &target.spoken(), encoding, validation)
        .map_err(|status| unnamed(target, status))?;
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy: target.strategy(),
    };
    write.check_namespace(&mut object)?;
    check_name(&object, target)?;
    write.road(|road| road.dedup_owners(&mut object, false));
    let uid = object.at("metadata").text("uid").to_owned();
    let uid = Some(uid.as_str()).filter(|uid| !uid.is_empty());
    let make = |existing: &Value| {
        let mut object = object.clone();
        write.own_fields(&mut object, existing);
        Ok(object)
    };
    let creation = match write.strategy.allow_create_on_update() {
        true => Creation::Allowed,
        false => Creation::Never,
    };
    let written = write.update(&make, uid, creation).await?;
    let code = if written.created { 201 } else { 200 };
    transform::object(api, request, target, code, &written.object, output)
}

/// Upstream: `checkName`.
pub(super) fn check_name(object: &Value, target: &Target) -> Result<(), Status> {
    let (name, wanted) = (object.at("metadata").text("name"), &target.name);
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != wanted {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// The server of custom resources cannot name the kind of a scale that it cannot read.
fn unnamed(target: &Target, status: Status) -> Status {
    let unread = ["cannot be handled as a Scale", "(must be of type Scale)"];
    let message = &status.message;
    match target.resource.is_custom() && unread.iter().any(|part| message.contains(part)) {
        true => Status::bad_request(
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        false => status,
    }
}
