//! Kinds that make pods and keep them running.
//!
//! Upstream: `pkg/apis/apps`, `pkg/registry/apps` and, for the two that live in the core group,
//! `pkg/apis/core` and `pkg/registry/core`.

mod checks;
mod controller_revision;
mod daemon_set;
mod deployment;
pub(crate) mod int_or_percent;
mod pod_template;
mod replica_set;
mod replication_controller;
mod stateful_set;

pub(crate) use checks::{Counts, matches_template};
pub(crate) use controller_revision::ControllerRevision;
pub(crate) use daemon_set::DAEMON_SET;
pub(crate) use deployment::DEPLOYMENT;
pub(crate) use pod_template::POD_TEMPLATE;
pub(crate) use replica_set::REPLICA_SET;
pub(crate) use replication_controller::REPLICATION_CONTROLLER;
pub(crate) use stateful_set::STATEFUL_SET;

use crate::common::generation;
use crate::pod;
use crate::subresource::keep;
use crate::{Context, CreateStrategy, DeleteStrategy, Strategy, UpdateStrategy};
use serde_json::{Map, Value};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

/// A kind with a template of pods: what differs from one to the next.
pub(crate) struct Workload {
    /// Where the template is.
    pub template: &'static [&'static str],
    /// Defaults beyond those of the template.
    pub set_defaults: fn(&mut Value),
    /// The status of a new object; null for a kind without one.
    pub empty_status: fn() -> Value,
    /// What else becomes of a new object.
    pub prepare_for_create: fn(&mut Value),
    /// What else becomes of a changed one, before generations are counted.
    pub prepare_for_update: fn(&mut Value, &Value),
    /// Whether what is wanted has changed.
    pub changed: fn(&Value, &Value) -> bool,
    /// Faults of a new object.
    pub validate: fn(&Value) -> ErrorList,
    /// Faults of a change.
    pub validate_update: fn(&Value, &Value) -> ErrorList,
    /// What to tell of an accepted object.
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
    /// What names may look like.
    pub name_rule: fn(&str, bool) -> Vec<String>,
    /// The strategy of its `/status`.
    pub status: Option<&'static dyn Strategy>,
    /// Whether pods outlive it unless the request says otherwise.
    pub orphans_by_default: bool,
    /// Whether a delete answers with the object.
    pub returns_deleted_object: bool,
    /// What an accepted object gets when it is read back, and whether it got anything.
    pub read_back: fn(&mut Value) -> bool,
}

/// For kinds that prepare nothing of their own for a new object.
pub(crate) fn nothing_new(_object: &mut Value) {}

/// For kinds that prepare nothing of their own for a change.
pub(crate) fn nothing_changed(_new: &mut Value, _old: &Value) {}

/// For kinds that get nothing when they are read back.
pub(crate) fn nothing_added(_object: &mut Value) -> bool {
    false
}

/// What is at the path, made on the way.
pub(crate) fn path_mut<'a>(object: &'a mut Value, keys: &[&str]) -> &'a mut Value {
    keys.iter().fold(object, |value, key| value.at_mut(key))
}

/// What to tell of the template at `path`, which prints as `at`.
pub(crate) fn template_warnings(object: &Value, path: &Path<'_>) -> Vec<String> {
    match object.is_null() {
        true => Vec::new(),
        false => pod::warnings(object, path, true),
    }
}

/// The warning that a name will be part of the names of pods.
pub(crate) fn pod_name_warning(object: &Value) -> impl Iterator<Item = String> {
    pod::name_warning(object, "this is used in Pod names and hostnames")
}

/// Warnings of kinds whose template is at `spec.template`: of new objects the name too, of changed
/// ones only if what is wanted changed.
pub(crate) fn spec_template_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let spec = Path::new("spec");
    let of_template =
        || template_warnings(new.path(&["spec", "template"]), &spec.child("template"));
    match old {
        None => pod_name_warning(new).chain(of_template()).collect(),
        Some(old) if generation::raised(new, old) => of_template(),
        Some(_) => Vec::new(),
    }
}

/// An object's metadata as it is shown alone: as upstream's internal version has it, which keeps in
/// fields what `apps/v1` keeps in annotations.
pub fn metadata_alone(object: &Value) -> Value {
    let mut metadata = object.at("metadata").clone();
    let moved = match (object.text("apiVersion"), object.text("kind")) {
        ("apps/v1", "DaemonSet") => daemon_set::TEMPLATE_GENERATION,
        ("apps/v1", "Deployment") => deployment::ROLLBACK_TO,
        _ => return metadata,
    };
    if let Some(annotations) = metadata.child_mut("annotations") {
        annotations.unset(moved);
        if annotations.as_object().is_some_and(Map::is_empty) {
            metadata.unset("annotations");
        }
    }
    metadata
}

impl Workload {
    fn drop_disabled(&self, object: &mut Value, old: &Value) {
        if object.path(self.template).is_object() {
            let template = path_mut(object, self.template);
            let before = old.path(self.template).at("spec");
            pod::drop_disabled_fields(template.at_mut("spec"), before);
        }
    }
}

impl CreateStrategy for Workload {
    fn prepare_for_create(&self, object: &mut Value, _cx: &Context<'_>) {
        let status = (self.empty_status)();
        if !status.is_null() {
            object.set("status", status);
        }
        generation::start(object);
        (self.prepare_for_create)(object);
        self.drop_disabled(object, &Value::Null);
    }

    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        (self.validate)(object)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        (self.name_rule)(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for Workload {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        if !(self.empty_status)().is_null() {
            keep(new, old, "status");
        }
        self.drop_disabled(new, old);
        (self.prepare_for_update)(new, old);
        let changed = (self.changed)(new, old);
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        (self.validate_update)(new, old)
    }
}

impl Strategy for Workload {
    fn set_defaults(&self, object: &mut Value) {
        (self.set_defaults)(object);
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        (self.warnings)(new, old)
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        self.status
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        match self.status {
            Some(_) => &[&["status"]],
            None => &[],
        }
    }

    fn read_back(&self, object: &mut Value) -> bool {
        (self.read_back)(object)
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        self
    }
}

impl DeleteStrategy for Workload {
    fn orphans_by_default(&self) -> bool {
        self.orphans_by_default
    }

    fn returns_deleted_object(&self) -> bool {
        self.returns_deleted_object
    }
}

/// Whether two specs mean different things.
pub(crate) fn spec_changed(new: &Value, old: &Value) -> bool {
    !crate::common::equality::same(new.at("spec"), old.at("spec"))
}

#[cfg(test)]
mod tests;
