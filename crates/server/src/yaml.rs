//! YAML as `sigs.k8s.io/yaml` writes it.

use serde_json::Value;

/// The value as YAML, keys sorted.
pub(crate) fn write(value: &Value) -> String {
    serde_yaml_ng::to_string(value).unwrap_or_default()
}
