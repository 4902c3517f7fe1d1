//! Faults of CustomResourceDefinitions.
//!
//! Upstream: `pkg/apis/apiextensions/validation/validation.go`, which looks at the internal form of
//! a definition: what all versions have in common stands above them.

mod fields;
mod schema;
mod structural;

pub(crate) use fields::field_path;

use crate::prune::{additional, items};
use serde_json::{Value, json};
use std::collections::HashSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path, Raw};
use stowplan_apimachinery::limits::ERRORS_TOLD_BYTES_MAX;
use stowplan_apimachinery::{Edit, View, go, names as rules};
use stowplan_kinds::common::metadata;

/// Faults of a new definition.
pub(crate) fn definition(object: &Value) -> ErrorList {
    let spec = object.at("spec");
    let wanted = format!("{}.{}", spec.at("names").text("plural"), spec.text("group"));
    let rule = |name: &str, prefix: bool| {
        let mut faults = match prefix {
            true => rules::dns1123_subdomain(&rules::mask_trailing_dash(name)),
            false => rules::dns1123_subdomain(name),
        };
        if name != wanted {
            faults.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        faults
    };
    let place = Path::new("metadata");
    let mut errors = metadata::validate(object.at("metadata"), false, &rule, &place);
    errors.extend(validate_spec(&internal(spec)));
    errors.extend(validate_status(object));
    errors.extend(approval(object, None));
    errors.extend(preserve(object));
    errors
}

/// Faults of a change.
pub(crate) fn definition_update(new: &Value, old: &Value) -> ErrorList {
    let place = Path::new("metadata");
    let mut errors = metadata::validate_update(new.at("metadata"), old.at("metadata"), &place);
    errors.extend(validate_spec(&internal(new.at("spec"))));
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let place = Path::new("spec");
    let own = place.child("names");
    if crate::names::is_true(old, "Established") {
        errors.extend(metadata::immutable(spec, before, &place, "scope"));
        let names = (spec.at("names"), before.at("names"));
        errors.extend(metadata::immutable(names.0, names.1, &own, "kind"));
    }
    errors.extend(metadata::immutable(spec, before, &place, "group"));
    let names = (spec.at("names"), before.at("names"));
    errors.extend(metadata::immutable(names.0, names.1, &own, "plural"));
    errors.extend(validate_status(new));
    errors.extend(approval(new, Some(old)));
    if !before.flag("preserveUnknownFields") {
        errors.extend(preserve(new));
    }
    errors
}

/// What all versions have in common goes above them. Upstream: `apis/apiextensions/v1/conversion.go`.
fn internal(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let first = match spec.list("versions").first() {
        Some(first) => first.clone(),
        None => return spec,
    };
    spec.set("version", first.text("name"));
    for (field, above) in [
        ("schema", "validation"),
        ("subresources", "subresources"),
        ("additionalPrinterColumns", "additionalPrinterColumns"),
        ("selectableFields", "selectableFields"),
    ] {
        let value = first.at(field);
        if spec.list("versions").iter().all(|v| v.at(field) == value) {
            if !value.is_null() {
                spec.set(above, value.clone());
            }
            spec.each_mut("versions").for_each(|v| drop(v.unset(field)));
        }
    }
    spec
}

fn label(name: &str) -> Option<String> {
    let faults = rules::dns1035_label(name);
    (!faults.is_empty()).then(|| faults.join(","))
}

fn validate_spec(spec: &Value) -> ErrorList {
    let place = Path::new("spec");
    let mut errors = ErrorList::new();
    let group = spec.text("group");
    let at = place.child("group");
    if group.is_empty() {
        errors.push(Error::required(&at, ""));
    } else {
        let faults = rules::dns1123_subdomain(group);
        if !faults.is_empty() {
            errors.push(Error::invalid(&at, group, faults.join(",")));
        } else if !group.contains('.') {
            let why = "should be a domain with at least one dot";
            errors.push(Error::invalid(&at, group, why));
        }
    }
    let scopes = ["Cluster", "Namespaced"];
    errors.extend(one_of(&place.child("scope"), spec.text("scope"), &scopes));
    let versions = place.child("versions");
    let no_schema = |holder: &Value| !holder.has("openAPIV3Schema");
    if no_schema(spec.at("validation")) {
        for (i, version) in spec.list("versions").iter().enumerate() {
            if no_schema(version.at("schema")) {
                let here = versions.index(i);
                let here = here.child("schema");
                errors.push(Error::required(&here.child("openAPIV3Schema"), ""));
            }
        }
    }
    if schema::has_defaults(spec) && spec.flag("preserveUnknownFields") {
        let why = "must be false in order to use defaults in the schema";
        errors.push(Error::invalid(
            &place.child("preserveUnknownFields"),
            true,
            why,
        ));
    }
    for (i, version) in spec.list("versions").iter().enumerate() {
        let here = versions.index(i);
        if let Some(why) = label(version.text("name")) {
            errors.push(Error::invalid(
                &here.child("name"),
                version.text("name"),
                why,
            ));
        }
        let own = match spec.has("subresources") {
            true => spec.at("subresources"),
            false => version.at("subresources"),
        };
        errors.extend(validate_version(version, own.has("status"), &here));
    }
    errors.extend(common(spec, &place));
    errors.extend(above_versions(spec, &place));
    errors
}

/// What versions may not have in common, and what they need.
fn common(spec: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let versions = spec.list("versions");
    let at = place.child("versions");
    let shown = match versions.is_empty() {
        true => spec.at("versions").to_string(),
        false => shown_versions(versions),
    };
    let mut names: Vec<&str> = versions.iter().map(|v| v.text("name")).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() != versions.len() {
        let why = "must contain unique version names";
        errors.push(Error::invalid(&at, Raw(&shown), why));
    }
    if versions.iter().filter(|v| v.flag("storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(Error::invalid(&at, Raw(&shown), why));
    }
    let version = spec.text("version");
    if let Some(why) = label(version).filter(|_| !version.is_empty()) {
        errors.push(Error::invalid(&place.child("version"), version, why));
    }
    errors
}

/// Versions as Go prints its own structs, as far as anybody looks.
fn shown_versions(versions: &[Value]) -> String {
    let one = |v: &Value| json!({"Name": v.at("name"), "Served": v.flag("served"), "Storage": v.flag("storage")});
    Value::Array(versions.iter().map(one).collect()).to_string()
}

fn above_versions(spec: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let own = place.child("names");
    for field in ["plural", "singular", "kind", "listKind"] {
        if spec.at("names").text(field).is_empty() {
            errors.push(Error::required(&own.child(field), ""));
        }
    }
    errors.extend(names(spec.at("names"), &own));
    let mut versions = spec.list("versions").iter();
    let any_status = spec.at("subresources").has("status")
        || versions.any(|v| v.at("subresources").has("status"));
    let validation = place.child("validation");
    errors.extend(schema::validate(
        spec.at("validation"),
        any_status,
        &validation,
    ));
    let below = place.child("subresources");
    errors.extend(fields::subresources(spec.at("subresources"), &below));
    let columns = place.child("additionalPrinterColumns");
    for (i, column) in spec.list("additionalPrinterColumns").iter().enumerate() {
        errors.extend(fields::column(column, &columns.index(i)));
    }
    let selectable = spec.list("selectableFields");
    let at = place.child("selectableFields");
    if !selectable.is_empty() {
        match spec.has("validation") {
            false => {
                let why = "may only be set when validations.schema is included";
                errors.push(Error::invalid(&at, "", why));
            }
            true => {
                let schema = spec.at("validation").at("openAPIV3Schema");
                errors.extend(fields::selectable(selectable, schema, &at));
            }
        }
    }
    errors.extend(conversion(
        spec.at("conversion"),
        &place.child("conversion"),
    ));
    errors
}

fn validate_version(version: &Value, has_status: bool, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if version.has("deprecationWarning") {
        let warning = version.text("deprecationWarning");
        for why in deprecation(version.flag("deprecated"), warning) {
            errors.push(Error::invalid(
                &place.child("deprecationWarning"),
                warning,
                why,
            ));
        }
    }
    errors.extend(schema::validate(
        version.at("schema"),
        has_status,
        &place.child("schema"),
    ));
    let below = place.child("subresources");
    errors.extend(fields::subresources(version.at("subresources"), &below));
    let columns = place.child("additionalPrinterColumns");
    for (i, column) in version.list("additionalPrinterColumns").iter().enumerate() {
        errors.extend(fields::column(column, &columns.index(i)));
    }
    let selectable = version.list("selectableFields");
    let at = place.child("selectableFields");
    let schema = version.at("schema").at("openAPIV3Schema");
    match (selectable.is_empty(), schema.is_null()) {
        (true, _) => {}
        (false, true) => {
            let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(Error::invalid(&at, "", why));
        }
        (false, false) => errors.extend(fields::selectable(selectable, schema, &at)),
    }
    errors
}

fn deprecation(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut faults = Vec::new();
    if warning.len() > 256 {
        faults.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        faults.push("must not be an empty string".to_owned());
    }
    let odd = warning.char_indices().find(|(_, c)| !go::is_printable(*c));
    if let Some((i, _)) = odd {
        faults.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {i}"
        ));
    }
    faults
}

fn one_of(place: &Path<'_>, value: &str, known: &[&str]) -> Option<Error> {
    match value {
        "" => Some(Error::required(place, "")),
        value if known.contains(&value) => None,
        value => Some(Error::not_supported(place, value, known)),
    }
}

fn conversion(conversion: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if conversion.is_null() {
        return errors;
    }
    let strategy = conversion.text("strategy");
    errors.extend(one_of(
        &place.child("strategy"),
        strategy,
        &["None", "Webhook"],
    ));
    let webhook = conversion.at("webhook");
    let (config, versions) = (
        webhook.at("clientConfig"),
        webhook.list("conversionReviewVersions"),
    );
    let (at_config, at_versions) = (
        place.child("webhookClientConfig"),
        place.child("conversionReviewVersions"),
    );
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if !config.is_null() {
            errors.push(Error::forbidden(&at_config, why));
        }
        if !versions.is_empty() {
            errors.push(Error::forbidden(&at_versions, why));
        }
        return errors;
    }
    if config.is_null() {
        let why = "required when strategy is set to Webhook";
        errors.push(Error::required(&at_config, why));
    } else if config.has("url") == config.has("service") {
        let why = "exactly one of url or service is required";
        errors.push(Error::required(&at_config, why));
    } else if config.has("url") {
        errors.extend(fields::webhook_url(
            config.text("url"),
            &at_config.child("url"),
        ));
    } else {
        errors.extend(fields::webhook_service(
            config.at("service"),
            &at_config.child("service"),
        ));
    }
    errors.extend(fields::review_versions(versions, &at_versions));
    errors
}

/// Faults of the names that a definition wants or has.
pub(crate) fn names(names: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for field in ["plural", "singular"] {
        let name = names.text(field);
        if let Some(why) = label(name).filter(|_| !name.is_empty()) {
            errors.push(Error::invalid(&place.child(field), name, why));
        }
    }
    for field in ["kind", "listKind"] {
        let name = names.text(field);
        if let Some(why) = label(&name.to_lowercase()).filter(|_| !name.is_empty()) {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(Error::invalid(&place.child(field), name, why));
        }
    }
    let each = |field: &'static str, errors: &mut ErrorList| {
        let at = place.child(field);
        for (i, name) in names.list(field).iter().enumerate() {
            if let Some(why) = label(name.as_str().unwrap_or_default()) {
                errors.push(Error::invalid(&at.index(i), name, why));
            }
        }
    };
    each("shortNames", &mut errors);
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(Error::invalid(&place.child("listKind"), kind, why));
    }
    each("categories", &mut errors);
    errors
}

fn validate_status(object: &Value) -> ErrorList {
    let status = Path::new("status");
    let mut errors = names(
        object.at("status").at("acceptedNames"),
        &status.child("acceptedNames"),
    );
    let place = status.child("storedVersions");
    let stored = object.at("status").list("storedVersions");
    if stored.is_empty() {
        let why = "must have at least one stored version";
        errors.push(Error::invalid(&place, Raw("null"), why));
        return errors;
    }
    let versions = object.at("spec").list("versions");
    let known: HashSet<&Value> = stored.iter().collect();
    let mut seen = HashSet::new();
    // All stored versions are shown with each that is missing: that is enough of them.
    let shown_max = ERRORS_TOLD_BYTES_MAX / object.at("status").to_string().len();
    for version in versions {
        let name = version.at("name");
        // Each name is found once: a second version of that name is missed.
        let again = !seen.insert(name);
        let missing = version.flag("storage") && (again || !known.contains(name));
        if missing && errors.len() <= shown_max {
            let why = format!("must have the storage version {}", version.text("name"));
            errors.push(Error::invalid(
                &place,
                object.at("status").at("storedVersions"),
                why,
            ));
        }
    }
    for (i, name) in stored.iter().enumerate() {
        if !seen.contains(name) {
            let text = name.as_str().unwrap_or_default();
            let why = format!(
                "missing from spec.versions; {text} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {text} and removes {text} from status.storedVersions"
            );
            errors.push(Error::invalid(&place.index(i), name, why));
        }
    }
    errors
}

const APPROVED: &str = "api-approved.kubernetes.io";

/// The state of approval and, if that is a fault, what is wrong.
fn approval_state(object: &Value) -> (u8, Option<String>) {
    let annotation = object.at("metadata").at("annotations").text(APPROVED);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    if annotation.is_empty() {
        let why = format!("protected groups must have approval annotation \"{APPROVED}\", {see}");
        return (0, Some(why));
    }
    if annotation.starts_with("unapproved") {
        return (1, None);
    }
    match annotation.split_once("://") {
        Some((scheme, rest))
            if !scheme.is_empty() && !rest.starts_with('/') && !rest.is_empty() =>
        {
            (2, None)
        }
        _ => {
            let why = format!(
                "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting with \"unapproved\", {see}"
            );
            (3, Some(why))
        }
    }
}

/// Groups of the Kubernetes community are not for everybody.
fn approval(object: &Value, old: Option<&Value>) -> Option<Error> {
    let group = object.at("spec").text("group");
    let protected = |domain: &str| {
        let rest = group.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !protected("k8s.io") && !protected("kubernetes.io") {
        return None;
    }
    let (state, fault) = approval_state(object);
    if old.is_some_and(|old| approval_state(old).0 == state) {
        return None;
    }
    let annotations = Path::new("metadata");
    let annotations = annotations.child("annotations");
    let place = annotations.key(APPROVED);
    let annotation = object.at("metadata").at("annotations").text(APPROVED);
    fault.map(|why| match state {
        0 => Error::required(&place, why),
        _ => Error::invalid(&place, annotation, why),
    })
}

fn preserve(object: &Value) -> Option<Error> {
    let place = Path::new("spec");
    object.at("spec").flag("preserveUnknownFields").then(|| {
        Error::invalid(
            &place.child("preserveUnknownFields"),
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        )
    })
}

/// Calls something for a schema and all schemas in it.
pub(crate) fn each_schema<'a>(schema: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    if !schema.is_object() {
        return;
    }
    visit(schema);
    if let Some(items) = items(schema) {
        each_schema(items, visit);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        schema.list(key).iter().for_each(|s| each_schema(s, visit));
    }
    each_schema(schema.at("not"), visit);
    for (_, property) in schema.entries("properties") {
        each_schema(property, visit);
    }
    if let Some(Some(others)) = additional(schema) {
        each_schema(others, visit);
    }
}

/// Formats that nobody looks at: one warning for each place. Those of an old definition are not
/// told again.
pub(crate) fn format_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let unknown = |definition: &Value| {
        let mut found = Vec::new();
        let spec = internal(definition.at("spec"));
        let own = spec.list("versions").iter().map(|v| v.at("schema"));
        for holder in std::iter::once(spec.at("validation")).chain(own) {
            each_schema(holder.at("openAPIV3Schema"), &mut |schema| {
                let format = schema.text("format");
                if !format.is_empty() && stowplan_apimachinery::strfmt::known(format).is_none() {
                    found.push(format.to_owned());
                }
            });
        }
        found
    };
    let before: HashSet<String> = old.map(unknown).unwrap_or_default().into_iter().collect();
    let mut now = unknown(new);
    now.retain(|format| !before.contains(format));
    now.iter()
        .map(|format| format!("unrecognized format {}", go::quote(format)))
        .collect()
}

#[cfg(test)]
mod tests;
