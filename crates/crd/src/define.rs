//! How CustomResourceDefinitions themselves come into being and change.
//!
//! Upstream: `pkg/registry/customresourcedefinition/strategy.go` and
//! `pkg/apis/apiextensions/v1/defaults.go`.

use crate::check;
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};
use stowplan_kinds::common::metadata;
use stowplan_kinds::{Context, CreateStrategy, Strategy, UpdateStrategy};

/// The rules of definitions.
pub struct Definitions;

/// The rules of their status.
pub struct DefinitionStatus;

/// The name of the finalizer that waits for the objects of a definition to go.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn stored_version(definition: &Value) -> Option<&str> {
    let mut versions = definition.at("spec").list("versions").iter();
    Some(versions.find(|v| v.flag("storage"))?.text("name"))
}

/// Remembers that objects may be kept in the version that is now the storage version.
fn note_stored_version(definition: &mut Value) {
    let Some(stored) = stored_version(definition).map(Value::from) else {
        return;
    };
    if !definition
        .at("status")
        .list("storedVersions")
        .contains(&stored)
    {
        definition
            .at_mut("status")
            .list_mut("storedVersions")
            .push(stored);
    }
}

impl CreateStrategy for Definitions {
    fn prepare_for_create(&self, object: &mut Value, _cx: &Context<'_>) {
        let nothing = json!({
            "acceptedNames": {"kind": "", "plural": ""},
            "conditions": null,
            "storedVersions": null,
        });
        object.set("status", nothing);
        object.at_mut("metadata").set("generation", 1);
        note_stored_version(object);
    }

    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        check::definition(object)
    }

    fn validate_name(&self, name: &str, _prefix: bool) -> Vec<String> {
        names::dns1123_subdomain(name)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for Definitions {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        new.set("status", old.at("status").clone());
        if new.at("spec") != old.at("spec") {
            let generation = old.at("metadata").int("generation").unwrap_or_default();
            new.at_mut("metadata").set("generation", generation + 1);
        }
        note_stored_version(new);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        check::definition_update(new, old)
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Definitions {
    fn set_defaults(&self, object: &mut Value) {
        let spec = object.at_mut("spec");
        let kind = spec.at("names").text("kind").to_owned();
        let own = spec.at_mut("names");
        if own.text("singular").is_empty() && !kind.is_empty() {
            own.set("singular", kind.to_lowercase());
        }
        if own.text("listKind").is_empty() && !kind.is_empty() {
            own.set("listKind", format!("{kind}List"));
        }
        if !spec.has("conversion") {
            spec.set("conversion", json!({"strategy": "None"}));
        }
        let service = spec.at("conversion").at("webhook").at("clientConfig");
        if service.has("service") {
            let service = spec
                .at_mut("conversion")
                .at_mut("webhook")
                .at_mut("clientConfig");
            service.at_mut("service").default_to("port", 443);
        }
        if object.at("status").list("storedVersions").is_empty() {
            note_stored_version(object);
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        check::format_warnings(new, old)
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&DefinitionStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

impl CreateStrategy for DefinitionStatus {
    fn validate(&self, _object: &Value, _cx: &Context<'_>) -> ErrorList {
        ErrorList::new()
    }

    fn validate_name(&self, name: &str, _prefix: bool) -> Vec<String> {
        names::dns1123_subdomain(name)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for DefinitionStatus {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        new.set("spec", old.at("spec").clone());
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        let place = Path::new("metadata");
        let mut errors = metadata::validate_update(new.at("metadata"), old.at("metadata"), &place);
        let status = Path::new("status");
        let place = status.child("acceptedNames");
        errors.extend(check::names(new.at("status").at("acceptedNames"), &place));
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for DefinitionStatus {
    fn set_defaults(&self, object: &mut Value) {
        Definitions.set_defaults(object);
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}
