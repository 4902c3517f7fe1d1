//! DELETE of many objects.

use super::delete::{self, Deletion};
use super::list::find;
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::{negotiate, transform};
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_machinery::{Edit, Status, meta};

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
    let found = find(api, target, &selection, &list).await?;
    let objects: Vec<Arc<Value>> = found.entries.iter().map(|e| target.object(e)).collect();
    for object in &objects {
        let one = Target {
            namespace: meta::namespace(object).to_owned(),
            name: meta::name(object).to_owned(),
            ..target.clone()
        };
        let deletion = Deletion {
            api,
            request,
            target: &one,
        };
        match deletion.run(options.clone()).await {
            Err(status) if status.code != 404 => return Err(status),
            _ => {}
        }
    }
    let items = objects.iter().map(|object| without_type(object, target));
    let items: Vec<Value> = items.collect();
    let metadata = json!({"resourceVersion": found.revision.to_string()});
    transform::list(api, request, target, items.iter(), metadata, output)
}

/// Items of a list of a built-in kind do not repeat what they are.
fn without_type(object: &Value, target: &Target) -> Value {
    let mut object = object.clone();
    if !target.resource.is_custom() {
        object.unset("apiVersion");
        object.unset("kind");
    }
    object
}
