//! From text to expressions.

use super::value::Val;
use crate::kept::Kept;
use std::rc::Rc;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Literal(Val),
    Name(String),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    /// `a.b`; `optional` for `a.?b`.
    Field {
        of: Box<Expr>,
        name: String,
        optional: bool,
    },
    Index {
        of: Box<Expr>,
        at: Box<Expr>,
        optional: bool,
    },
    /// `f(a)` or `of.f(a)`.
    Call {
        of: Option<Box<Expr>>,
        name: String,
        with: Vec<Expr>,
    },
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Calls something for the expression and all in it.
    pub(super) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        match self {
            Self::Literal(_) | Self::Name(_) => {}
            Self::List(list) => list.iter().for_each(|e| e.each(visit)),
            Self::Map(entries) => entries.iter().for_each(|(k, v)| {
                k.each(visit);
                v.each(visit);
            }),
            Self::Field { of, .. } => of.each(visit),
            Self::Index { of, at, .. } => {
                of.each(visit);
                at.each(visit);
            }
            Self::Call { of, with, .. } => {
                of.iter().for_each(|e| e.each(visit));
                with.iter().for_each(|e| e.each(visit));
            }
            Self::Not(e) | Self::Negative(e) => e.each(visit),
            Self::Binary(_, a, b) => {
                a.each(visit);
                b.each(visit);
            }
            Self::Choice(a, b, c) => [a, b, c].into_iter().for_each(|e| e.each(visit)),
        }
    }

    /// Whether it is made of literals alone.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::List(list) => list.iter().all(Self::is_constant),
            Self::Map(entries) => entries
                .iter()
                .all(|(k, v)| k.is_constant() && v.is_constant()),
            _ => false,
        }
    }

    /// Whether a name occurs.
    pub(super) fn uses(&self, name: &str) -> bool {
        let mut found = false;
        self.each(&mut |e| found |= matches!(e, Self::Name(n) if n == name));
        found
    }
}

thread_local! {
    static KEPT: Kept<Rc<Expr>> = Kept::default();
}

/// An expression, read now or earlier.
pub(super) fn kept(text: &str) -> Result<Rc<Expr>, String> {
    KEPT.with(|kept| kept.get(text, |text| parse(text).map(Rc::new)))
}

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
    };
    let expr = parser.choice()?;
    parser.space();
    match parser.rest.is_empty() {
        true => Ok(expr),
        false => Err(parser.wrong()),
    }
}

/// How deep expressions may nest.
const DEPTH_MAX: usize = 100;

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

type Parsed = Result<Expr, String>;

impl<'a> Parser<'a> {
    fn wrong(&self) -> String {
        let near: String = self.rest.chars().take(20).collect();
        format!("ERROR: <input>: Syntax error near '{near}'")
    }

    fn space(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix("//") {
                Some(comment) => {
                    let end = comment.find('\n').unwrap_or(comment.len());
                    self.rest = &comment[end..];
                }
                None => return,
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    fn choice(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("ERROR: <input>: expression recursion limit exceeded".to_owned());
        }
        let mut expr = self.level(0)?;
        if self.take("?") {
            let yes = self.level(0)?;
            self.expect(":")?;
            let no = self.choice()?;
            expr = Expr::Choice(Box::new(expr), Box::new(yes), Box::new(no));
        }
        self.depth -= 1;
        Ok(expr)
    }

    /// Binary operators, the loosest first.
    fn level(&mut self, level: usize) -> Parsed {
        const LEVELS: [&[&str]; 5] = [
            &["||"],
            &["&&"],
            &["==", "!=", "<=", ">=", "<", ">", "in"],
            &["+", "-"],
            &["*", "/", "%"],
        ];
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.level(level + 1)?;
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        self.space();
        let here = self.rest;
        let found = operators.iter().find(|operator| {
            let Some(after) = here.strip_prefix(**operator) else {
                return false;
            };
            let word = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            !(**operator == "in" && word)
        })?;
        self.rest = &here[found.len()..];
        Some(*found)
    }

    fn unary(&mut self) -> Parsed {
        self.space();
        if self.rest.starts_with('!') && !self.rest.starts_with("!=") {
            self.rest = &self.rest[1..];
            return Ok(Expr::Not(Box::new(self.unary()?)));
        }
        if self.take("-") {
            let digit = self.rest.starts_with(|c: char| c.is_ascii_digit());
            if digit && self.rest.starts_with("9223372036854775808") {
                self.rest = &self.rest[19..];
                return self.postfix(Expr::Literal(Val::Int(i64::MIN)));
            }
            return Ok(Expr::Negative(Box::new(self.unary()?)));
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut expr: Expr) -> Parsed {
        loop {
            if self.take(".") {
                let optional = self.take("?");
                let name = self.name().ok_or_else(|| self.wrong())?;
                let of = Box::new(expr);
                expr = match !optional && self.take("(") {
                    true => Expr::Call {
                        of: Some(of),
                        name,
                        with: self.until(")")?,
                    },
                    false => Expr::Field { of, name, optional },
                };
            } else if self.take("[") {
                let optional = self.take("?");
                let at = Box::new(self.choice()?);
                self.expect("]")?;
                expr = Expr::Index {
                    of: Box::new(expr),
                    at,
                    optional,
                };
            } else {
                return Ok(expr);
            }
        }
    }

    fn until(&mut self, end: &str) -> Result<Vec<Expr>, String> {
        let mut list = Vec::new();
        while !self.take(end) {
            list.push(self.choice()?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(list)
    }

    fn name(&mut self) -> Option<String> {
        self.space();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let first = name.chars().next()?;
        if first.is_ascii_digit() {
            return None;
        }
        self.rest = rest;
        Some(name.to_owned())
    }

    fn primary(&mut self) -> Parsed {
        self.space();
        let first = self.rest.chars().next().ok_or_else(|| self.wrong())?;
        match first {
            '(' => {
                self.rest = &self.rest[1..];
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            '[' => {
                self.rest = &self.rest[1..];
                Ok(Expr::List(self.until("]")?))
            }
            '{' => {
                self.rest = &self.rest[1..];
                self.map()
            }
            '\'' | '"' => Ok(Expr::Literal(self.text(false)?.into())),
            '0'..='9' => self.number(),
            '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            _ => self.word(),
        }
    }

    fn map(&mut self) -> Parsed {
        let mut entries = Vec::new();
        while !self.take("}") {
            let key = self.choice()?;
            self.expect(":")?;
            entries.push((key, self.choice()?));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expr::Map(entries))
    }

    fn word(&mut self) -> Parsed {
        let quoted = |rest: &str, prefix: &str| {
            let after = rest.strip_prefix(prefix);
            after.is_some_and(|after| after.starts_with(['\'', '"']))
        };
        for prefix in ["r", "R"] {
            if quoted(self.rest, prefix) {
                self.rest = &self.rest[1..];
                return Ok(Expr::Literal(self.text(true)?.into()));
            }
        }
        for prefix in ["b", "B"] {
            if quoted(self.rest, prefix) {
                self.rest = &self.rest[1..];
                return Ok(Expr::Literal(Val::Bytes(
                    self.text(false)?.into_bytes().into(),
                )));
            }
        }
        let name = self.name().ok_or_else(|| self.wrong())?;
        Ok(match name.as_str() {
            "true" => Expr::Literal(Val::Bool(true)),
            "false" => Expr::Literal(Val::Bool(false)),
            "null" => Expr::Literal(Val::Null),
            _ if self.take("(") => Expr::Call {
                of: None,
                name,
                with: self.until(")")?,
            },
            _ => Expr::Name(name),
        })
    }

    fn number(&mut self) -> Parsed {
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
        if value.contains(['.', 'e', 'E']) {
            let value = value.parse().map_err(|_| wrong)?;
            return Ok(Expr::Literal(Val::Double(value)));
        }
        if let Some(rest) = rest.strip_prefix(['u', 'U']) {
            self.rest = rest;
            let value = value.parse().map_err(|_| wrong)?;
            return Ok(Expr::Literal(Val::Uint(value)));
        }
        let value = value.parse().map_err(|_| wrong)?;
        Ok(Expr::Literal(Val::Int(value)))
    }

    /// A text in quotes, single or triple.
    fn text(&mut self, raw: bool) -> Result<String, String> {
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
