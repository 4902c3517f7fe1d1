//! Names, numbers and texts.

use super::{Expr, Fault, Heights, Node, Parsed, Parser, Val};

impl Parser<'_> {
    pub(super) fn word(&mut self) -> Parsed {
        let quoted = |rest: &str, prefix: &str| {
            let after = rest.strip_prefix(prefix);
            after.is_some_and(|after| after.starts_with(['\'', '"']))
        };
        for prefix in ["r", "R"] {
            if quoted(self.rest, prefix) {
                self.rest = &self.rest[1..];
                return Ok(Node::leaf(Expr::Literal(self.text(true)?.into())));
            }
        }
        for prefix in ["b", "B"] {
            if quoted(self.rest, prefix) {
                self.rest = &self.rest[1..];
                let bytes = self.text(false)?.into_bytes();
                return Ok(Node::leaf(Expr::Literal(Val::Bytes(bytes.into()))));
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
        let wrong = self.wrong();
        let quote = self.rest.chars().next().ok_or_else(|| wrong.clone())?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let end: String = match self.rest.starts_with(&triple) {
            true => triple,
            false => quote.to_string(),
        };
        let mut rest = &self.rest[end.len()..];
        let mut out = String::new();
        loop {
            if let Some(after) = rest.strip_prefix(end.as_str()) {
                self.rest = after;
                return Ok(out);
            }
            let c = rest.chars().next().ok_or_else(|| wrong.clone())?;
            rest = &rest[c.len_utf8()..];
            if c != '\\' || raw {
                out.push(c);
                continue;
            }
            let c = rest.chars().next().ok_or_else(|| wrong.clone())?;
            rest = &rest[c.len_utf8()..];
            let digits = match c {
                'x' | 'X' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            if digits > 0 {
                let code = rest.get(..digits).ok_or_else(|| wrong.clone())?;
                let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| wrong.clone())?);
                rest = &rest[digits..];
                continue;
            }
            out.push(match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'v' => '\x0b',
                '\\' | '\'' | '"' | '`' | '?' => c,
                _ => return Err(wrong),
            });
        }
    }
}
