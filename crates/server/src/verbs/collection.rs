//! DELETE of many objects.

use super::delete::{self, Deletion};
use super::list::find;
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::{negotiate, transform};
use serde_json::Value;
use std::sync::Arc;
use stowplan_machinery::{Status, meta};

/// Upstream: `endpoints/handlers/delete.go`, `DeleteCollection`.
pub(crate) async fn delete(
    api: &Api,
    request: &Request,
    target: &Target,
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
    let found = find(api, target, &selection, &list).await?;
    let objects: Vec<Arc<Value>> = found.entries.iter().map(|e| target.object(e)).collect();
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
    transform::list(api, request, target, objects, found.metadata(), output)
}
