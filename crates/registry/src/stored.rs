//! Objects that a server has accepted, read from elsewhere: a dump of a cluster, a file that describes one.

use crate::Resource;
use crate::write::faults;
use serde_json::Value;
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_kinds::Context;

/// What a pod gets after its creation, through a subresource: a new one may not have it.
const LATER: &str = "ephemeralContainers";

/// Checks an object that has been decoded and defaulted as one that is there: nothing of it is taken away
/// or filled in, and admission had its say long ago.
pub fn stored(resource: &Resource, object: &mut Value, cx: &Context<'_>) -> Result<(), Status> {
    let is_pod = resource.is("", "pods");
    let later = match is_pod {
        true => object.at_mut("spec").unset(LATER),
        false => None,
    };
    let errors = faults(resource.strategy(), resource, object, cx);
    if let Some(later) = later {
        object.at_mut("spec").set(LATER, later);
    }
    match errors.is_empty() {
        true => Ok(()),
        false => {
            let name = object.at("metadata").text("name");
            Err(Status::invalid(&resource.internal_kind(), name, &errors))
        }
    }
}
