//! The text form of a label selector: `a=b, c notin (d, e), !f`.

use super::{Operator, Requirement, Selector, check_key};
use crate::field::{Path, aggregate};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

fn keyword(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

/// The next token and what is left behind it.
fn lex(text: &str) -> (Token, String, &str) {
    // Upstream reads a NUL as the end of the text.
    let text = text.split('\0').next().unwrap_or_default();
    let text = text.trim_start_matches(is_space);
    let Some(first) = text.chars().next() else {
        return (Token::End, String::new(), "");
    };
    if !is_symbol(first) {
        let end = text
            .find(|c| is_symbol(c) || is_space(c))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        return (
            keyword(word).unwrap_or(Token::Identifier),
            word.to_owned(),
            rest,
        );
    }
    // Symbols are ASCII: byte positions are characters. The longest operator wins.
    let run = text.find(|c| !is_symbol(c)).unwrap_or(text.len());
    let mut found = None;
    for end in 1..=run {
        match keyword(&text[..end]) {
            Some(token) => found = Some((token, end)),
            None if found.is_some() => break,
            None => {}
        }
    }
    match found {
        Some((token, end)) => (token, text[..end].to_owned(), &text[end..]),
        None => {
            let message = format!("error expected: keyword found '{}'", &text[..run]);
            (Token::Error, message, &text[run..])
        }
    }
}

struct Parser<'a> {
    tokens: Vec<(Token, String)>,
    position: usize,
    path: &'a Path<'a>,
}

/// Reads a selector; `path` is the place that errors name.
pub fn parse(text: &str, path: &Path<'_>) -> Result<Selector, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        let (token, literal, left) = lex(rest);
        tokens.push((token, literal));
        if token == Token::End {
            break;
        }
        rest = left;
    }
    let mut parser = Parser {
        tokens,
        position: 0,
        path,
    };
    let mut requirements = parser.selector()?;
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(Selector(requirements))
}

impl Parser<'_> {
    fn at(&self, position: usize) -> (Token, &str) {
        match self.tokens.get(position) {
            Some((token, literal)) => (*token, literal),
            None => (Token::End, ""),
        }
    }

    /// The next token where a key or value is expected: `in` and `notin` are plain words there.
    fn peek(&self) -> (Token, &str) {
        match self.at(self.position) {
            (Token::In | Token::NotIn, literal) => (Token::Identifier, literal),
            other => other,
        }
    }

    fn take(&mut self) -> (Token, String) {
        let (token, literal) = self.peek();
        let taken = (token, literal.to_owned());
        self.position += 1;
        taken
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let one = self.requirement();
                    all.push(one.map_err(|e| format!("unable to parse requirement: {e}"))?);
                    match self.take() {
                        (Token::End, _) => return Ok(all),
                        (Token::Comma, _) => {
                            let (next, literal) = self.peek();
                            if !matches!(next, Token::Identifier | Token::Not) {
                                return Err(format!(
                                    "found '{literal}', expected: identifier after ','"
                                ));
                            }
                        }
                        (_, literal) => {
                            return Err(format!(
                                "found '{literal}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(all),
                (_, literal) => {
                    return Err(format!(
                        "found '{literal}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.take();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.take();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(error) = check_key(&key, self.path) {
            return Err(error.to_string());
        }
        let alone = matches!(self.peek().0, Token::End | Token::Comma);
        let (operator, values) = match (negated, alone) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => {
                let operator = self.operator()?;
                let values = match operator {
                    Operator::In | Operator::NotIn => self.values()?,
                    _ => self.exact_value()?,
                };
                (operator, values)
            }
        };
        Requirement::new(&key, operator, values, self.path).map_err(|errors| aggregate(&errors))
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let (token, literal) = self.at(self.position);
        let operator = match token {
            Token::In => Operator::In,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            Token::NotIn => Operator::NotIn,
            Token::NotEquals => Operator::NotEquals,
            _ => {
                return Err(format!(
                    "found '{literal}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        self.position += 1;
        Ok(operator)
    }

    fn exact_value(&mut self) -> Result<Vec<String>, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(vec![String::new()]);
        }
        match self.take() {
            (Token::Identifier, value) => Ok(vec![value]),
            (_, literal) => Err(format!("found '{literal}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let (token, literal) = self.take();
        if token != Token::Open {
            return Err(format!("found '{literal}' expected: '('"));
        }
        let (token, literal) = self.peek();
        let literal = literal.to_owned();
        match token {
            Token::Identifier | Token::Comma => {
                let mut values = self.identifiers()?;
                // Upstream names the first token of the list here, not the one it stumbled over.
                if self.take().0 != Token::Close {
                    return Err(format!("found '{literal}', expected: ')'"));
                }
                values.sort_unstable();
                values.dedup();
                Ok(values)
            }
            Token::Close => {
                self.position += 1;
                Ok(vec![String::new()])
            }
            _ => Err(format!(
                "found '{literal}', expected: ',', ')' or identifier"
            )),
        }
    }

    fn identifiers(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        loop {
            match self.take() {
                (Token::Identifier, value) => {
                    values.push(value);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, literal) => {
                            return Err(format!("found '{literal}', expected: ',' or ')'"));
                        }
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.push(String::new());
                            return Ok(values);
                        }
                        Token::Comma => values.push(String::new()),
                        _ => {}
                    }
                }
                (_, literal) => {
                    return Err(format!("found '{literal}', expected: ',', or identifier"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: &str) {
        let found = match parse(text, &Path::ROOT) {
            Ok(selector) => selector.to_string(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn reads_what_upstream_reads() {
        check("", "");
        check("b=c,a", "a,b=c");
        check("a==b", "a==b");
        check("a=", "a=");
        check("a!=b", "a!=b");
        check("a in ()", "a in ()");
        check("a in (c,b, b)", "a in (b,c)");
        check("a in (,b)", "a in (,b)");
        check("a notin (in)", "a notin (in)");
        check("!a", "!a");
        check("a>1,b<2", "a>1,b<2");
        check("in in (notin)", "in in (notin)");
    }

    #[test]
    fn refuses_with_upstreams_sentences() {
        check("a,", "error: found '', expected: identifier after ','");
        check(
            "a b",
            "error: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        );
        check(
            "=a",
            "error: found '=', expected: !, identifier, or 'end of string'",
        );
        check(
            "a in b",
            "error: unable to parse requirement: found 'b' expected: '('",
        );
        check("!a=b", "error: found '=', expected: ',' or 'end of string'");
        check(
            "a>x",
            "error: unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
             operators, the value must be an integer",
        );
        let bad_key = parse("a b/c/d", &Path::ROOT);
        assert!(bad_key.is_err());
    }

    #[test]
    fn absent_labels_match_what_excludes_them() {
        let labels = json!({"a": "1"});
        let labels = labels.as_object().unwrap();
        let matches = |text| parse(text, &Path::ROOT).unwrap().matches(labels);
        assert!(matches("a=1") && matches("b!=1") && matches("b notin (1)") && matches("!b"));
        assert!(matches("a>0") && !matches("a<1") && !matches("b>0") && !matches("b"));
        let empty = Selector::from_object(&json!({})).unwrap();
        assert!(empty.is_everything());
        assert!(Selector::from_object(&json!(null)).is_none());
        let object = json!({"matchLabels": {"a": "1"}, "matchExpressions": [
            {"key": "b", "operator": "DoesNotExist"}
        ]});
        let selector = Selector::from_object(&object).unwrap();
        assert_eq!(selector.to_string(), "a=1,!b");
        assert!(selector.matches(labels));
    }
}
