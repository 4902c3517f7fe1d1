//! Faults of events. Both kinds are judged in the words of the core group, by different rules.
//!
//! Upstream: `pkg/apis/core/validation/events.go`, `pkg/registry/core/event/strategy.go`.

use super::to_core;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::{self, Internal};
use crate::common::{IMMUTABLE, kube_metadata, name_rules};
use crate::fields::{Fields, Refusal, by_path};
use crate::{Context, CreateStrategy, DeleteStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, meta, names};

/// The fields of `ObjectReference`.
const REFERENCE: [&str; 7] = [
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
];

/// The fields of `EventSource`.
const SOURCE: [&str; 2] = ["component", "host"];

/// An event of the core group.
pub(crate) struct Event;

/// An event of `events.k8s.io/v1`.
pub(crate) struct EventV1;

pub(crate) static FIELDS: Fields = Fields {
    known: &[
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
        "metadata.namespace",
        "metadata.name",
    ],
    refusal: Refusal::NotSupported,
    value: |event, label| match label {
        "source" => match event.at("source").text("component") {
            "" => event.text("reportingComponent").to_owned(),
            component => component.to_owned(),
        },
        label => by_path(event, label),
    },
};

pub(crate) static FIELDS_V1: Fields = Fields {
    known: &[
        "reason",
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reportingController",
        "type",
        "metadata.namespace",
        "metadata.name",
    ],
    refusal: Refusal::NotSupported,
    value: by_path,
};

impl CreateStrategy for Event {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, "reportingComponent")
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        names::path_segment(name, prefix)
    }
}

impl UpdateStrategy for Event {
    fn validate_update(&self, new: &Value, _: &Value, _: &Context<'_>) -> ErrorList {
        validate(new, "reportingComponent")
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for Event {
    fn deletion(&self) -> &dyn DeleteStrategy {
        self
    }
}

impl DeleteStrategy for Event {
    fn collects_garbage(&self) -> bool {
        false
    }
}

impl CreateStrategy for EventV1 {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let event = to_core(object);
        let mut errors = validate(&event, "reportingController");
        errors.extend(kube_metadata::validate(
            &event,
            true,
            &name_rules::dns_subdomain,
        ));
        errors.extend(validate_series(&event));
        if !event.has("eventTime") {
            errors.required(&Path::new("eventTime"), "");
        }
        let kind = event.text("type");
        if !matches!(kind, "Normal" | "Warning") {
            let fault = format!("has invalid value: {kind}");
            errors.invalid(&Path::new("type"), "", fault);
        }
        let source = event.at("source");
        let sourced = !source.text("component").is_empty() || !source.text("host").is_empty();
        for (field, set) in [
            ("firstTimestamp", event.has("firstTimestamp")),
            ("lastTimestamp", event.has("lastTimestamp")),
            ("count", event.int("count").unwrap_or_default() != 0),
            ("source", sourced),
        ] {
            if set {
                errors.invalid(&Path::new(field), "", "needs to be unset");
            }
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for EventV1 {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let (event, old) = (to_core(new), to_core(old));
        let mut errors = validate(&event, "reportingController");
        errors.extend(kube_metadata::validate_update(&event, &old));
        if event.at("series") != old.at("series") {
            errors.extend(validate_series(&event));
        }
        errors.extend(validate_unchanged(&event, &old));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for EventV1 {
    fn deletion(&self) -> &dyn DeleteStrategy {
        self
    }
}

impl DeleteStrategy for EventV1 {
    fn collects_garbage(&self) -> bool {
        false
    }
}

fn validate_series(event: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let series = event.at("series");
    if !series.is_null() {
        if series.int("count").unwrap_or_default() < 2 {
            errors.invalid(&Path::new("series.count"), "", "should be at least 2");
        }
        if !series.has("lastObservedTime") {
            errors.required(&Path::new("series.lastObservedTime"), "");
        }
    }
    errors
}

/// All but the series stays as it was written.
fn validate_unchanged(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    for field in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        let (value, before) = (new.at(field), old.at(field));
        if same(value, before) {
            continue;
        }
        let name = match field {
            "reportingComponent" => "reportingController",
            field => field,
        };
        let path = Path::new(name);
        match value {
            Value::Object(_) => {
                let fields: &[&str] = if field == "source" {
                    &SOURCE
                } else {
                    &REFERENCE
                };
                let value = internal::whole(value, fields, &Value::from(""));
                errors.invalid(&path, Internal(&value), IMMUTABLE);
            }
            Value::Null if field == "count" => errors.invalid(&path, 0_i64, IMMUTABLE),
            Value::Null
                if !field.ends_with("imestamp") && field != "eventTime" && field != "related" =>
            {
                errors.invalid(&path, "", IMMUTABLE);
            }
            value => errors.invalid(&path, value, IMMUTABLE),
        }
    }
    errors
}

/// The rules for all events. With an event time a new-style event is meant, and more is demanded.
fn validate(event: &Value, controller_field: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let namespace = meta::namespace(event);
    let involved = event.at("involvedObject").text("namespace");
    let path = Path::new("involvedObject");
    let path = path.child("namespace");
    let fault = "does not match event.namespace";
    if event.has("eventTime") {
        if involved.is_empty() && !matches!(namespace, "default" | "kube-system") {
            errors.invalid(&path, involved, fault);
        }
        validate_new_style(event, controller_field, &mut errors);
    } else {
        let fits = match involved {
            "" => matches!(namespace, "" | "default"),
            involved => involved == namespace,
        };
        if !fits {
            errors.invalid(&path, involved, fault);
        }
    }
    let faults = names::dns1123_subdomain(namespace);
    errors.invalid_each(&Path::new("namespace"), namespace, faults);
    errors
}

fn validate_new_style(event: &Value, controller_field: &str, errors: &mut ErrorList) {
    let controller = event.text("reportingComponent");
    let path = Path::new(controller_field);
    if controller.is_empty() {
        errors.required(&path, "");
    }
    errors.invalid_each(&path, controller, names::label_key(controller));
    for (field, needed, most) in [
        ("reportingInstance", true, 128),
        ("action", true, 128),
        ("reason", true, 128),
        ("message", false, 1024),
    ] {
        let text = event.text(field);
        let path = Path::new(field);
        if needed && text.is_empty() {
            errors.required(&path, "");
        }
        if text.len() > most {
            let fault = format!("can have at most {most} characters");
            errors.invalid(&path, "", fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    #[test]
    fn an_old_event_is_about_something_in_its_namespace() {
        let event = |namespace: &str| json!({"metadata": {"namespace": "n"}, "involvedObject": {"namespace": namespace}});
        assert!(faults(&Event, &event("n")).is_empty());
        let fault =
            "involvedObject.namespace: Invalid value: \"m\": does not match event.namespace";
        assert_eq!(faults(&Event, &event("m")), [fault]);
    }

    #[test]
    fn a_new_event_says_who_did_what() {
        let event = json!({"metadata": {"name": "a", "namespace": "n"},
            "regarding": {"namespace": "n"}, "eventTime": "2024-01-02T03:04:05.000000Z",
            "series": {"count": 1}, "deprecatedCount": 1, "reason": "r".repeat(129)});
        let found = faults(&EventV1, &event);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "reportingController",
                "reportingController",
                "reportingController",
                "reportingInstance",
                "action",
                "reason",
                "series.count",
                "series.lastObservedTime",
                "type",
                "count",
            ]
        );
        let core = to_core(&event);
        assert!(faults(&Event, &core)[0].starts_with("reportingComponent: Required value"));
    }

    #[test]
    fn a_new_event_stays_as_it_is() {
        let old = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "regarding": {"namespace": "n"}, "eventTime": "2024-01-02T03:04:05.000000Z",
            "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R",
            "type": "Normal"});
        let mut new = old.clone();
        new["reason"] = json!("Other");
        new["regarding"]["name"] = json!("x");
        assert_eq!(
            update_faults(&EventV1, &new, &old),
            [
                "involvedObject: Invalid value: {\"ApiVersion\":\"\",\"FieldPath\":\"\",\"Kind\":\"\",\
                 \"Name\":\"x\",\"Namespace\":\"n\",\"ResourceVersion\":\"\",\"Uid\":\"\"}: field is immutable",
                "reason: Invalid value: \"Other\": field is immutable",
                "reason: Invalid value: \"Other\": field is immutable",
            ]
        );
    }
}
