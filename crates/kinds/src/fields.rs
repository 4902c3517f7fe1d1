//! What field selectors may ask for.

use serde_json::Value;
use stowplan_machinery::{View, meta};

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
}

fn metadata(object: &Value, label: &str) -> String {
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
    value: metadata,
};
