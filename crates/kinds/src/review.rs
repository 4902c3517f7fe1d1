//! Questions about access: the review kinds, which are asked and never stored.
//!
//! Upstream: `pkg/apis/authorization/validation/validation.go`,
//! `pkg/apis/authentication/validation/validation.go`. A refusal names no kind:
//! `.authorization.k8s.io "" is invalid`.

use crate::common::faults::Faults;
use crate::common::labels;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, meta, names};

/// SubjectAccessReview.
pub(crate) struct SubjectAccessReview;
/// SelfSubjectAccessReview.
pub(crate) struct SelfSubjectAccessReview;
/// LocalSubjectAccessReview.
pub(crate) struct LocalSubjectAccessReview;

static SPEC: Path<'static> = Path::new("spec");

macro_rules! asked {
    ($kind:ident, $validate:expr) => {
        impl CreateStrategy for $kind {
            fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
                $validate(object)
            }

            fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
                names::path_segment(name, prefix)
            }
        }

        impl UpdateStrategy for $kind {
            fn validate_update(&self, new: &Value, _: &Value, _: &Context<'_>) -> ErrorList {
                $validate(new)
            }
        }

        impl Strategy for $kind {}
    };
}

asked!(SubjectAccessReview, |review: &Value| {
    let mut errors = validate_spec(review.at("spec"), true);
    metadata_is_empty(review, &[], "must be empty", &mut errors);
    errors
});

asked!(SelfSubjectAccessReview, |review: &Value| {
    let mut errors = validate_spec(review.at("spec"), false);
    metadata_is_empty(review, &[], "must be empty", &mut errors);
    errors
});

asked!(LocalSubjectAccessReview, |review: &Value| {
    let spec = review.at("spec");
    let mut errors = validate_spec(spec, true);
    let fault = "must be empty except for namespace";
    metadata_is_empty(review, &["namespace"], fault, &mut errors);
    let resource = spec.at("resourceAttributes");
    let namespace = resource.text("namespace");
    if !resource.is_null() && namespace != meta::namespace(review) {
        let path = Path::new("spec.resourceAttributes.namespace");
        errors.invalid(&path, namespace, "must match metadata.namespace");
    }
    let other = spec.at("nonResourceAttributes");
    if !other.is_null() {
        let path = Path::new("spec.nonResourceAttributes");
        errors.invalid(&path, shown(other), "disallowed on this kind of request");
    }
    errors
});

fn metadata_is_empty(review: &Value, allowed: &[&str], fault: &str, errors: &mut ErrorList) {
    let mut rest = review.at("metadata").clone();
    for key in allowed.iter().chain(&["managedFields"]) {
        rest.unset(key);
    }
    let fields = rest.as_object().into_iter().flatten();
    if fields.into_iter().any(|(_, value)| !value.is_null()) {
        errors.invalid(&Path::new("metadata"), review.at("metadata"), fault);
    }
}

/// Attributes of a path in the form of upstream's internal type.
fn shown(attributes: &Value) -> Value {
    match attributes {
        Value::Null => Value::Null,
        set => json!({"Path": set.text("path"), "Verb": set.text("verb")}),
    }
}

fn validate_spec(spec: &Value, of_others: bool) -> ErrorList {
    let mut errors = ErrorList::new();
    let (resource, path) = (
        spec.at("resourceAttributes"),
        spec.at("nonResourceAttributes"),
    );
    if !resource.is_null() && !path.is_null() {
        let fault = "cannot be specified in combination with resourceAttributes";
        errors.invalid(&SPEC.child("nonResourceAttributes"), shown(path), fault);
    }
    if resource.is_null() && path.is_null() {
        let fault = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.invalid(&SPEC.child("resourceAttributes"), Value::Null, fault);
    }
    if of_others && spec.text("user").is_empty() && spec.list("groups").is_empty() {
        let fault = "at least one of user or group must be specified";
        errors.invalid(&SPEC.child("user"), "", fault);
    }
    let path = Path::new("spec.resourceAttributes");
    for (field, of_labels) in [("fieldSelector", false), ("labelSelector", true)] {
        let selector = resource.at(field);
        if !selector.is_null() {
            validate_selector(selector, of_labels, &path.child(field), &mut errors);
        }
    }
    errors
}

fn validate_selector(selector: &Value, of_labels: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let raw = selector.text("rawSelector");
    let requirements = selector.list("requirements");
    if !raw.is_empty() && !requirements.is_empty() {
        let fault = "may not specified at the same time as requirements";
        errors.invalid(&path.child("rawSelector"), raw, fault);
    }
    if raw.is_empty() && requirements.is_empty() {
        let fault = format!("when {path} is specified, requirements or rawSelector is required");
        errors.required(&path.child("requirements"), fault);
    }
    let path = path.child("requirements");
    for (i, requirement) in requirements.iter().enumerate() {
        validate_requirement(requirement, of_labels, &path.index(i), errors);
    }
}

/// Operators that are not known are left for others to judge.
fn validate_requirement(
    requirement: &Value,
    of_labels: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let values = requirement.list("values");
    let key = requirement.text("key");
    if !of_labels && key.is_empty() {
        errors.required(&path.child("key"), "must be specified");
    }
    match requirement.text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        _ => {}
    }
    if of_labels {
        errors.extend(labels::validate_name(key, &path.child("key")));
        let path = path.child("values");
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            errors.invalid_each(&path.index(i), value, names::label_value(value));
        }
    }
}

/// Faults of a TokenRequest (`serviceaccounts/token`).
pub fn validate_token_request(request: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = SPEC.child("expirationSeconds");
    let seconds = request
        .at("spec")
        .int("expirationSeconds")
        .unwrap_or_default();
    if seconds < 600 {
        let fault = "may not specify a duration less than 10 minutes";
        errors.invalid(&path, seconds, fault);
    }
    if seconds > 1 << 32 {
        let fault = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(&path, seconds, fault);
    }
    errors
}

/// Defaults of a TokenRequest.
pub fn default_token_request(request: &mut Value) {
    request.at_mut("spec").default_to("expirationSeconds", 3600);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;

    #[test]
    fn a_review_asks_one_question() {
        let both = json!({"spec": {"user": "u", "resourceAttributes": {},
            "nonResourceAttributes": {"path": "/"}}});
        assert_eq!(
            faults(&SubjectAccessReview, &both),
            [
                "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: cannot be specified in combination with resourceAttributes"
            ]
        );
        let none = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let nobody =
            "spec.user: Invalid value: \"\": at least one of user or group must be specified";
        let empty = json!({"spec": {}});
        assert_eq!(faults(&SubjectAccessReview, &empty), [none, nobody]);
        assert_eq!(faults(&SelfSubjectAccessReview, &empty), [none]);
    }

    #[test]
    fn a_local_review_stays_in_its_namespace() {
        let review = json!({"metadata": {"namespace": "n", "name": "x"}, "spec": {"user": "u",
            "resourceAttributes": {"namespace": "m"}}});
        assert_eq!(
            faults(&LocalSubjectAccessReview, &review),
            [
                "metadata: Invalid value: {\"name\":\"x\",\"namespace\":\"n\"}: must be empty except for namespace",
                "spec.resourceAttributes.namespace: Invalid value: \"m\": must match metadata.namespace",
            ]
        );
    }

    #[test]
    fn tokens_last_between_ten_minutes_and_a_lifetime() {
        let mut request = json!({});
        default_token_request(&mut request);
        assert!(validate_token_request(&request).is_empty());
        for seconds in [1_i64, (1 << 32) + 1] {
            let request = json!({"spec": {"expirationSeconds": seconds}});
            assert_eq!(validate_token_request(&request).len(), 1);
        }
    }
}
