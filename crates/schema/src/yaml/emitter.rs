//! Writing YAML: Go's `yaml.v2` emitter, as far as JSON needs it.

use super::scalar::{Style, go_float, is_break, is_multiline, is_printable, style};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt::Write;

/// Lines are folded at spaces beyond this column.
const WIDTH: usize = 80;
const INDENT: usize = 2;
/// Longer keys are written with a question mark.
const SIMPLE_KEY_MAX: usize = 128;

/// What is written so far, and where on the line.
#[derive(Default)]
pub(super) struct Emitter {
    out: String,
    column: usize,
    /// The last thing written was space.
    whitespace: bool,
    /// The line has only indentation and indicators so far.
    indention: bool,
}

impl Emitter {
    /// A whole document.
    pub(super) fn document(mut self, value: &Value) -> String {
        (self.whitespace, self.indention) = (true, true);
        self.node(value, None, false);
        self.indent(0);
        self.out
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn indent(&mut self, indent: usize) {
        let here = self.column == indent && self.whitespace;
        if !self.indention || !(self.column < indent || here) {
            self.new_line();
        }
        while self.column < indent {
            self.put(' ');
        }
        (self.whitespace, self.indention) = (true, true);
    }

    fn indicator(&mut self, text: &str, spaced: bool, is_indention: bool) {
        if spaced && !self.whitespace {
            self.put(' ');
        }
        self.put_text(text);
        self.whitespace = false;
        self.indention &= is_indention;
    }

    /// Writes a value. `indent` is that of what it is in, nothing at the root.
    fn node(&mut self, value: &Value, indent: Option<usize>, in_map: bool) {
        match value {
            Value::Array(items) if items.is_empty() => self.indicator("[]", true, false),
            Value::Object(map) if map.is_empty() => self.indicator("{}", true, false),
            Value::Array(items) => {
                // In a map, a list starts below its key.
                let deeper = match indent {
                    None => 0,
                    Some(indent) if in_map && !self.indention => indent,
                    Some(indent) => indent + INDENT,
                };
                for item in items {
                    self.indent(deeper);
                    self.indicator("-", true, true);
                    self.node(item, Some(deeper), false);
                }
            }
            Value::Object(map) => {
                let deeper = indent.map_or(0, |indent| indent + INDENT);
                for (key, value) in sorted(map) {
                    self.entry(key, value, deeper);
                }
            }
            Value::String(text) => self.scalar(text, style(text, false), indent, false),
            Value::Null => self.plain("null", indent, false),
            Value::Bool(truth) => self.plain(&truth.to_string(), indent, false),
            Value::Number(number) => {
                let text = match number.as_f64() {
                    Some(float) if number.is_f64() => go_float(float),
                    _ => number.to_string(),
                };
                self.plain(&text, indent, false);
            }
        }
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize) {
        self.indent(indent);
        if key.len() <= SIMPLE_KEY_MAX && !is_multiline(key) {
            self.scalar(key, style(key, true), Some(indent), true);
            self.indicator(":", false, false);
        } else {
            self.indicator("?", true, true);
            self.scalar(key, style(key, false), Some(indent), false);
            self.indent(indent);
            self.indicator(":", true, true);
        }
        self.node(value, Some(indent), true);
    }

    fn scalar(&mut self, text: &str, style: Style, indent: Option<usize>, key: bool) {
        match style {
            Style::Plain => self.plain(text, indent, key),
            Style::SingleQuoted => self.single_quoted(text, indent, key),
            Style::DoubleQuoted => self.double_quoted(text, indent, key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Where a folded line goes on.
    fn fold(&mut self, indent: Option<usize>) {
        self.indent(indent.unwrap_or_default() + INDENT);
    }

    fn plain(&mut self, text: &str, indent: Option<usize>, key: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        let mut spaces = false;
        let mut letters = text.chars().peekable();
        while let Some(c) = letters.next() {
            let next_is_space = letters.peek() == Some(&' ');
            if c == ' ' && !key && !spaces && self.column > WIDTH && !next_is_space {
                self.fold(indent);
            } else {
                self.put(c);
            }
            spaces = c == ' ';
            if c != ' ' {
                self.indention = false;
            }
        }
        (self.whitespace, self.indention) = (false, false);
    }

    fn single_quoted(&mut self, text: &str, indent: Option<usize>, key: bool) {
        self.indicator("'", true, false);
        let last = text.chars().count().saturating_sub(1);
        let mut spaces = false;
        let mut letters = text.chars().enumerate().peekable();
        while let Some((at, c)) = letters.next() {
            let next_is_space = letters.peek().is_some_and(|(_, next)| *next == ' ');
            let inside = at > 0 && at < last;
            if c == ' ' && !key && !spaces && self.column > WIDTH && inside && !next_is_space {
                self.fold(indent);
            } else {
                self.put(c);
                if c == '\'' {
                    self.put(c);
                }
            }
            spaces = c == ' ';
        }
        self.indicator("'", false, false);
    }

    fn double_quoted(&mut self, text: &str, indent: Option<usize>, key: bool) {
        self.indicator("\"", true, false);
        let last = text.chars().count().saturating_sub(1);
        let mut spaces = false;
        let mut letters = text.chars().enumerate().peekable();
        while let Some((at, c)) = letters.next() {
            let next_is_space = letters.peek().is_some_and(|(_, next)| *next == ' ');
            let inside = at > 0 && at < last;
            if c == ' ' && !key && !spaces && self.column > WIDTH && inside {
                self.fold(indent);
                if next_is_space {
                    self.put('\\');
                }
            } else if !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
            } else {
                self.put(c);
            }
            spaces = c == ' ';
        }
        self.indicator("\"", false, false);
    }

    fn escape(&mut self, c: char) {
        let letter = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let mut text = String::new();
                let code = c as u32;
                // Writing to a string does not fail.
                let _ = match code {
                    0..=0xff => write!(text, "\\x{code:02X}"),
                    0x100..=0xffff => write!(text, "\\u{code:04X}"),
                    _ => write!(text, "\\U{code:08X}"),
                };
                return self.put_text(&text);
            }
        };
        self.put('\\');
        self.put(letter);
    }

    fn literal(&mut self, text: &str, indent: Option<usize>) {
        self.indicator("|", true, false);
        if text.starts_with([' ', '\n']) {
            self.indicator("2", false, false);
        }
        let breaks = text.chars().rev().take_while(|c| is_break(*c)).count();
        match breaks {
            0 => self.indicator("-", false, false),
            1 if text.chars().count() > 1 => {}
            _ => self.indicator("+", false, false),
        }
        self.new_line();
        let inner = indent.unwrap_or_default() + INDENT;
        let mut at_start = true;
        for c in text.chars() {
            if is_break(c) {
                self.out.push(c);
                self.column = 0;
                at_start = true;
                continue;
            }
            if at_start {
                (0..inner).for_each(|_| self.put(' '));
                at_start = false;
            }
            self.put(c);
        }
        // Breaks at the end are kept in the text; the next line starts without another one.
        (self.whitespace, self.indention) = (at_start, at_start);
    }
}

/// Entries in the order in which `yaml.v2` sorts keys: letters after everything else, numbers by
/// their value.
fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| compare(a, b));
    entries
}

fn compare(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(x, y)| x != y) else {
        return a.len().cmp(&b.len());
    };
    let (Some(&x), Some(&y)) = (a.get(at), b.get(at)) else {
        return Ordering::Equal;
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero counts as a digit of a number that started before.
    let started = (x == '0' || y == '0')
        && a.iter()
            .take(at)
            .rev()
            .take_while(|c| c.is_ascii_digit())
            .any(|c| *c != '0');
    let number = |text: &[char]| {
        let digits = text.iter().skip(at).take_while(|c| c.is_ascii_digit());
        digits.fold((u64::from(started), 0), |(number, count), digit| {
            let digit = u64::from(digit.to_digit(10).unwrap_or_default());
            (number.wrapping_mul(10).wrapping_add(digit), count + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(x.cmp(&y))
}
