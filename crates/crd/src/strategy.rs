//! The rules of custom resources: `pkg/registry/customresource/{strategy,status_strategy,validator}.go`.

use crate::scale::Scale;
use crate::{default, embedded, list_type, rules, validate};
use serde_json::Value;
use std::collections::HashSet;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View, go, names};
use stowplan_kinds::common::metadata;
use stowplan_kinds::{Context, CreateStrategy, Strategy, UpdateStrategy};

/// The rules of the objects of one version, or of their status.
pub struct Rules {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) schema: Value,
    pub(crate) scale: Option<Scale>,
    pub(crate) has_status: bool,
    pub(crate) of_status: bool,
}

fn name_rule(name: &str, prefix: bool) -> Vec<String> {
    match prefix {
        true => names::dns1123_subdomain(&names::mask_trailing_dash(name)),
        false => names::dns1123_subdomain(name),
    }
}

/// Rules in a language of their own are not run on objects that are badly wrong already.
fn blocking(errors: &[Error]) -> Option<Error> {
    let blocks = |error: &Error| {
        matches!(
            error.kind,
            ErrorKind::NotSupported
                | ErrorKind::Required
                | ErrorKind::TooLong
                | ErrorKind::TooMany
                | ErrorKind::TypeInvalid
        )
    };
    errors.iter().any(blocks).then(|| {
        Error::invalid(
            &Path::ROOT,
            Raw("null"),
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        )
    })
}

impl Rules {
    fn type_faults(&self, object: &Value) -> ErrorList {
        let mut errors = ErrorList::new();
        for (field, wanted) in [("kind", &self.kind), ("apiVersion", &self.api_version)] {
            if object.text(field) != wanted {
                let why = format!("must be {wanted}");
                errors.push(Error::invalid(&Path::new(field), object.text(field), why));
            }
        }
        errors
    }

    fn scale_faults(&self, object: &Value) -> ErrorList {
        let mut errors = ErrorList::new();
        if let Some(scale) = &self.scale {
            if !self.of_status {
                errors.extend(scale.validate_spec(object));
            }
            errors.extend(scale.validate_status(object));
        }
        errors
    }

    /// What the rules in the schema (`x-kubernetes-validations`) say, if they can be run.
    fn rules(&self, errors: &mut ErrorList, new: &Value, old: Option<&Value>) {
        if !rules::has_rules(&self.schema) {
            return;
        }
        match blocking(errors) {
            Some(error) => errors.push(error),
            None => errors.extend(rules::validate(&self.schema, new, old)),
        }
    }

    fn lists(&self, object: &Value) -> ErrorList {
        list_type::validate(&Path::ROOT, &self.schema, object)
    }
}

impl CreateStrategy for Rules {
    fn prepare_for_create(&self, object: &mut Value, _cx: &Context<'_>) {
        if self.has_status {
            object.unset("status");
        }
        object.at_mut("metadata").set("generation", 1);
    }

    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        let mut errors = self.type_faults(object);
        if errors.is_empty() {
            let place = Path::new("metadata");
            let own = object.at("metadata");
            errors.extend(metadata::validate(own, self.namespaced, &name_rule, &place));
            errors.extend(validate::validate(&Path::ROOT, &self.schema, object));
            errors.extend(self.scale_faults(object));
        }
        errors.extend(embedded::validate(&Path::ROOT, object, &self.schema));
        errors.extend(self.lists(object));
        self.rules(&mut errors, object, None);
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rule(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for Rules {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        if self.of_status {
            let status = new.unset("status");
            let owners = new.at_mut("metadata").unset("managedFields");
            *new = old.clone();
            let metadata = new.at_mut("metadata");
            match owners {
                Some(owners) => metadata.set("managedFields", owners),
                None => drop(metadata.unset("managedFields")),
            }
            match status {
                Some(status) => new.set("status", status),
                None => drop(new.unset("status")),
            }
            return;
        }
        if self.has_status {
            match old.get("status") {
                Some(status) => new.set("status", status.clone()),
                None => drop(new.unset("status")),
            }
        }
        let rest = |object: &Value| {
            let mut rest = object.clone();
            rest.unset("metadata");
            rest
        };
        if rest(new) != rest(old) {
            let generation = old.at("metadata").int("generation").unwrap_or_default();
            new.at_mut("metadata").set("generation", generation + 1);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        let mut errors = self.type_faults(new);
        if errors.is_empty() {
            let place = Path::new("metadata");
            let own = (new.at("metadata"), old.at("metadata"));
            errors.extend(metadata::validate_update(own.0, own.1, &place));
            if !self.of_status {
                let found = validate::validate_change(&Path::ROOT, &self.schema, new, old);
                errors.extend(found);
            } else if let Some(status) = new.get("status") {
                let schema = self.schema.at("properties").at("status");
                let place = Path::new("status");
                let found = match old.get("status") {
                    Some(old) => validate::validate_change(&place, schema, status, old),
                    None => validate::validate(&place, schema, status),
                };
                errors.extend(found);
            }
            errors.extend(self.scale_faults(new));
        }
        if !self.of_status {
            errors.extend(embedded::validate(&Path::ROOT, new, &self.schema));
        }
        if self.lists(old).is_empty() {
            errors.extend(self.lists(new));
        }
        self.rules(&mut errors, new, Some(old));
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Rules {
    fn set_defaults(&self, object: &mut Value) {
        default::fill_only(object, &self.schema);
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let finalizers = |object: &Value| object.at("metadata").list("finalizers").to_vec();
        let before: HashSet<Value> = old
            .map(finalizers)
            .unwrap_or_default()
            .into_iter()
            .collect();
        let mut added = finalizers(new);
        added.retain(|f| !before.contains(f));
        let mut added: Vec<&str> = added.iter().filter_map(Value::as_str).collect();
        added.sort_unstable();
        added.dedup();
        added.into_iter().flat_map(finalizer_warnings).collect()
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        match (self.of_status, self.has_status) {
            (true, _) => &[&["metadata"], &["spec"]],
            (false, true) => &[&["status"]],
            (false, false) => &[],
        }
    }
}

/// Upstream: `validateKubeFinalizerName`.
fn finalizer_warnings(finalizer: &str) -> Vec<String> {
    let quoted = go::quote(finalizer);
    let say = |why: &str| format!("metadata.finalizers: {quoted}: {why}");
    let faults = names::label_key(finalizer);
    let mut warnings: Vec<String> = faults.iter().map(|fault| say(fault)).collect();
    let standard = ["orphan", "foregroundDeletion", "kubernetes"];
    if !finalizer.contains('/') && !standard.contains(&finalizer) {
        warnings.push(say(match finalizer.contains('.') {
            true => "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers",
            false => "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers",
        }));
    }
    warnings
}
