//! Tables: column definitions, and the cells of rows that hold the whole object.

use crate::cases::{Known, read};
use crate::play::target;
use serde_json::{Value, json};
use stowplan_apimachinery::View;

fn tables() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for family in ["list", "watch", "protocol"] {
        for case in read(family) {
            let known = Known::new();
            for step in case.list("steps") {
                let body = known.fill(step.path(&["expect", "body"]));
                if body.text("kind") == "Table" {
                    all.push((step.text("path").to_owned(), body));
                }
            }
        }
    }
    all
}

#[test]
fn columns_are_defined_as_recorded() {
    let mut compared = 0;
    for (path, table) in tables() {
        let Some(to) = target(&path) else { continue };
        let expected = table.list("columnDefinitions");
        let found = to.kind.columns.definitions().iter().map(|c| c.to_json());
        assert_eq!(found.collect::<Vec<_>>(), expected, "{path}");
        compared += 1;
    }
    assert!(compared > 100, "only {compared} tables");
}

/// Cells that say how long ago something was depend on when the table was made.
fn is_age(cell: &Value) -> bool {
    cell.as_str()
        .is_some_and(|text| text.contains("<age>") || text.contains(" ago)"))
}

#[test]
fn rows_have_the_recorded_cells() {
    let mut compared = 0;
    for (path, table) in tables() {
        let Some(to) = target(&path) else { continue };
        for row in table.list("rows") {
            let object = row.at("object");
            if object.text("kind") != to.kind.kind {
                continue;
            }
            let cells = (to.kind.columns.row)(object, 0);
            let expected = row.list("cells");
            assert_eq!(cells.len(), expected.len(), "{path}");
            for (found, expected) in cells.iter().zip(expected).filter(|(_, e)| !is_age(e)) {
                assert_eq!(found, expected, "{path}: {object}");
            }
            let conditions = (to.kind.columns.conditions)(object).unwrap_or(json!(null));
            assert_eq!(&conditions, row.at("conditions"), "{path}");
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} rows");
}
