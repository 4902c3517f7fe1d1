//! PUT.

use super::Write;
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::{decode, negotiate, transform};
use serde_json::Value;
use stowplan_machinery::{Status, View};

/// Upstream: `endpoints/handlers/update.go`.
pub(crate) async fn update(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let options = WriteOptions::read(request, "UpdateOptions")?;
    let encoding = decode::encoding(request)?;
    let mut object = decode::body(request, target, encoding, options.field_validation)?;
    target.resource.strategy().set_defaults(&mut object);
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy: target.strategy(),
    };
    write.check_namespace(&mut object)?;
    check_name(&object, target)?;
    write.dedup_owners(&mut object, false);
    let uid = object.at("metadata").text("uid").to_owned();
    let uid = Some(uid.as_str()).filter(|uid| !uid.is_empty());
    let make = |_: &Value| Ok(object.clone());
    let written = write.update(&make, uid, false).await?;
    let code = if written.created { 201 } else { 200 };
    transform::object(api, request, target, code, &written.object, output)
}

/// Upstream: `checkName`.
fn check_name(object: &Value, target: &Target) -> Result<(), Status> {
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
