//! POST.

use super::Write;
use super::write::wipe;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::Convert;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::{decode, negotiate, storage, transform};
use stowplan_machinery::{Status, View};

/// Upstream: `endpoints/handlers/create.go`.
pub(crate) async fn create(
    api: &Api,
    request: &Request,
    mut target: Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let validation = options.field_validation;
    let mut object = decode::object(request, &target.resource, encoding, validation)?;
    wipe(&mut object);
    if target.name.is_empty() {
        let name = object.at("metadata").text("name");
        name.clone_into(&mut target.name);
    }
    let write = Write {
        api,
        request,
        target: &target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    let stored = write.create(object).await?;
    if let Some(entry) = &stored.entry
        && output.convert == Convert::Nothing
        && !target.resource.converts()
    {
        let mut body = Vec::with_capacity(entry.value.len() + 64);
        storage::write_object(&mut body, entry);
        return Ok(answer::json(201, body, output));
    }
    transform::object(api, request, &target, 201, &stored.object, output)
}
