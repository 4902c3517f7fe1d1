//! What `pods/ephemeralcontainers` may change.

use super::super::options::Options;
use super::{METADATA, SPEC, annotations, validate_metadata_and_spec};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::kube_metadata;
use serde_json::Value;
use std::collections::BTreeMap;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, go};

/// Faults of a change (`ValidatePodEphemeralContainersUpdate`): containers come, none changes or
/// goes.
pub(in crate::pod) fn validate_ephemeral_containers(new: &Value, old: &Value) -> ErrorList {
    let options = Options::for_pod(old);
    let mut errors = kube_metadata::validate_update(new, old);
    validate_metadata_and_spec(new, &options, &mut errors);
    annotations::validate_update(
        new,
        old,
        options.bad_deletion_cost,
        &METADATA.child("annotations"),
        &mut errors,
    );
    if annotations::is_mirror(old.at("metadata")) {
        let nowhere = Path::ROOT;
        let detail = "static pods do not support ephemeral containers";
        return vec![Error::forbidden(&nowhere.key(""), detail)];
    }
    let path = SPEC.child("ephemeralContainers");
    let containers = new.at("spec").list("ephemeralContainers");
    // Of several of a name the last one counts.
    let containers: BTreeMap<&str, &Value> =
        containers.iter().map(|c| (c.text("name"), c)).collect();
    for before in old.at("spec").list("ephemeralContainers") {
        let name = before.text("name");
        let quoted = go::quote(name);
        match containers.get(name) {
            None => errors.forbidden(
                &path,
                format!("existing ephemeral containers {quoted} may not be removed\n"),
            ),
            Some(after) if !same(after, before) => errors.forbidden(
                &path,
                format!(
                    "existing ephemeral containers {quoted} may not be changed\n  core.EphemeralContainer{{\n  \t... // fields differ\n  }}\n"
                ),
            ),
            Some(_) => {}
        }
    }
    errors
}
