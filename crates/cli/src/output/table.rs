//! Plain tables: two spaces between columns, no lines.

use super::HEAD;
use anstyle::Style;
use std::fmt::Write;

/// On which side of its column a text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text and how it looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            style: Style::new(),
        }
    }

    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
    /// Whether the last column holds sentences, which may be broken into lines.
    is_prose: bool,
}

/// A wrapped column is at least this wide, whatever the terminal.
const MIN_WRAPPED: usize = 16;

impl Table {
    pub(crate) fn new<T: Into<String>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(title, align)| (title.into(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
            is_prose: false,
        }
    }

    /// A table whose last column holds sentences, which may be broken into lines.
    pub(crate) fn prose<T: Into<String>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        Self {
            is_prose: true,
            ..Self::new(columns)
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text. Sentences in the last column are broken to fit into `width`.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|(title, _)| columns_of(title))
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns_of(&cell.text));
            }
        }
        let last = widths.len() - 1;
        if let Some(width) = width.filter(|_| self.is_prose) {
            let others: usize = widths[..last].iter().map(|width| width + 2).sum();
            let left = width.saturating_sub(others).max(MIN_WRAPPED);
            widths[last] = widths[last].min(left);
        }
        let titles = self
            .columns
            .iter()
            .map(|(title, _)| Cell::styled(HEAD, title.clone()));
        let mut out = String::new();
        self.render_row(&titles.collect::<Vec<_>>(), &widths, &mut out);
        for row in &self.rows {
            self.render_row(row, &widths, &mut out);
        }
        out
    }

    fn render_row(&self, row: &[Cell], widths: &[usize], out: &mut String) {
        let last = widths.len() - 1;
        let lines = row
            .get(last)
            .map(|cell| wrap(&cell.text, widths[last]))
            .unwrap_or_default();
        for i in 0..lines.len().max(1) {
            let mut line = String::new();
            let mut blanks = 0;
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).cloned().unwrap_or_default();
                let text = match (column == last, i) {
                    (true, _) => lines.get(i).map_or("", String::as_str),
                    (false, 0) => &cell.text,
                    (false, _) => "",
                };
                let fill = width.saturating_sub(columns_of(text));
                let (before, after) = match self.columns[column].1 {
                    Align::Left => (0, fill),
                    Align::Right => (fill, 0),
                };
                if text.is_empty() {
                    blanks += width;
                } else {
                    let style = cell.style;
                    let _ = write!(
                        line,
                        "{}{style}{text}{style:#}",
                        " ".repeat(blanks + before)
                    );
                    blanks = after;
                }
                blanks += 2;
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

/// How many columns a text takes on a terminal: styles take none.
fn columns_of(text: &str) -> usize {
    anstream::adapter::strip_str(text)
        .to_string()
        .chars()
        .count()
}

/// Breaks a text into lines of at most `width` columns. Words stay whole, so that names can be copied.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    if columns_of(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && columns_of(&line) + 1 + columns_of(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_wraps() {
        let mut table = Table::prose([
            ("POD", Align::Left),
            ("CPU", Align::Right),
            ("WHY", Align::Left),
        ]);
        table.row([
            "a".into(),
            "100m".into(),
            "one two three four five six seven".into(),
        ]);
        table.row(["bcdef".into(), "2".into(), "".into()]);
        let plain = anstream::adapter::strip_str(&table.render(Some(30))).to_string();
        assert_eq!(
            plain,
            "POD     CPU  WHY\na      100m  one two three\n             four five six\n             seven\nbcdef     2\n"
        );
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("a bcdefgh ij", 4), ["a", "bcdefgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
