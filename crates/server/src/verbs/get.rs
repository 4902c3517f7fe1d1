//! GET of one object.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{self, Convert};
use crate::request::{Request, Target};
use crate::{storage, transform};
use stowplan_machinery::Status;

/// Upstream: `endpoints/handlers/get.go`.
pub(crate) fn get(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    target.check_name()?;
    let entry = api.store().get(target.key().as_bytes());
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    let entry = entry.ok_or_else(missing)?;
    if output.convert == Convert::Nothing && !target.resource.converts() {
        let mut body = Vec::with_capacity(entry.value.len() + 64);
        storage::write_object(&mut body, &entry);
        return Ok(answer::json(200, body, output));
    }
    transform::object(api, request, target, 200, &target.object(&entry), output)
}
