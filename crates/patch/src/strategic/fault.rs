//! What can be wrong with a strategic merge patch.
//!
//! Upstream: `apimachinery/pkg/util/mergepatch/errors.go` and `interpretStrategicMergePatchError` in
//! `apiserver/pkg/endpoints/handlers/patch.go`.

use serde_json::{Map, Value};
use stowplan_apimachinery::{Status, go};

/// Something wrong with a patch.
#[derive(Debug)]
pub(super) enum Fault {
    /// 400
    Format(&'static str),
    /// 422
    ListOfLists,
    /// 500
    Other(String),
}

impl Fault {
    pub(super) const PRIMITIVE_LIST: Self = Self::Format("invalid patch format of primitive list");
    pub(super) const RETAIN_KEYS: Self = Self::Format("invalid patch format of retainKeys");
    pub(super) const ELEMENT_ORDER: Self =
        Self::Format("invalid patch format of setElementOrder list");

    pub(super) fn bad_directive(directive: &Value, map: &Map<String, Value>) -> Self {
        Self::Other(format!(
            "unknown patch type: {} in map: {}",
            go::string_verb(directive),
            plain(map)
        ))
    }

    pub(super) fn no_merge_key(map: &Map<String, Value>, key: &str) -> Self {
        Self::Other(format!(
            "map: {} does not contain declared merge key: {key}",
            plain(map)
        ))
    }

    /// A value of another type than the one that was expected.
    pub(super) fn bad_type(expected: &str, actual: &Value) -> Self {
        let actual = match actual {
            Value::Null => "%!s(<nil>)",
            other => go::type_name(other),
        };
        Self::Other(format!("expected a {expected}, but received a {actual}"))
    }

    pub(super) fn not_a_map(actual: &Value) -> Self {
        Self::bad_type("map[string]interface {}", actual)
    }

    pub(super) fn not_a_list(actual: &Value) -> Self {
        Self::bad_type("[]interface {}", actual)
    }
}

/// `%v` of a map.
fn plain(map: &Map<String, Value>) -> String {
    go::plain(&Value::Object(map.clone()))
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Format(message) => Self::bad_request(message),
            Fault::ListOfLists => crate::unprocessable(),
            Fault::Other(message) => Self::plain_error(message),
        }
    }
}
