//! A pull parser.

use std::borrow::Cow;
use stowplan_apimachinery::json as text;

/// Not JSON; `problem` says why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bad;

/// Reads one value after the other.
pub(crate) struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The first byte of what comes next.
    pub(crate) fn peek(&mut self) -> Result<u8, Bad> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Bad)
    }

    /// Nothing but space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Bad> {
        match self.peek() {
            Ok(_) => Err(Bad),
            Err(Bad) => Ok(()),
        }
    }

    /// Takes this byte if it comes next.
    fn take(&mut self, byte: u8) -> Result<bool, Bad> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Bad> {
        if self.take(byte)? { Ok(()) } else { Err(Bad) }
    }

    /// Goes into a list or map, past its opening bracket.
    pub(crate) fn enter(&mut self) {
        self.at += 1;
    }

    /// Goes to the next element of a list; false after the last one.
    pub(crate) fn next_element(&mut self, first: bool) -> Result<bool, Bad> {
        if self.take(b']')? {
            // A comma was taken before every element but the first.
            return Ok(false);
        }
        if !first {
            self.expect(b',')?;
            if self.peek()? == b']' {
                return Err(Bad);
            }
        }
        Ok(true)
    }

    /// Goes to the next value of a map and gives its key; nothing after the last one.
    pub(crate) fn next_key(&mut self, first: bool) -> Result<Option<Cow<'a, str>>, Bad> {
        if self.take(b'}')? {
            return Ok(None);
        }
        if !first {
            self.expect(b',')?;
        }
        if self.peek()? != b'"' {
            return Err(Bad);
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// One of the words that JSON has.
    pub(crate) fn word(&mut self) -> Result<&'static str, Bad> {
        self.peek()?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let word = ["null", "true", "false"]
            .into_iter()
            .find(|word| rest.starts_with(word.as_bytes()))
            .ok_or(Bad)?;
        self.at += word.len();
        Ok(word)
    }

    /// A number, as it is written.
    pub(crate) fn number(&mut self) -> Result<&'a str, Bad> {
        self.peek()?;
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.bytes.get(start..self.at).ok_or(Bad)?;
        std::str::from_utf8(text).map_err(|_| Bad)
    }

    fn digits(&mut self) -> Result<(), Bad> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(Bad) } else { Ok(()) }
    }

    /// A text. The next byte is known to be a quote.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Bad> {
        let (raw, escaped) = self.quoted()?;
        if !escaped {
            return Ok(match std::str::from_utf8(raw) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(raw),
            });
        }
        let mut out = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(escape) = rest.iter().position(|b| *b == b'\\') {
            let (plain, escaped) = rest.split_at(escape);
            out.extend_from_slice(plain);
            rest = unescape(escaped, &mut out);
        }
        out.extend_from_slice(rest);
        Ok(Cow::Owned(match String::from_utf8(out) {
            Ok(text) => text,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        }))
    }

    /// What stands between the quotes, and whether there are escapes in it. They are checked, and left
    /// as they are.
    fn quoted(&mut self) -> Result<(&'a [u8], bool), Bad> {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).ok_or(Bad)?;
            at += text::plain_prefix(rest);
            match *self.bytes.get(at).ok_or(Bad)? {
                b'"' => break,
                b'\\' => at += self.escape(at + 1)?,
                _ => return Err(Bad),
            }
            escaped = true;
        }
        self.at = at + 1;
        let raw = self.bytes.get(start..at).ok_or(Bad)?;
        Ok((raw, escaped))
    }

    /// How long the escape is whose second byte is here.
    fn escape(&self, at: usize) -> Result<usize, Bad> {
        match self.bytes.get(at).ok_or(Bad)? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(2),
            b'u' => {
                let digits = self.bytes.get(at + 1..at + 5).ok_or(Bad)?;
                let all = digits.iter().all(u8::is_ascii_hexdigit);
                if all { Ok(6) } else { Err(Bad) }
            }
            _ => Err(Bad),
        }
    }

    /// Passes over a value, whatever it is, and gives its text.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Bad> {
        self.peek()?;
        let start = self.at;
        let mut open = Vec::new();
        loop {
            match self.peek()? {
                b'{' => open.push((b'}', true)),
                b'[' => open.push((b']', true)),
                b'"' => drop(self.quoted()?),
                b'n' | b't' | b'f' => drop(self.word()?),
                _ => drop(self.number()?),
            }
            if let Some((_, true)) = open.last() {
                self.enter();
            }
            if self.skip_to_value(&mut open)? {
                continue;
            }
            return self.bytes.get(start..self.at).ok_or(Bad);
        }
    }

    /// Goes on to the next value inside the open brackets; false if there is none.
    fn skip_to_value(&mut self, open: &mut Vec<(u8, bool)>) -> Result<bool, Bad> {
        while let Some((close, first)) = open.last_mut() {
            let (close, is_first) = (*close, *first);
            *first = false;
            let more = match close {
                b'}' => self.skip_to_key_value(is_first)?,
                _ => self.next_element(is_first)?,
            };
            if more {
                return Ok(true);
            }
            open.pop();
        }
        Ok(false)
    }

    fn skip_to_key_value(&mut self, first: bool) -> Result<bool, Bad> {
        if self.take(b'}')? {
            return Ok(false);
        }
        if !first {
            self.expect(b',')?;
        }
        if self.peek()? != b'"' {
            return Err(Bad);
        }
        self.quoted()?;
        self.expect(b':')?;
        Ok(true)
    }
}

/// Writes what a checked escape stands for, and gives what is behind it. Half of a surrogate pair
/// becomes the replacement character.
fn unescape<'a>(text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let (code, length) = match text.get(1) {
        Some(b'b') => (8, 2),
        Some(b'f') => (12, 2),
        Some(b'n') => (10, 2),
        Some(b'r') => (13, 2),
        Some(b't') => (9, 2),
        Some(b'u') => surrogates(text),
        Some(byte) => (u32::from(*byte), 2),
        None => (u32::from(b'\\'), 1),
    };
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    text.get(length..).unwrap_or_default()
}

fn surrogates(text: &[u8]) -> (u32, usize) {
    let Some(high) = code_unit(text) else {
        return (char::REPLACEMENT_CHARACTER as u32, 6);
    };
    let low = text.get(6..).and_then(code_unit);
    match (high, low) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        _ => (high, 6),
    }
}

/// The number in `\u` and four digits.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::problem;

    fn string(json: &str) -> String {
        Parser::new(json.as_bytes())
            .string()
            .expect(json)
            .into_owned()
    }

    #[test]
    fn texts_are_read_as_go_does() {
        assert_eq!(string(r#""a\"\\\/\b\f\n\r\té""#), "a\"\\/\u{8}\u{c}\n\r\té");
        assert_eq!(string(r#""\ud83d\ude00""#), "😀");
        assert_eq!(string(r#""\ud83dx\ude00""#), "\u{fffd}x\u{fffd}");
        let broken = Parser::new(b"\"a\xffb\"").string().expect("Go accepts it");
        assert_eq!(broken, "a\u{fffd}b");
    }

    #[test]
    fn what_is_skipped_is_what_go_accepts() {
        let texts = [
            "{}",
            "[]",
            "[1,2]",
            "{\"a\":[{}, null]}",
            "-0.5e+3",
            "\"\\u00e9\"",
            "true",
            " [ ] ",
            "",
            "{",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "1e",
            "-",
            "+1",
            "nul",
            "tru",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "[1}",
            "{]",
            "1 2",
            "{\"a\":1}}",
            "]",
            "[[[[]]],{\"a\":{\"b\":[]}}]",
        ];
        for text in texts {
            let mut parser = Parser::new(text.as_bytes());
            let accepted = parser.skip().and_then(|_| parser.end()).is_ok();
            assert_eq!(accepted, problem(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
