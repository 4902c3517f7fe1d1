//! PATCH.

use crate::answer::Answer;
use crate::api::Api;
use crate::request::{Request, Target};
use stowplan_machinery::Status;

/// Upstream: `endpoints/handlers/patch.go`.
#[allow(clippy::unused_async)]
pub(crate) async fn patch(
    _api: &Api,
    _request: &Request,
    _target: &Target,
) -> Result<Answer, Status> {
    Err(Status::plain_error("patches are not served yet"))
}
