//! Text → documents → objects.

use super::error::Problem;
use super::kinds::{Sort, sort};
use super::{Input, Kind, LoadError, Loaded, Object, Source};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Reads all documents of a text. JSON is tried first where the text looks like it: it is much
/// faster to read, and large dumps are JSON.
pub(super) fn read(input: &mut Input, file: &Arc<str>, bytes: &[u8]) {
    let mut reader = Reader { input, file };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = bytes[..error.valid_up_to()]
                .split(|byte| *byte == b'\n')
                .count();
            return reader.input.errors.push(LoadError::File {
                file: file.to_string(),
                message: format!("line {line}: not UTF-8 text"),
            });
        }
    };
    let is_json = file.ends_with(".json");
    if is_json || text.trim_start().starts_with('{') {
        match json_documents(text) {
            Ok(documents) => {
                for (i, document) in documents.iter().enumerate() {
                    let at = reader.at(i + 1);
                    reader.json(&at, document, None);
                }
                return;
            }
            Err((document, error)) if is_json => {
                return reader.fail(&reader.at(document), Problem::whole(error.to_string()));
            }
            // A flow mapping, or JSON documents between `---` lines.
            Err(_) => {}
        }
    }
    reader.yaml(text);
}

/// The documents of a JSON text, or which of them is broken.
fn json_documents(text: &str) -> Result<Vec<&RawValue>, (usize, serde_json::Error)> {
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter() {
        documents.push(document.map_err(|error| (documents.len() + 1, error))?);
    }
    Ok(documents)
}

/// A list whose items are read one by one: a dump can be large, and its values are larger.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawList<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

struct Reader<'a> {
    input: &'a mut Input,
    file: &'a Arc<str>,
}

impl Reader<'_> {
    fn at(&self, document: usize) -> Source {
        Source {
            file: self.file.clone(),
            document,
            item: None,
        }
    }

    fn fail(&mut self, at: &Source, problem: Problem) {
        self.input.errors.push(LoadError::object(at, problem));
    }

    fn json(&mut self, at: &Source, raw: &RawValue, listed: Option<Kind>) {
        if at.item.is_none()
            && let Ok(list) = serde_json::from_str::<RawList<'_>>(raw.get())
            && let Ok(Sort::List(kind)) = sort(&list.api_version, &list.kind)
        {
            for (i, item) in list.items.into_iter().enumerate() {
                self.json(
                    &Source {
                        item: Some(i),
                        ..at.clone()
                    },
                    item,
                    kind,
                );
            }
            return;
        }
        match serde_json::from_str(raw.get()) {
            Ok(value) => self.value(at, value, listed),
            Err(error) => self.fail(at, Problem::whole(error.to_string())),
        }
    }

    fn yaml(&mut self, text: &str) {
        for (i, document) in serde_yaml_ng::Deserializer::from_str(text).enumerate() {
            let at = self.at(i + 1);
            match yaml_value(document) {
                Ok(value) => self.value(&at, value, None),
                Err(error) => {
                    let broken = error.location().is_some();
                    self.fail(&at, Problem::whole(error.to_string()));
                    // Behind a syntax error there is no telling where the next document starts.
                    if broken {
                        return;
                    }
                }
            }
        }
    }

    fn value(&mut self, at: &Source, mut value: Value, listed: Option<Kind>) {
        if value.is_null() {
            return;
        }
        let Value::Object(fields) = &mut value else {
            let problem = format!("{}, expected an object", shape(&value));
            return self.fail(at, Problem::whole(problem));
        };
        let sorted = text_field(fields.get("apiVersion"), "apiVersion").and_then(|api_version| {
            let kind = text_field(fields.get("kind"), "kind")?;
            match (api_version, kind, listed) {
                ("", "", Some(listed)) => Ok(Sort::Object(listed)),
                ("", _, _) => Err(Problem::at(
                    "apiVersion",
                    "missing, expected for example \"v1\"",
                )),
                (_, "", _) => Err(Problem::at("kind", "missing, expected for example \"Pod\"")),
                (api_version, kind, _) => sort(api_version, kind),
            }
        });
        match sorted {
            Ok(Sort::Object(kind)) => {
                // Items of a typed list need not repeat what they are.
                fields.insert("apiVersion".to_owned(), kind.api_version().into());
                fields.insert("kind".to_owned(), kind.as_str().into());
                self.object(at, kind, &value);
            }
            Ok(Sort::List(kind)) => match fields.remove("items") {
                None | Some(Value::Null) => {}
                Some(Value::Array(items)) => {
                    for (i, item) in items.into_iter().enumerate() {
                        self.value(
                            &Source {
                                item: Some(i),
                                ..at.clone()
                            },
                            item,
                            kind,
                        );
                    }
                }
                Some(other) => {
                    let problem = format!("{}, expected a list", shape(&other));
                    self.fail(at, Problem::at("items", problem));
                }
            },
            Ok(Sort::PassOver) => {
                let kind = fields
                    .get("kind")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                *self.input.passed_over.entry(kind.to_owned()).or_default() += 1;
            }
            Err(problem) => self.fail(at, problem),
        }
    }

    fn object(&mut self, at: &Source, kind: Kind, value: &Value) {
        let mut unknown = Vec::new();
        match Object::decode(kind, value, &mut unknown) {
            Ok(object) => {
                // Once per object, however often it repeats the slip.
                unknown.dedup();
                for field in unknown {
                    let entry = self.input.unknown_fields.entry((kind, field));
                    entry.or_insert_with(|| (at.clone(), 0)).1 += 1;
                }
                self.input.objects.push(Loaded {
                    source: at.clone(),
                    object,
                });
            }
            Err(error) => {
                let title = format!("{} {}", kind.as_str(), name_of(value));
                self.fail(at, Problem::whole(format!("{title}: {error}")));
            }
        }
    }
}

/// By way of YAML's own values, because they do not accept a key twice.
fn yaml_value(document: serde_yaml_ng::Deserializer<'_>) -> Result<Value, serde_yaml_ng::Error> {
    let mut value = serde_yaml_ng::Value::deserialize(document)?;
    value.apply_merge()?;
    serde_json::to_value(value).map_err(serde::de::Error::custom)
}

fn text_field<'a>(value: Option<&'a Value>, field: &str) -> Result<&'a str, Problem> {
    match value {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(Problem::at(
            field,
            format!("{}, expected a text", shape(other)),
        )),
    }
}

/// `namespace/name` as far as they can be made out.
fn name_of(value: &Value) -> String {
    let field = |field: &str| value.get("metadata")?.get(field)?.as_str();
    let name = field("name")
        .or_else(|| field("generateName"))
        .unwrap_or("(without a name)");
    match field("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
