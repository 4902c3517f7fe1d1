//! GET of one object.

use super::list::wait_for;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{self, Convert};
use crate::request::{Request, Target};
use crate::{storage, transform};
use stowplan_apimachinery::Status;
use stowplan_apimachinery::go::quote;

/// Upstream: `endpoints/handlers/get.go`.
pub(crate) async fn get(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    target.check_name()?;
    wait_until_fresh(api, request, target).await?;
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

/// The object shall be at least as new as the revision that the client has seen. Upstream: `Get` of
/// `storage/cacher/delegator.go`, and of `storage/etcd3/store.go` for events, which are not cached.
async fn wait_until_fresh(api: &Api, request: &Request, target: &Target) -> Result<(), Status> {
    let text = match request.query.get("resourceVersion") {
        None | Some("" | "0") => return Ok(()),
        Some(text) => text,
    };
    let wanted = storage::parse_revision(text).map_err(|why| {
        let message = format!("resourceVersion: Invalid value: {}: {why}", quote(text));
        match target.resource.plural() {
            "events" => Status::bad_request(format!("invalid resource version: {message}")),
            _ => Status::plain_error(message),
        }
    })?;
    wait_for(api, target, wanted).await
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[tokio::test]
    async fn a_revision_that_is_none_is_refused() {
        let api = testing::api().await;
        let url = "/api/v1/namespaces/default?resourceVersion=";
        let (code, status) = testing::get(&api, &format!("{url}abc"), "").await;
        assert_eq!(code, 500);
        assert_eq!(
            status["message"],
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"
        );
        for fine in ["", "0", "1"] {
            assert_eq!(testing::get(&api, &format!("{url}{fine}"), "").await.0, 200);
        }
        let event = "/api/v1/namespaces/default/events/x?resourceVersion=abc";
        assert_eq!(testing::get(&api, event, "").await.0, 400);
    }
}
