//! Styled text of tables as lines of a screen.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// The lines of a text in which styles are written as terminals read them.
pub(super) fn lines(text: &str, has_colors: bool) -> Vec<Line<'static>> {
    let mut style = Style::default();
    let line = |line: &str| {
        let mut spans = Vec::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            push(&mut spans, before, style);
            let end = after.find(|c: char| c.is_ascii_alphabetic());
            let end = end.unwrap_or(after.len());
            style = codes(&after[..end], style, has_colors);
            rest = after.get(end + 1..).unwrap_or_default();
        }
        push(&mut spans, rest, style);
        Line::from(spans)
    };
    text.lines().map(line).collect()
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    if !text.is_empty() {
        spans.push(Span::styled(text.to_owned(), style));
    }
}

/// The few codes that our own output has.
fn codes(codes: &str, mut style: Style, has_colors: bool) -> Style {
    for code in codes.split(';') {
        style = match code {
            "" | "0" => Style::default(),
            "1" => style.add_modifier(Modifier::BOLD),
            "2" => style.add_modifier(Modifier::DIM),
            "31" if has_colors => style.fg(Color::Red),
            "32" if has_colors => style.fg(Color::Green),
            "33" if has_colors => style.fg(Color::Yellow),
            _ => style,
        };
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{BAD, HEAD, styled};

    #[test]
    fn styles_are_kept_and_colours_left_out_where_nobody_wants_them() {
        let text = format!("{} a\n{}", styled(HEAD, "head"), styled(BAD, "bad"));
        let with = lines(&text, true);
        assert_eq!(with[0].to_string(), "head a");
        assert_eq!(
            with[0].spans[0].style,
            Style::default().add_modifier(Modifier::BOLD)
        );
        assert_eq!(with[0].spans[1].style, Style::default());
        assert_eq!(with[1].spans[0].style, Style::default().fg(Color::Red));
        assert_eq!(lines(&text, false)[1].spans[0].style, Style::default());
    }
}
