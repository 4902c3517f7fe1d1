//! YAML as `sigs.k8s.io/yaml` reads and writes it, which is YAML 1.1 as Go's `yaml.v2` knows it:
//! `yes` is true, `010` is eight, lists are not indented, long lines are folded.

mod aliases;
mod emitter;
mod error;
mod lines;
mod reader;
mod resolve;
mod scalar;
mod survey;
#[cfg(test)]
mod tests;

use crate::decode::parse_json;
use serde_json::Value;

/// A YAML document as JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Converted {
    /// With keys in order, as Go writes maps.
    pub json: Vec<u8>,
    /// Duplicate keys, in upstream's words; at most one text, with a line per key.
    pub problems: Vec<String>,
}

/// Converts the first document of a text. The error is upstream's.
pub fn to_json(yaml: &[u8]) -> Result<Converted, String> {
    // JSON is YAML, and most of what is sent as YAML is JSON.
    if yaml.trim_ascii_start().starts_with(b"{")
        && let Ok(decoded) = parse_json(yaml)
        && decoded.problems.is_empty()
    {
        return Ok(Converted {
            json: decoded.object.to_string().into_bytes(),
            problems: Vec::new(),
        });
    }
    let (value, duplicates) = reader::read(yaml, reader::Trust::Request)?;
    let problems = problems(&duplicates);
    Ok(Converted {
        json: value.to_string().into_bytes(),
        problems,
    })
}

/// A YAML document as a value.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadFile {
    /// Null if there is nothing in it.
    pub value: Value,
    /// Duplicate keys, in upstream's words; at most one text, with a line per key.
    pub problems: Vec<String>,
}

/// Reads the first document of a text that one's own user has written: it may be larger than a request.
pub fn read_file(yaml: &[u8]) -> Result<ReadFile, String> {
    let (value, duplicates) = reader::read(yaml, reader::Trust::File)?;
    let problems = problems(&duplicates);
    Ok(ReadFile { value, problems })
}

fn problems(duplicates: &[String]) -> Vec<String> {
    match duplicates.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "yaml: unmarshal errors:\n  {}",
            duplicates.join("\n  ")
        )],
    }
}

/// Writes a value as YAML, line end included.
pub fn from_json(value: &Value) -> String {
    emitter::Emitter::default().document(value)
}
