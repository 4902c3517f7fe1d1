//! DELETE of one object.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate;
use crate::request::{Request, Target};
use crate::storage::{self, Expect, Op};
use stowplan_machinery::Status;

/// Upstream: `endpoints/handlers/delete.go`.
pub(crate) async fn delete(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let entry = api.store().get(&target.key());
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    let entry = entry.ok_or_else(missing)?;
    let op = Op {
        key: target.key(),
        expect: Expect::Revision(entry.mod_revision),
        value: None,
    };
    let _ = api.store().commit(vec![op]).await;
    Ok(answer::object(200, &storage::object(&entry), output))
}
