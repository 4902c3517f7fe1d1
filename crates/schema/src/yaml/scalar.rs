//! How a text can be written: `yaml_emitter_analyze_scalar` in Go's `yaml.v2`.

use super::resolve::{Meaning, resolve};

/// The ways to write a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// What a text allows.
struct Allows {
    plain: bool,
    single_quoted: bool,
    block: bool,
    multiline: bool,
}

/// How to write a text, as a simple key or as a value.
pub(super) fn style(text: &str, key: bool) -> Style {
    let allows = analyze(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if resolve(text) == Meaning::Text && !is_base_60(text) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    };
    if key && allows.multiline {
        return Style::DoubleQuoted;
    }
    match wanted {
        Style::Plain if allows.plain => Style::Plain,
        Style::Plain if allows.single_quoted => Style::SingleQuoted,
        Style::Literal if allows.block && !key => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// Whether a text has to be written on one line.
pub(super) fn is_multiline(text: &str) -> bool {
    text.chars().any(is_break)
}

fn analyze(text: &str) -> Allows {
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut special, mut multiline) = (false, false);
    let (mut break_space, mut space_break) = (false, false);
    let mut previous = ' ';
    let mut letters = text.chars().peekable();
    let mut first = true;
    while let Some(c) = letters.next() {
        let spaced_after = letters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        let spaced_before = first || matches!(previous, ' ' | '\t') || is_break(previous);
        indicators |= match c {
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`' => first,
            '?' | '-' => first && spaced_after,
            ':' => spaced_after,
            '#' => spaced_before,
            _ => false,
        };
        special |= !is_printable(c);
        multiline |= is_break(c);
        break_space |= c == ' ' && !first && is_break(previous);
        space_break |= is_break(c) && !first && previous == ' ';
        previous = c;
        first = false;
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
    let edges = edge(text.chars().next()) || edge(text.chars().next_back());
    let quotable = !(space_break || special);
    Allows {
        plain: quotable && !(edges || break_space || multiline || indicators),
        single_quoted: quotable && !break_space,
        block: quotable && !text.ends_with(' '),
        multiline,
    }
}

/// What ends a line.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What can be written as it is. Characters beyond the basic plane cannot.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

/// `1:30`, which YAML 1.1 takes for ninety.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (numbers, fraction) = match unsigned.split_once('.') {
        Some((numbers, fraction)) => (numbers, fraction),
        None => (unsigned, ""),
    };
    let loose = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let mut parts = numbers.split(':');
    let first = parts.next().unwrap_or_default();
    let sixty = |part: &str| {
        let part = part.as_bytes();
        matches!(part, [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    };
    let mut rest = parts.peekable();
    first.starts_with(|c: char| c.is_ascii_digit())
        && loose(first)
        && loose(fraction)
        && rest.peek().is_some()
        && rest.all(sixty)
}

/// A number with a fraction, as Go's `%g` prints it.
pub(super) fn go_float(number: f64) -> String {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}
