//! Regular expressions as Go reads them, compiled once: compiling costs thousands of times more than
//! matching.

use crate::kept::Kept;
use regex::Regex;
use std::iter::Peekable;
use std::str::Chars;

thread_local! {
    static KEPT: Kept<Regex> = Kept::default();
}

/// The expression, compiled now or earlier.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    KEPT.with(|kept| kept.get(pattern, |pattern| Regex::new(&translated(pattern))))
}

/// Go's expression in Rust's syntax. `\d`, `\s` and `\w` are about ASCII alone in Go, what looks like no
/// repetition is plain text, and classes know neither nesting nor operators.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, &mut out),
            '[' => class(&mut rest, &mut out),
            '{' if !is_repetition(rest.clone()) => out.push_str("\\{"),
            c => out.push(c),
        }
    }
    out
}

/// What a class of Perl's stands for, within brackets.
fn perl(c: char) -> Option<(&'static str, bool)> {
    let set = match c.to_ascii_lowercase() {
        'd' => "0-9",
        's' => "\\t\\n\\x0c\\r ",
        'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((set, c.is_ascii_uppercase()))
}

fn escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    match rest.next() {
        None => out.push('\\'),
        Some('b') => out.push_str("(?-u:\\b)"),
        // Text up to the end of the quotation.
        Some('Q') => {
            while let Some(c) = rest.next() {
                if c == '\\' && rest.next_if_eq(&'E').is_some() {
                    return;
                }
                out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            }
        }
        Some(c) => match perl(c) {
            Some((set, false)) => out.push_str(&format!("[{set}]")),
            Some((set, true)) => out.push_str(&format!("[^{set}]")),
            None => verbatim(c, rest, out),
        },
    }
}

/// What is escaped in the same way, with what stands in braces behind it: `\p{Greek}`, `\x{1F600}`.
fn verbatim(c: char, rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('\\');
    out.push(c);
    if matches!(c, 'p' | 'P' | 'x') && rest.peek() == Some(&'{') {
        for c in rest.by_ref() {
            out.push(c);
            if c == '}' {
                break;
            }
        }
    }
}

/// The class after its opening bracket.
fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A bracket that comes first is one of the class.
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => return out.push(']'),
            '[' if is_posix(rest.clone()) => {
                out.push('[');
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => match rest.next() {
                None => out.push('\\'),
                Some(c) => match perl(c) {
                    Some((set, false)) => out.push_str(set),
                    Some((set, true)) => out.push_str(&format!("[^{set}]")),
                    None => verbatim(c, rest, out),
                },
            },
            c => out.push(c),
        }
    }
}

/// Whether `[` is followed by the rest of `[:alpha:]`.
fn is_posix(mut rest: Peekable<Chars<'_>>) -> bool {
    if rest.next() != Some(':') {
        return false;
    }
    let mut name = rest.skip_while(|c| c.is_ascii_alphabetic() || *c == '^');
    name.next() == Some(':') && name.next() == Some(']')
}

/// Whether `{` is followed by the rest of `{1}`, `{1,}` or `{1,2}`.
fn is_repetition(rest: Peekable<Chars<'_>>) -> bool {
    let inside: String = rest.take_while(|c| *c != '}').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match inside.split_once(',') {
        None => is_number(&inside),
        Some((least, "")) => is_number(least),
        Some((least, most)) => is_number(least) && is_number(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an expression matches and what it does not, as Go says.
    #[track_caller]
    fn check(pattern: &str, fits: &[&str], other: &[&str]) {
        let regex = compile(pattern).unwrap();
        for text in fits {
            assert!(regex.is_match(text), "{pattern} {text}");
        }
        for text in other {
            assert!(!regex.is_match(text), "{pattern} {text}");
        }
    }

    #[test]
    fn expressions_mean_what_they_mean_in_go() {
        check(r"^\d+$", &["12"], &["٣"]);
        check(r"^\w+$", &["a_1"], &["é"]);
        check(r"^\W$", &["é", "-"], &["a"]);
        check(r"^[\w.-]+$", &["a.b-c"], &["é"]);
        check(r"^[^\s\d]+$", &["ab"], &["a b", "a1"]);
        check(r"^[\D]+$", &["ab"], &["1"]);
        check(r"\bcat\b", &["a cat."], &["cats"]);
        check(r"^\p{L}+\pN$", &["é1"], &["1"]);
        check(r"^\p{Greek}+$", &["αβ"], &["ab"]);
        check(r"^[\p{Greek}\x{62}]+$", &["αb"], &["a"]);
        check(r"^{a}$", &["{a}"], &["a"]);
        check(r"^a{2}b{1,}c{0,1}$", &["aabc", "aab"], &["abc"]);
        check(r"^[[a&&b]+$", &["[a&b"], &["c"]);
        check(r"^[]a]+$", &["]a"], &["b"]);
        check(r"^[[:alpha:]_]+$", &["a_"], &["1"]);
        check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
        check(r"^a\/b\-c$", &["a/b-c"], &["a"]);
        assert!(compile("(").is_err());
        for broken in ["[", "\\", "[a\\", "\\Qa", "{", "[[:x"] {
            let _ = compile(broken);
        }
    }
}
