//! How `kubectl get` shows custom resources.
//!
//! Upstream: `pkg/registry/customresource/tableconvertor`.

use crate::json_path::JsonPath;
use serde_json::{Value, json};
use stowplan_apimachinery::{View, go, meta};
use stowplan_kinds::columns::{NAME_AND_CREATED_AT, age};

/// A column beside the name.
pub struct Column {
    definition: Value,
    kind: String,
    path: JsonPath,
}

/// What upstream says of a column that every kind has.
fn described(column: usize) -> &'static str {
    let known = NAME_AND_CREATED_AT.definitions().get(column);
    known.map_or("", |column| column.description.as_str())
}

/// The columns of a version; the age if it has none.
pub(crate) fn of(version: &Value) -> Vec<Column> {
    let columns = version.list("additionalPrinterColumns");
    if columns.is_empty() {
        let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": described(1)});
        return vec![Column::new(&age)];
    }
    columns.iter().map(Column::new).collect()
}

impl Column {
    fn new(column: &Value) -> Self {
        let path = column.text("jsonPath");
        let description = match column.text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            text => text.to_owned(),
        };
        Self {
            definition: json!({
                "name": column.text("name"),
                "type": column.text("type"),
                "format": column.text("format"),
                "description": description,
                "priority": column.int("priority").unwrap_or_default(),
            }),
            kind: column.text("type").to_owned(),
            path: JsonPath::parse(path).unwrap_or_default(),
        }
    }

    /// The column as a Table defines it.
    pub fn definition(&self) -> &Value {
        &self.definition
    }

    /// The cell of an object.
    pub fn cell(&self, object: &Value, now_s: i64) -> Value {
        let found = self.path.find(object);
        let Some(value) = found.first().filter(|value| !value.is_null()) else {
            // A null that is there prints as a text.
            return match (self.kind.as_str(), found.first()) {
                ("string", Some(_)) => json!("<nil>"),
                _ => Value::Null,
            };
        };
        match (self.kind.as_str(), *value) {
            ("string", Value::String(text)) => json!(text),
            ("string", value @ (Value::Array(_) | Value::Object(_))) => json!(value.to_string()),
            ("string", value) => json!(go::plain(value)),
            ("integer", Value::Number(n)) => match (n.as_i64(), n.as_f64()) {
                (Some(n), _) => json!(n),
                (None, Some(n)) => json!(n as i64),
                _ => Value::Null,
            },
            ("number", Value::Number(n)) => number(n.as_f64().unwrap_or_default()),
            ("boolean", value @ Value::Bool(_)) => value.clone(),
            ("date", Value::String(text)) => json!(date(text, now_s)),
            _ => Value::Null,
        }
    }
}

/// As Go writes a float: whole ones without a fraction.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => json!(value as i64),
        false => json!(value),
    }
}

fn date(text: &str, now_s: i64) -> String {
    match age::since(&json!(text), now_s).as_str() {
        "<unknown>" if !text.is_empty() => "<invalid>".to_owned(),
        age => age.to_owned(),
    }
}

/// The cells of a row: the name first.
pub(crate) fn row(columns: &[Column], object: &Value, now_s: i64) -> Vec<Value> {
    let mut cells = vec![json!(meta::name(object))];
    cells.extend(columns.iter().map(|column| column.cell(object, now_s)));
    cells
}

impl crate::Version {
    /// The cells of an object.
    pub fn row(&self, object: &Value, now_s: i64) -> Vec<Value> {
        row(&self.columns, object, now_s)
    }

    /// The definitions of the columns.
    pub fn column_definitions(&self) -> Vec<Value> {
        let name = json!({
            "name": "Name",
            "type": "string",
            "format": "name",
            "description": described(0),
            "priority": 0,
        });
        let own = self.columns.iter().map(|c| c.definition().clone());
        std::iter::once(name).chain(own).collect()
    }
}
