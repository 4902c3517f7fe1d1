//! Why a text is no JSON, in Go's words.
//!
//! A copy of the state machine in Go's `encoding/json/scanner.go`, one state per name there. It is
//! run only when something is wrong.

use stowplan_apimachinery::go::quote;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    BeginValue,
    BeginValueOrEmpty,
    BeginKey,
    BeginKeyOrEmpty,
    EndValue,
    EndTop,
    InString,
    Escape,
    /// So many of the four hexadecimal digits after `\u` were read.
    Unicode(u8),
    Minus,
    Zero,
    Digits,
    Dot,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// So many letters of this word were read.
    Word(&'static str, usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Key,
    Value,
    List,
}

/// The first problem in the text, if it has any.
pub(crate) fn problem(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner {
        state: State::BeginValue,
        open: Vec::new(),
    };
    for &byte in text {
        if let Err(context) = scanner.step(byte) {
            return Some(format!("invalid character {} {context}", quoted(byte)));
        }
    }
    // A number at the end is complete only when something follows it.
    let complete = scanner.step(b' ').is_ok() && scanner.state == State::EndTop;
    (!complete).then(|| "unexpected end of JSON input".to_owned())
}

/// A byte as Go prints a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let text = quote(&char::from(byte).to_string());
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

struct Scanner {
    state: State,
    open: Vec<Inside>,
}

type Step = Result<(), String>;

impl Scanner {
    fn step(&mut self, byte: u8) -> Step {
        let space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.state = match self.state {
            State::BeginValue | State::BeginValueOrEmpty | State::BeginKey if space => {
                return Ok(());
            }
            State::BeginKeyOrEmpty | State::EndTop if space => return Ok(()),
            State::BeginValueOrEmpty if byte == b']' => return self.end_value(byte),
            State::BeginValue | State::BeginValueOrEmpty => return self.begin_value(byte),
            State::BeginKeyOrEmpty if byte == b'}' => {
                self.inside(Inside::Value);
                return self.end_value(byte);
            }
            State::BeginKey | State::BeginKeyOrEmpty if byte == b'"' => State::InString,
            State::BeginKey | State::BeginKeyOrEmpty => {
                return fail("looking for beginning of object key string");
            }
            State::EndValue => return self.end_value(byte),
            State::EndTop => return fail("after top-level value"),
            State::InString => match byte {
                b'"' => State::EndValue,
                b'\\' => State::Escape,
                0..0x20 => return fail("in string literal"),
                _ => State::InString,
            },
            State::Escape => match byte {
                b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => State::InString,
                b'u' => State::Unicode(0),
                _ => return fail("in string escape code"),
            },
            State::Unicode(read) if byte.is_ascii_hexdigit() => match read {
                3 => State::InString,
                _ => State::Unicode(read + 1),
            },
            State::Unicode(_) => return fail("in \\u hexadecimal character escape"),
            State::Word(word, read) => return self.word(word, read, byte),
            _ => return self.number(byte),
        };
        Ok(())
    }

    fn inside(&mut self, what: Inside) {
        if let Some(last) = self.open.last_mut() {
            *last = what;
        }
    }

    fn begin_value(&mut self, byte: u8) -> Step {
        self.state = match byte {
            b'{' => {
                self.open.push(Inside::Key);
                State::BeginKeyOrEmpty
            }
            b'[' => {
                self.open.push(Inside::List);
                State::BeginValueOrEmpty
            }
            b'"' => State::InString,
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            b't' => State::Word("true", 1),
            b'f' => State::Word("false", 1),
            b'n' => State::Word("null", 1),
            _ => return fail("looking for beginning of value"),
        };
        Ok(())
    }

    fn end_value(&mut self, byte: u8) -> Step {
        let Some(&inside) = self.open.last() else {
            self.state = State::EndTop;
            return self.step(byte);
        };
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            self.state = State::EndValue;
            return Ok(());
        }
        self.state = match (inside, byte) {
            (Inside::Key, b':') => {
                self.inside(Inside::Value);
                State::BeginValue
            }
            (Inside::Key, _) => return fail("after object key"),
            (Inside::Value, b',') => {
                self.inside(Inside::Key);
                State::BeginKey
            }
            (Inside::List, b',') => State::BeginValue,
            (Inside::Value, b'}') | (Inside::List, b']') => {
                self.open.pop();
                match self.open.is_empty() {
                    true => State::EndTop,
                    false => State::EndValue,
                }
            }
            (Inside::Value, _) => return fail("after object key:value pair"),
            (Inside::List, _) => return fail("after array element"),
        };
        Ok(())
    }

    fn number(&mut self, byte: u8) -> Step {
        let digit = byte.is_ascii_digit();
        self.state = match (self.state, byte) {
            (State::Minus, b'0') => State::Zero,
            (State::Minus, _) if digit => State::Digits,
            (State::Minus, _) => return fail("in numeric literal"),
            (State::Digits, _) if digit => State::Digits,
            (State::Digits | State::Zero, b'.') => State::Dot,
            (State::Digits | State::Zero | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Dot | State::Fraction, _) if digit => State::Fraction,
            (State::Dot, _) => return fail("after decimal point in numeric literal"),
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            (State::Exponent | State::ExponentSign | State::ExponentDigits, _) if digit => {
                State::ExponentDigits
            }
            (State::Exponent | State::ExponentSign, _) => {
                return fail("in exponent of numeric literal");
            }
            _ => return self.end_value(byte),
        };
        Ok(())
    }

    fn word(&mut self, word: &'static str, read: usize, byte: u8) -> Step {
        let expected = word.as_bytes().get(read).copied().unwrap_or_default();
        if byte != expected {
            return Err(format!(
                "in literal {word} (expecting '{}')",
                char::from(expected)
            ));
        }
        self.state = match read + 1 == word.len() {
            true => State::EndValue,
            false => State::Word(word, read + 1),
        };
        Ok(())
    }
}

fn fail(context: &str) -> Step {
    Err(context.to_owned())
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn problems_are_told_in_gos_words() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1", "invalid character '1' after object key"),
            (
                "{\"a\":1 1",
                "invalid character '1' after object key:value pair",
            ),
            ("[1 1", "invalid character '1' after array element"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            (
                "trux",
                "invalid character 'x' in literal true (expecting 'e')",
            ),
            ("-x", "invalid character 'x' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "1ex",
                "invalid character 'x' in exponent of numeric literal",
            ),
            ("\"\n", "invalid character '\\n' in string literal"),
            ("\"\\x", "invalid character 'x' in string escape code"),
            (
                "\"\\u00x",
                "invalid character 'x' in \\u hexadecimal character escape",
            ),
            (
                "'",
                "invalid character '\\'' looking for beginning of value",
            ),
            (
                "\u{e9}",
                "invalid character 'Ã' looking for beginning of value",
            ),
        ] {
            assert_eq!(
                problem(text.as_bytes()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
        assert_eq!(
            problem(b" {\"a\": [1, -2.5e3, \"\\u00e9\", null]} \n"),
            None
        );
        assert_eq!(problem(b"12"), None);
    }
}
