//! Field selectors: `metadata.name=a,status.phase!=Running`.
//!
//! Upstream: `k8s.io/apimachinery/pkg/fields/selector.go`.

/// One condition on a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The label of the field.
    pub field: String,
    /// `true` for `=` and `==`, `false` for `!=`.
    pub equals: bool,
    /// The value, unescaped.
    pub value: String,
}

/// Conditions that all have to hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector(pub Vec<Term>);

impl Selector {
    /// Whether it holds, given the value of each field.
    pub fn matches(&self, value: impl Fn(&str) -> String) -> bool {
        let holds = |term: &Term| (value(&term.field) == term.value) == term.equals;
        self.0.iter().all(holds)
    }

    /// The value that a field must have, if the selector demands one.
    pub fn required(&self, field: &str) -> Option<&str> {
        let exact = |term: &&Term| term.equals && term.field == field;
        self.0.iter().find(exact).map(|term| term.value.as_str())
    }
}

/// Reads a selector.
pub fn parse(text: &str) -> Result<Selector, String> {
    let mut terms = split_terms(text);
    terms.sort_unstable();
    let mut out = Vec::new();
    for term in terms.into_iter().filter(|term| !term.is_empty()) {
        let Some((field, equals, value)) = split_term(term) else {
            return Err(format!(
                "invalid selector: '{text}'; can't understand '{term}'"
            ));
        };
        out.push(Term {
            field: field.to_owned(),
            equals,
            value: unescape(value)?,
        });
    }
    Ok(Selector(out))
}

/// Splits at commas that no backslash stands before.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Field, whether it must be equal, and the value as written.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (i, _) in term.char_indices() {
        let rest = &term[i..];
        for (operator, equals) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((&term[..i], equals, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => {
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{c}"
                    ));
                }
                None => {
                    return Err("invalid field selector: invalid escape sequence: \\".to_owned());
                }
            },
            // Upstream prints the character as a number.
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    c as u32
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_terms_and_escapes() {
        let selector = parse(r"b!=2,a==x\,y,").unwrap();
        assert_eq!(selector.0.len(), 2);
        assert_eq!(selector.required("a"), Some("x,y"));
        assert_eq!(selector.required("b"), None);
        assert!(selector.matches(|field| match field {
            "a" => "x,y".to_owned(),
            _ => String::new(),
        }));
        assert!(parse("").unwrap().0.is_empty());
    }

    #[test]
    fn refuses_with_upstreams_sentences() {
        let error = |text| parse(text).unwrap_err();
        assert_eq!(error("a"), "invalid selector: 'a'; can't understand 'a'");
        assert_eq!(
            error("a=b=c"),
            "invalid field selector: unescaped character in value: 61"
        );
        assert_eq!(
            error(r"a=\b"),
            r"invalid field selector: invalid escape sequence: \b"
        );
        assert_eq!(
            error(r"a=\"),
            r"invalid field selector: invalid escape sequence: \"
        );
    }
}
