//! DELETE of many objects.

use super::delete::{self, Deletion};
use super::list::{find, trees_kib, wait_if_future};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::flowcontrol::{Flow, Weight};
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::{negotiate, transform};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::{Status, meta};

/// Upstream: `endpoints/handlers/delete.go`, `DeleteCollection`.
pub(crate) async fn delete(
    api: &Api,
    request: &Request,
    target: &Target,
    flow: &Flow,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let list = ListOptions::read(&request.query)?;
    let selection = Selection::new(request, target, &list)?;
    let options = delete::options(request)?;
    let deletion = Deletion {
        api,
        request,
        target,
    };
    deletion.warn_of_orphans(&options);
    // Finding them may take long; deleting them waits for the store most of the time.
    wait_if_future(api, target, &list).await?;
    let weight = Weight::of_many(api, request, target);
    let look = std::pin::pin!(async {
        let found = find(api, target, &selection, &list).await?;
        let bytes: usize = found.entries.iter().map(|entry| entry.value.len()).sum();
        let Some(room) = api.flow_control().unread(flow, trees_kib(bytes)) else {
            return Ok(None);
        };
        let objects: Vec<Arc<Value>> = found.entries.iter().map(|e| target.object(e)).collect();
        Ok::<_, Status>(Some((found, objects, room)))
    });
    let Some(looked) = weight.carry(api, flow, look).await else {
        return Ok(answer::too_many_requests());
    };
    let Some((found, objects, _room)) = looked? else {
        return Ok(answer::too_many_requests());
    };
    for object in &objects {
        let one = Target {
            namespace: meta::namespace(object).to_owned(),
            name: meta::name(object).to_owned(),
            ..target.judge().unwrap_or_else(|| target.clone())
        };
        let deletion = Deletion {
            target: &one,
            ..deletion
        };
        match deletion.run(options.clone()).await {
            Err(status) if status.code != 404 => return Err(status),
            _ => {}
        }
    }
    let objects = objects.iter().map(|object| &**object);
    let shown = std::pin::pin!(async {
        transform::list(api, request, target, objects, found.metadata(), output)
    });
    // Who is told to come again finds them gone, which is what was asked for.
    let done = weight.carry(api, flow, shown).await;
    done.unwrap_or_else(|| Ok(answer::too_many_requests()))
}
