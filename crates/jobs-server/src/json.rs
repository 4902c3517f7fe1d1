//! JSON as it comes over the wire: checked in one pass, and cut into the members of the outermost object.
//! Nothing is copied, numbers keep all their digits, and halves of surrogates are let through as they are.

use std::borrow::Cow;

/// How deep arrays and objects may be in one another: as Go's decoder has it.
const DEPTH_MAX: usize = 10_000;

/// What is wrong with it, as Go's decoder says it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadJson(pub(crate) Cow<'static, str>);

/// A cursor over bytes of JSON.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn wrong(&self, looking: &str) -> BadJson {
        match self.peek() {
            None => BadJson("unexpected end of JSON input".into()),
            Some(byte) => {
                let found = match byte {
                    b'\'' => "'\\''".to_owned(),
                    b'"' => "'\"'".to_owned(),
                    byte => format!("{:?}", char::from(byte)),
                };
                BadJson(format!("invalid character {found} {looking}").into())
            }
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'a [u8], BadJson> {
        let from = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(&self.text[from..self.at]);
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1
                        }
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                match self.peek() {
                                    Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                                    _ => {
                                        return Err(
                                            self.wrong("in \\u hexadecimal character escape")
                                        );
                                    }
                                }
                            }
                        }
                        _ => return Err(self.wrong("in string escape code")),
                    }
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.wrong("in string literal")),
            }
        }
    }

    fn digits(&mut self) -> Result<(), BadJson> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong("in numeric literal"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), BadJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), BadJson> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.wrong(&format!("in literal {word}")));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// What is neither an array nor an object.
    fn scalar(&mut self) -> Result<(), BadJson> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.wrong("looking for beginning of value")),
        }
    }

    fn key(&mut self) -> Result<&'a [u8], BadJson> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.wrong("looking for beginning of object key string"));
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.wrong("after object key"));
        }
        self.at += 1;
        Ok(key)
    }

    /// Any value, whatever is in it: without recursion, so that no depth exhausts the stack.
    pub(crate) fn value(&mut self) -> Result<&'a str, BadJson> {
        self.space();
        let from = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'[' | b'{')) => {
                    if open.len() >= DEPTH_MAX {
                        return Err(self.wrong("exceeded max depth"));
                    }
                    self.at += 1;
                    self.space();
                    let close = if bracket == b'[' { b']' } else { b'}' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        open.push(close);
                        if close == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value is over: what it is in goes on, or is over, too.
            loop {
                let Some(close) = open.last().copied() else {
                    return Ok(text(&self.text[from..self.at]));
                };
                self.space();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    Some(byte) if byte == close => {
                        self.at += 1;
                        open.pop();
                    }
                    _ if close == b'}' => return Err(self.wrong("after object key:value pair")),
                    _ => return Err(self.wrong("after array element")),
                }
            }
        }
    }

    /// Nothing may come after it.
    pub(crate) fn end(&mut self) -> Result<(), BadJson> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("after top-level value")),
        }
    }

    /// What comes next, without taking it.
    pub(crate) fn looks_like(&mut self) -> Option<u8> {
        self.space();
        self.peek()
    }

    /// Shows each member of an object: its key without quotes, and its value.
    pub(crate) fn members(&mut self, mut see: impl FnMut(&'a str, &'a str)) -> Result<(), BadJson> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            let value = self.value()?;
            see(text(&key[1..key.len() - 1]), value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong("after object key:value pair")),
            }
        }
    }

    /// Shows each element of an array.
    pub(crate) fn elements<E: From<BadJson>>(
        &mut self,
        mut see: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            see(self)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong("after array element").into()),
            }
        }
    }
}

/// The text was one before it was cut, and it is cut at characters of ASCII only.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// What a JSON string says. `None` if it is none; halves of surrogates become replacement characters.
pub(crate) fn unquote(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut units: Vec<u16> = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let escape = if c == '\\' { chars.next() } else { None };
        if escape == Some('u') {
            let hex: String = chars.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&hex, 16).unwrap_or(0xfffd));
            continue;
        }
        text.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        text.push(match escape {
            None => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(other) => other,
        });
    }
    text.push_str(&String::from_utf16_lossy(&units));
    Some(Cow::Owned(text))
}

/// Appends a text as a JSON string.
pub(crate) fn quote(to: &mut Vec<u8>, text: &str) {
    to.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => to.extend_from_slice(&[b'\\', byte]),
            b'\n' => to.extend_from_slice(b"\\n"),
            0x20.. => to.push(byte),
            _ => to.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<&str, String> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value().map_err(|bad| bad.to_string())?;
        scanner.end().map_err(|bad| bad.to_string())?;
        Ok(value)
    }

    #[test]
    fn what_is_json_passes_and_what_is_not_does_not() {
        for good in [
            "0",
            "-1.5e+7",
            "null",
            "true",
            r#""a\u00e9\ud800""#,
            "[]",
            "{}",
            "[[],{}]",
            r#"{"a":[1,{"b":null}],"c":"d"}"#,
            " [ 1 , 2 ] ",
        ] {
            assert_eq!(check(good), Ok(good.trim()));
        }
        for bad in [
            "",
            "01",
            "1.",
            "-",
            "nul",
            "[1,]",
            "[1 2]",
            "{1:2}",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            "\"\t\"",
            r#""\x""#,
            r#""\u12""#,
            "[",
            "{",
            "]",
            "1 2",
            "NaN",
            "{]",
            "'a'",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert_eq!(
            check("{]").unwrap_err(),
            "invalid character ']' looking for beginning of object key string"
        );
        assert!(check(&("[".repeat(10_000) + &"]".repeat(10_000))).is_ok());
        assert!(check(&("[".repeat(10_001) + &"]".repeat(10_001))).is_err());
    }

    #[test]
    fn texts_are_what_they_say() {
        assert_eq!(
            unquote(r#""a\ud83e\udd80\n\ud800b""#).unwrap(),
            "a🦀\n\u{fffd}b"
        );
        let mut quoted = Vec::new();
        quote(&mut quoted, "a\"\\\n\u{1}é");
        assert_eq!(quoted, r#""a\"\\\n\u0001é""#.as_bytes());
    }
}
