//! The definitions of all columns, read once from `definitions.tsv`.

use super::Column;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static DEFINITIONS: LazyLock<BTreeMap<&'static str, Vec<Column>>> = LazyLock::new(|| {
    let mut all: BTreeMap<&str, Vec<Column>> = BTreeMap::new();
    for line in include_str!("definitions.tsv").lines() {
        if let Some((resource, column)) = read(line) {
            all.entry(resource).or_default().push(column);
        }
    }
    all
});

/// The columns of a resource.
pub(super) fn of(resource: &str) -> &'static [Column] {
    DEFINITIONS
        .get(resource)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn read(line: &'static str) -> Option<(&'static str, Column)> {
    let mut fields = line.split('\t');
    let resource = fields.next().filter(|first| !first.starts_with('#'))?;
    let column = Column {
        name: fields.next()?,
        kind: fields.next()?,
        format: fields.next()?,
        priority: fields.next()?.parse().ok()?,
        description: unescape(fields.next()?),
    };
    Some((resource, column))
}

/// `\n` is a new line and `\\` a backslash.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::KINDS;
    use serde_json::json;

    #[test]
    fn every_line_is_read() {
        let text = include_str!("definitions.tsv");
        let data = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(DEFINITIONS.values().map(Vec::len).sum::<usize>(), data);
    }

    #[test]
    fn rows_have_as_many_cells_as_columns() {
        for kind in KINDS {
            let cells = (kind.columns.row)(&json!({}), 0);
            let columns = kind.columns.definitions();
            assert!(!columns.is_empty(), "{}", kind.plural);
            assert_eq!(cells.len(), columns.len(), "{}", kind.plural);
        }
    }
}
