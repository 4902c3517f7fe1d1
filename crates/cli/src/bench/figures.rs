//! Figures of the API server for people: a table on a terminal, one in Markdown.

use crate::output::{Align, BAD, Cell, GOOD, Table};
use std::fmt::Write;
use stowplan_bench::server::Figure;

const COLUMNS: [&str; 6] = [
    "VALUE",
    "GOAL",
    "P50 MS",
    "P99 MS",
    "SERVER CPU µS",
    "CLIENTS CPU µS",
];

/// For people.
pub(super) fn table(figures: &[Figure], width: Option<usize>) -> String {
    let columns = COLUMNS.iter().map(|title| (*title, Align::Right));
    let mut table = Table::new(std::iter::once(("FIGURE", Align::Left)).chain(columns));
    for figure in figures {
        let [value, goal, p50, p99, server, client, name] = figure.cells();
        let value = match figure.met() {
            Some(true) => Cell::styled(GOOD, value),
            Some(false) => Cell::styled(BAD, value),
            None => Cell::new(value),
        };
        let rest = [goal, p50, p99, server, client].map(Cell::new);
        table.row([Cell::new(name), value].into_iter().chain(rest));
    }
    table.render(width)
}

/// For the page of figures.
pub(super) fn markdown(figures: &[Figure]) -> String {
    let titles = COLUMNS.map(str::to_lowercase).join(" | ");
    let mut out = format!(
        "| figure | {titles} |\n|---|{}\n",
        "---:|".repeat(COLUMNS.len())
    );
    for figure in figures {
        let [value, goal, p50, p99, server, client, name] = figure.cells();
        let _ = writeln!(
            out,
            "| {name} | {value} | {goal} | {p50} | {p99} | {server} | {client} |"
        );
    }
    out
}
