//! Objects are deleted, if they are still the ones that are meant.

use super::{NotDone, ObjectRef, Tools};
use serde::de::IgnoredAny;
use serde_json::json;
use stowplan_api::load::Object as ApiObject;

pub(super) async fn carry_out(
    tools: &Tools,
    object: &ObjectRef,
) -> Result<Option<ApiObject>, NotDone> {
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    if !object.uid.is_empty() {
        options["preconditions"] = json!({"uid": &*object.uid});
    }
    let deleted: Result<IgnoredAny, _> = tools
        .requests
        .change("DELETE", &object.path(), "application/json", &options)
        .await;
    match deleted {
        Ok(_) => Ok(None),
        // A conflict is about the uid: it is another object by now.
        Err(failed) if matches!(failed.code(), Some(404 | 409)) => Err(object.not_found()),
        Err(failed) => {
            let error = failed.message();
            tracing::error!(object = %object.name, error, "an object could not be deleted");
            Err(failed.into())
        }
    }
}
