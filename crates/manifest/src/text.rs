//! Text → documents → objects of known kinds.

use crate::error::Problem;
use crate::kinds::{Known, Sort, sort};
use crate::{Input, LoadError, Manifest, Source};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use stowplan_schema::{TypeMeta, type_meta, yaml};

/// Reads all documents of a text. JSON is tried first where the text looks like it: it is much
/// faster to read, and large dumps are JSON.
pub(crate) fn read(input: &mut Input, file: &Arc<str>, bytes: Bytes) {
    let mut reader = Reader { input, file, bytes };
    let bytes = reader.bytes.clone();
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = line_of(&bytes, error.valid_up_to());
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

/// The line in which something stands, from 1.
fn line_of(text: &[u8], at: usize) -> usize {
    text[..at].split(|byte| *byte == b'\n').count()
}

/// The documents of a JSON text, or which of them is broken.
fn json_documents(text: &str) -> Result<Vec<&RawValue>, (usize, serde_json::Error)> {
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter() {
        documents.push(document.map_err(|error| (documents.len() + 1, error))?);
    }
    Ok(documents)
}

/// The documents of a YAML text with the line before each. They begin at lines that start with `---`.
fn yaml_documents(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut first, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let rest = line.strip_prefix("---");
        let begins = rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace())
        });
        if begins {
            documents.push((first, &text[start..at]));
            (start, first) = (at, number);
        }
        at += line.len();
    }
    documents.push((first, &text[start..]));
    documents.retain(|(_, document)| !is_blank(document));
    documents
}

/// Whether there is nothing in a document but comments and its marks.
fn is_blank(document: &str) -> bool {
    document.lines().all(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim_start();
        line.is_empty() || line.starts_with('#') || line.trim_end() == "..."
    })
}

/// The message of a document that begins after so many lines, told by lines of the file.
fn in_file(message: &str, before: usize) -> String {
    const MARK: &str = "line ";
    let Some((head, rest)) = message.split_once(MARK) else {
        return message.to_owned();
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match rest[..digits].parse::<usize>() {
        Ok(line) => format!("{head}{MARK}{}{}", line + before, &rest[digits..]),
        Err(_) => message.to_owned(),
    }
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
    bytes: Bytes,
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

    fn json(&mut self, at: &Source, raw: &RawValue, listed: Option<Known>) {
        let text = raw.get();
        if text.contains("\"items\"")
            && let Ok(list) = serde_json::from_str::<RawList<'_>>(text)
            && let Ok(Sort::List(kind)) = sort(&list.api_version, &list.kind)
        {
            for (i, item) in list.items.into_iter().enumerate() {
                let item_at = Source {
                    item: Some(i),
                    ..at.clone()
                };
                self.json(&item_at, item, kind);
            }
            return;
        }
        match type_meta(text.as_bytes()) {
            Ok(_) if text == "null" => {}
            Ok(meta) => {
                // A slice of the text that was read: nothing is copied.
                let json = self.bytes.slice_ref(text.as_bytes());
                self.object(at, &meta, listed, || json);
            }
            Err(error) => self.fail(at, Problem::whole(error.to_string())),
        }
    }

    fn yaml(&mut self, text: &str) {
        for (i, (before, document)) in yaml_documents(text).into_iter().enumerate() {
            let at = self.at(i + 1);
            match yaml::read_file(document.as_bytes()) {
                Ok(read) if read.problems.is_empty() => self.value(&at, read.value, None),
                Ok(read) => {
                    let problems = read.problems.join(", ");
                    self.fail(&at, Problem::whole(in_file(&problems, before)));
                }
                Err(error) => self.fail(&at, Problem::whole(in_file(&error, before))),
            }
        }
    }

    fn value(&mut self, at: &Source, mut value: Value, listed: Option<Known>) {
        if value.is_null() {
            return;
        }
        let meta = match type_meta_of(&value) {
            Ok(meta) => meta,
            Err(problem) => return self.fail(at, problem),
        };
        let Ok(Sort::List(kind)) = sort(&meta.api_version, &meta.kind) else {
            let json = value.to_string();
            drop(value);
            return self.object(at, &meta, listed, || Bytes::from(json));
        };
        match value.get_mut("items").map(Value::take) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                drop(value);
                for (i, item) in items.into_iter().enumerate() {
                    let item_at = Source {
                        item: Some(i),
                        ..at.clone()
                    };
                    self.value(&item_at, item, kind);
                }
            }
            Some(other) => {
                let problem = format!("{}, expected a list", shape(&other));
                self.fail(at, Problem::at("items", problem));
            }
        }
    }

    fn object(
        &mut self,
        at: &Source,
        meta: &TypeMeta,
        listed: Option<Known>,
        json: impl FnOnce() -> Bytes,
    ) {
        let sorted = match (&*meta.api_version, &*meta.kind, listed) {
            // Items of a typed list need not repeat what they are.
            ("", "", Some(listed)) => Ok(Sort::Object(listed)),
            ("", _, _) => Err(Problem::at(
                "apiVersion",
                "missing, expected for example \"v1\"",
            )),
            (_, "", _) => Err(Problem::at("kind", "missing, expected for example \"Pod\"")),
            (api_version, kind, _) => sort(api_version, kind),
        };
        match sorted {
            Ok(Sort::Object(known)) => self.input.manifests.push(Manifest {
                source: at.clone(),
                resource: known.resource(),
                json: json(),
            }),
            // One whose items are missing.
            Ok(Sort::List(_)) => {}
            Ok(Sort::PassOver) => {
                let count = self.input.passed_over.entry(meta.kind.clone());
                *count.or_default() += 1;
            }
            Err(problem) => self.fail(at, problem),
        }
    }
}

/// What a value says that it is.
fn type_meta_of(value: &Value) -> Result<TypeMeta, Problem> {
    if !value.is_object() {
        let problem = format!("{}, expected an object", shape(value));
        return Err(Problem::whole(problem));
    }
    let field = |field: &str| match value.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(Problem::at(
            field,
            format!("{}, expected a text", shape(other)),
        )),
    };
    Ok(TypeMeta {
        api_version: field("apiVersion")?,
        kind: field("kind")?,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_begin_at_lines_of_three_dashes() {
        let text = "# a\n---\na: 1\n--- # b\nb: |\n ---\n---\n\n--- {c: 1}\n---\n...\n";
        let documents = yaml_documents(text);
        assert_eq!(
            documents,
            [
                (1, "---\na: 1\n"),
                (3, "--- # b\nb: |\n ---\n"),
                (8, "--- {c: 1}\n")
            ]
        );
    }

    #[test]
    fn lines_are_those_of_the_file() {
        assert_eq!(in_file("yaml: line 2: odd", 10), "yaml: line 12: odd");
        assert_eq!(in_file("yaml: odd", 10), "yaml: odd");
    }
}
