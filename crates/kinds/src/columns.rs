//! How `kubectl get` shows the objects of a kind.

use serde_json::{Value, json};
use stowplan_machinery::meta;

/// The columns of a kind and how a row is made.
pub struct Columns {
    /// The columns, in order.
    pub definitions: &'static [Column],
    /// One cell per column. `now_s` is the time in seconds since the epoch, for ages.
    pub row: fn(object: &Value, now_s: i64) -> Vec<Value>,
}

/// One column.
pub struct Column {
    /// `Name`
    pub name: &'static str,
    /// `string`, `integer`, `date`…
    pub kind: &'static str,
    /// `name` for the first one, else mostly empty.
    pub format: &'static str,
    /// For `kubectl explain`-like help.
    pub description: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i32,
}

/// For kinds without columns of their own.
pub(crate) static NAME_AND_CREATED_AT: Columns = Columns {
    definitions: &[
        Column {
            name: "Name",
            kind: "string",
            format: "name",
            description: "",
            priority: 0,
        },
        Column {
            name: "Created At",
            kind: "date",
            format: "",
            description: "",
            priority: 0,
        },
    ],
    row: |object, _| {
        vec![
            json!(meta::name(object)),
            object["metadata"]["creationTimestamp"].clone(),
        ]
    },
};
