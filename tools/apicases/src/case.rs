//! Reading cases.

use crate::ordered::Json;
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

/// One conversation.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) family: String,
    /// Changes something that all cases share.
    pub(crate) exclusive: bool,
    /// Requests that only have to succeed.
    pub(crate) setup: Vec<Step>,
    /// Requests whose answers are compared.
    pub(crate) steps: Vec<Step>,
}

/// One request.
#[derive(Default)]
pub(crate) struct Step {
    /// All there is.
    pub(crate) fields: Map<String, Value>,
    /// The body in the order in which it was written.
    pub(crate) body: Option<Json>,
}

/// The cases of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Case>> {
    let bytes = std::fs::read(path)?;
    let mut text = String::new();
    match path.extension().is_some_and(|e| e == "zst") {
        true => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice())
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            decoder.read_to_string(&mut text)?;
        }
        false => text = String::from_utf8(bytes)?,
    }
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(parse).collect()
}

fn parse(line: &str) -> Result<Case> {
    let json: Value = serde_json::from_str(line)?;
    let ordered: Json = serde_json::from_str(line)?;
    let steps = |key: &str| -> Result<Vec<Step>> {
        let list = json[key].as_array().into_iter().flatten();
        let bodies = match ordered.get(key) {
            Some(Json::Array(steps)) => steps.as_slice(),
            _ => &[],
        };
        list.zip(bodies)
            .map(|(step, ordered)| {
                let fields = step.as_object().cloned().context("a step is no object")?;
                let body = ordered.get("body").cloned();
                Ok(Step { fields, body })
            })
            .collect()
    };
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    Ok(Case {
        name: text("name"),
        family: text("family"),
        exclusive: json["exclusive"] == true,
        setup: steps("setup")?,
        steps: steps("steps")?,
    })
}
