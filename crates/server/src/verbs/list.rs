//! GET of many objects.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate;
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::storage;
use stowplan_machinery::Status;

/// Upstream: `endpoints/handlers/get.go`, `ListResource`.
pub(crate) fn list(
    api: &Api,
    request: &Request,
    target: &Target,
    _options: &ListOptions,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let prefix = storage::key(&target.resource, &target.namespace, "");
    let page = api.store().range(&prefix, None, None, 0);
    let head = serde_json::json!({
        "kind": format!("{}List", target.resource.kind()),
        "apiVersion": target.resource.api_version(),
        "metadata": {"resourceVersion": page.revision.to_string()},
    });
    let mut body = serde_json::to_vec(&head).unwrap_or_default();
    body.pop();
    body.extend_from_slice(b",\"items\":[");
    for (i, entry) in page.entries.iter().enumerate() {
        if i > 0 {
            body.push(b',');
        }
        storage::write_item(&mut body, entry);
    }
    body.extend_from_slice(b"]}");
    Ok(answer::json(200, body, output))
}
