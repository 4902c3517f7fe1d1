//! What field selectors may ask for.

use serde_json::Value;
use stowplan_apimachinery::{View, go, meta};

/// The selectable fields of a kind.
pub struct Fields {
    /// The labels that may be asked for.
    pub known: &'static [&'static str],
    /// Which sentence an unknown label is refused with.
    pub refusal: Refusal,
    /// The value of a known label for an object.
    pub value: fn(&Value, &str) -> String,
}

/// How an unknown field label is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`
    OnlyMetadata,
    /// `field label not supported: x`
    NotSupported,
    /// `field label "x" not supported for Job`
    NotSupportedFor(&'static str),
    /// `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x`
    NotSupportedForType(&'static str),
}

impl Refusal {
    /// What is said of a label that is not known.
    pub fn message(self, label: &str) -> String {
        match self {
            Self::OnlyMetadata => format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                go::quote(label)
            ),
            Self::NotSupported => format!("field label not supported: {label}"),
            Self::NotSupportedFor(kind) => {
                format!("field label {} not supported for {kind}", go::quote(label))
            }
            Self::NotSupportedForType(kind) => {
                format!("field label not supported for {kind}: {label}")
            }
        }
    }
}

/// The value at a dotted path, which is what most labels are.
pub(crate) fn by_path(object: &Value, label: &str) -> String {
    match label {
        "metadata.name" => meta::name(object).to_owned(),
        "metadata.namespace" => meta::namespace(object).to_owned(),
        path => {
            let keys: Vec<&str> = path.split('.').collect();
            match object.path(&keys) {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            }
        }
    }
}

/// For kinds without fields of their own.
pub(crate) static METADATA: Fields = Fields {
    known: &["metadata.name", "metadata.namespace"],
    refusal: Refusal::OnlyMetadata,
    value: by_path,
};

/// `metadata.name`, `metadata.namespace` and one number of the status.
macro_rules! with_status_number {
    ($name:ident, $label:literal, $field:literal, $refusal:expr) => {
        pub(crate) static $name: Fields = Fields {
            known: &["metadata.name", "metadata.namespace", $label],
            refusal: $refusal,
            value: |object, label| match label {
                $label => {
                    let number = object.at("status").int($field);
                    number.unwrap_or_default().to_string()
                }
                label => by_path(object, label),
            },
        };
    };
}

with_status_number!(
    REPLICATION_CONTROLLER_FIELDS,
    "status.replicas",
    "replicas",
    Refusal::NotSupported
);
with_status_number!(
    JOB_FIELDS,
    "status.successful",
    "succeeded",
    Refusal::NotSupportedFor("Job")
);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_refused_in_three_ways() {
        let refused = |fields: &Fields| fields.refusal.message("spec.x");
        assert_eq!(
            refused(&METADATA),
            r#""spec.x" is not a known field selector: only "metadata.name", "metadata.namespace""#
        );
        assert_eq!(
            refused(&REPLICATION_CONTROLLER_FIELDS),
            "field label not supported: spec.x"
        );
        assert_eq!(
            refused(&JOB_FIELDS),
            r#"field label "spec.x" not supported for Job"#
        );
    }

    #[test]
    fn numbers_of_the_status_can_be_asked_for() {
        let job = json!({"metadata": {"name": "a"}, "status": {"succeeded": 2}});
        assert_eq!((JOB_FIELDS.value)(&job, "status.successful"), "2");
        assert_eq!((JOB_FIELDS.value)(&job, "metadata.name"), "a");
        let none = json!({});
        assert_eq!(
            (REPLICATION_CONTROLLER_FIELDS.value)(&none, "status.replicas"),
            "0"
        );
    }
}
