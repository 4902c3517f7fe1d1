//! What commands print: tables, bars, JSON, YAML.
//!
//! Everything is styled; the streams of `anstream` take the colours out where they do not belong
//! (no terminal, `NO_COLOR`).

mod bar;
mod table;
mod working;

pub(crate) use bar::bar;
pub(crate) use stowplan_report::amount;
pub(crate) use table::{Align, Cell, Table, wrap};
pub(crate) use working::Working;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Tables, for people.
    #[default]
    Table,
    /// Tables with more columns and all rows.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Something good.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something bad.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Something to look at.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// Something of little interest.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// A heading.
pub(crate) const HEAD: Style = Style::new().bold();

/// A styled text.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// How many columns there are to print on: what `COLUMNS` says, else the terminal's width. `None`
/// where nobody looks, and lines may be as long as they like.
pub(crate) fn width() -> Option<usize> {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let terminal = || {
        let size = terminal_size::terminal_size().filter(|_| std::io::stdout().is_terminal());
        size.map(|(width, _)| usize::from(width.0))
    };
    columns.or_else(terminal).map(|width| width.max(40))
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    ignore_closed_pipe(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// Prints a document in one of the two forms for machines.
pub(crate) fn print_document(document: &impl Serialize, format: Format) -> anyhow::Result<()> {
    let text = match format {
        Format::Yaml => serde_yaml_ng::to_string(document)?,
        _ => serde_json::to_string_pretty(document)? + "\n",
    };
    print(&text)
}

/// `stowplan simulate … | head` is no error.
fn ignore_closed_pipe(result: std::io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Warns on standard error.
pub(crate) fn warn(text: impl std::fmt::Display) {
    let text = printable(&text.to_string());
    anstream::eprintln!("{} {text}", styled(NOTE, "warning:"));
}

/// Tells of an error on standard error.
pub(crate) fn error(text: impl std::fmt::Display) {
    let text = printable(&text.to_string());
    anstream::eprintln!("{} {text}", styled(BAD, "error:"));
}

/// The text with everything escaped that a terminal would obey instead of showing: input can hold
/// control characters and marks that turn the direction of writing, and so can what is said of it.
pub(crate) fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::new();
    for c in text.chars() {
        if c.is_control() || turns(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Puts a blank line between the sections that say something.
pub(crate) fn join_sections(sections: impl IntoIterator<Item = String>) -> String {
    let sections: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    sections.join("\n")
}

/// `1 pod`, `2 pods`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}
