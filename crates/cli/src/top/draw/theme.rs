//! How states look: with colours, and without. A colour is never the only sign.

use super::View;
use crate::output::printable;
use ratatui::style::{Color, Modifier, Style};

/// Styles by what they mean.
pub(super) struct Theme {
    pub(super) plain: Style,
    pub(super) head: Style,
    pub(super) faint: Style,
    pub(super) chosen: Style,
    pub(super) waits: Style,
    pub(super) bad: Style,
    pub(super) full: Style,
}

impl Theme {
    pub(super) fn of(view: &View) -> Self {
        let colored = |color| match view.has_colors {
            true => Style::default().fg(color),
            false => Style::default(),
        };
        Self {
            plain: Style::default(),
            head: Style::default().add_modifier(Modifier::BOLD),
            faint: Style::default().add_modifier(Modifier::DIM),
            chosen: Style::default().add_modifier(Modifier::REVERSED),
            waits: colored(Color::Yellow),
            bad: colored(Color::Red).add_modifier(Modifier::BOLD),
            full: colored(Color::Cyan),
        }
    }
}

/// A text of the cluster, which may hold what a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    printable(text)
}

/// A text that takes no more than so many columns, if each character takes one.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let text = shown(text);
    match text.chars().count() > columns {
        true => {
            let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
            kept + "…"
        }
        false => text,
    }
}
