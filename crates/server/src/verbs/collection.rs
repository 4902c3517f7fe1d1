//! DELETE of many objects.

use crate::answer::Answer;
use crate::api::Api;
use crate::request::{Request, Target};
use stowplan_machinery::Status;

/// Upstream: `endpoints/handlers/delete.go`, `DeleteCollection`.
#[allow(clippy::unused_async)]
pub(crate) async fn delete(
    _api: &Api,
    _request: &Request,
    _target: &Target,
) -> Result<Answer, Status> {
    Err(Status::plain_error("deletecollection is not served yet"))
}
