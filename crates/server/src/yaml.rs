//! YAML as `sigs.k8s.io/yaml` reads and writes it.

use serde_json::Value;

/// The value as YAML, keys sorted.
pub(crate) fn write(value: &Value) -> String {
    serde_yaml_ng::to_string(value).unwrap_or_default()
}

/// The JSON that a YAML document stands for.
pub(crate) fn to_json(yaml: &[u8]) -> Result<Vec<u8>, String> {
    // JSON is YAML; what is JSON keeps its numbers as they are written.
    if yaml.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
        && serde_json::from_slice::<serde::de::IgnoredAny>(yaml).is_ok()
    {
        return Ok(yaml.to_vec());
    }
    let value: Value = serde_yaml_ng::from_slice(yaml).map_err(|e| format!("yaml: {e}"))?;
    serde_json::to_vec(&value).map_err(|e| e.to_string())
}
