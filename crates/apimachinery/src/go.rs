//! Texts as Go prints them.

pub mod base64;
mod print;

pub use print::{float, plain, string_verb, syntax, type_name};

use std::fmt::Write;
use stowplan_base::{Duration, DurationError};

/// The nanoseconds of a text like `1h30m`; the error is Go's. Go's `time.ParseDuration`.
pub fn duration(text: &str) -> Result<i64, String> {
    let read = text.parse::<Duration>();
    read.map(Duration::as_nanos)
        .map_err(|wrong: DurationError| wrong.as_go())
}

/// `%q`: the text in double quotes, with Go's escapes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x10000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// What `strconv.IsPrint` says of the characters that occur in practice: controls, format
/// characters, private use and every space but the plain one are not printable.
pub fn is_printable(c: char) -> bool {
    let code = c as u32;
    !(c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(code, 0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb)
        || matches!(code, 0xe000..=0xf8ff | 0xf0000..=0x10ffff))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_as_go_does() {
        assert_eq!(quote("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quote("\n\t\u{1}\u{7f}"), r#""\n\t\x01\x7f""#);
        assert_eq!(quote("grün 界"), "\"grün 界\"");
        assert_eq!(quote("\u{a0}\u{200b}"), r#""\u00a0\u200b""#);
    }
}
