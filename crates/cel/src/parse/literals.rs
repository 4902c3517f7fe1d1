//! Names, numbers and texts.

use super::{Expr, Fault, Heights, Node, Parsed, Parser, Val};

impl Parser<'_> {
    pub(super) fn word(&mut self) -> Parsed {
        // `r` for a raw text, `b` for bytes, `br` for raw bytes.
        for (prefix, bytes, raw) in [("br", true, true), ("b", true, false), ("r", false, true)] {
            let Some(start) = self.rest.get(..prefix.len()) else {
                continue;
            };
            let after = &self.rest[start.len()..];
            if start.eq_ignore_ascii_case(prefix) && after.starts_with(['\'', '"']) {
                self.rest = after;
                return Ok(Node::leaf(Expr::Literal(match bytes {
                    true => Val::Bytes(self.bytes(raw)?.into()),
                    false => self.text(raw)?.into(),
                })));
            }
        }
        let name = self.name().ok_or_else(|| self.wrong())?;
        Ok(Node::leaf(match name.as_str() {
            "true" => Expr::Literal(Val::Bool(true)),
            "false" => Expr::Literal(Val::Bool(false)),
            "null" => Expr::Literal(Val::Null),
            _ if self.take("(") => {
                let mut parts = Heights::default();
                let with = self.until(")", &mut parts)?;
                let of = None;
                return Ok(self.node(Expr::Call { of, name, with }, parts, false));
            }
            _ => Expr::Name(name),
        }))
    }

    /// A number, whose sign was read.
    pub(super) fn number(&mut self, sign: &str) -> Parsed {
        let hex = self
            .rest
            .strip_prefix("0x")
            .or(self.rest.strip_prefix("0X"));
        let wrong = self.wrong();
        let (value, rest) = match hex {
            Some(hex) => {
                let end = hex
                    .find(|c: char| !c.is_ascii_hexdigit())
                    .unwrap_or(hex.len());
                let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| wrong.clone())?;
                (value.to_string(), &hex[end..])
            }
            None => {
                let mut end = 0;
                let bytes = self.rest.as_bytes();
                while let Some(&b) = bytes.get(end) {
                    let sign = matches!(b, b'+' | b'-')
                        && end > 0
                        && matches!(bytes.get(end - 1), Some(b'e' | b'E'));
                    // A dot that no digit follows begins a field or a method.
                    let dot = b == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
                    if !(b.is_ascii_digit() || matches!(b, b'e' | b'E') || dot || sign) {
                        break;
                    }
                    end += 1;
                }
                (self.rest[..end].to_owned(), &self.rest[end..])
            }
        };
        self.rest = rest;
        let signed = format!("{sign}{value}");
        if value.contains(['.', 'e', 'E']) {
            let value = signed.parse().map_err(|_| wrong.clone())?;
            return Ok(Node::leaf(Expr::Literal(Val::Double(value))));
        }
        if let Some(rest) = rest.strip_prefix(['u', 'U']) {
            self.rest = rest;
            let value = signed.parse().map_err(|_| wrong.clone())?;
            return Ok(Node::leaf(Expr::Literal(Val::Uint(value))));
        }
        let value = signed.parse().map_err(|_| wrong.clone())?;
        Ok(Node::leaf(Expr::Literal(Val::Int(value))))
    }

    /// A text in quotes, single or triple.
    pub(super) fn text(&mut self, raw: bool) -> Result<String, Fault> {
        let mut out = String::new();
        self.quoted(raw, &mut |escape| match escape {
            Escape::Plain(c) | Escape::Code(c) => {
                out.push(c);
                Some(())
            }
            Escape::Byte(byte) => {
                out.push(char::from(byte));
                Some(())
            }
        })?;
        Ok(out)
    }

    /// Bytes in quotes: texts stand for their UTF-8, and there are no code points.
    fn bytes(&mut self, raw: bool) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        self.quoted(raw, &mut |escape| match escape {
            Escape::Plain(c) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                Some(())
            }
            Escape::Byte(byte) => {
                out.push(byte);
                Some(())
            }
            Escape::Code(_) => None,
        })?;
        Ok(out)
    }

    /// Reads what is in quotes, part by part. Upstream: `cel-go/parser/unescape.go`.
    fn quoted(
        &mut self,
        raw: bool,
        take: &mut dyn FnMut(Escape) -> Option<()>,
    ) -> Result<(), Fault> {
        let wrong = self.wrong();
        let quote = self.rest.chars().next().ok_or_else(|| wrong.clone())?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let is_triple = self.rest.starts_with(&triple);
        let end = match is_triple {
            true => triple,
            false => quote.to_string(),
        };
        let mut rest = &self.rest[end.len()..];
        loop {
            if let Some(after) = rest.strip_prefix(end.as_str()) {
                self.rest = after;
                return Ok(());
            }
            let c = rest.chars().next().ok_or_else(|| wrong.clone())?;
            rest = &rest[c.len_utf8()..];
            let part = match c {
                '\n' | '\r' if !is_triple => return Err(wrong),
                '\\' if !raw => {
                    let (part, after) = escape(rest).ok_or_else(|| wrong.clone())?;
                    rest = after;
                    part
                }
                c => Escape::Plain(c),
            };
            take(part).ok_or_else(|| wrong.clone())?;
        }
    }
}

/// A part of what is in quotes.
enum Escape {
    /// A character, or an escape that stands for one.
    Plain(char),
    /// `\x41` or `\101`: a byte of bytes, a code point of a text.
    Byte(u8),
    /// `\u0041` or `\U00000041`.
    Code(char),
}

/// What stands behind a backslash, and what follows that.
fn escape(rest: &str) -> Option<(Escape, &str)> {
    let c = rest.chars().next()?;
    let after = &rest[c.len_utf8()..];
    let number = |text: &str, digits: usize, base: u32| {
        let text = text.get(..digits)?;
        let all = text.chars().all(|c| c.is_digit(base));
        all.then(|| u32::from_str_radix(text, base).ok())?
    };
    let code = |digits: usize| {
        let code = number(after, digits, 16).and_then(char::from_u32)?;
        Some((Escape::Code(code), &after[digits..]))
    };
    match c {
        'x' | 'X' => {
            let byte = number(after, 2, 16).and_then(|n| u8::try_from(n).ok())?;
            Some((Escape::Byte(byte), &after[2..]))
        }
        '0'..='3' => {
            let byte = number(rest, 3, 8).and_then(|n| u8::try_from(n).ok())?;
            Some((Escape::Byte(byte), &rest[3..]))
        }
        'u' => code(4),
        'U' => code(8),
        c => {
            let c = match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'v' => '\x0b',
                '\\' | '\'' | '"' | '`' | '?' => c,
                _ => return None,
            };
            Some((Escape::Plain(c), after))
        }
    }
}
