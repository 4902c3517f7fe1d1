//! Regular expressions as Go reads them, compiled once: compiling costs thousands of times more than
//! matching.

use crate::kept::Kept;
use regex::{Regex, RegexBuilder};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

/// An expression, and what it took to compile it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The expression, or what is wrong with it in Rust's words.
    pub regex: Result<Regex, String>,
    /// What compiling it is worth in the currency of rules.
    pub cost: u64,
}

static KEPT: LazyLock<Kept<Compiled>> = LazyLock::new(Kept::default);

/// How large a compiled expression may be, in bytes, and what it costs to find out.
const SIZES: [(usize, u64); 4] = [
    (1 << 13, 200),
    (1 << 16, 2_000),
    (1 << 20, 40_000),
    (10 << 20, 400_000),
];
/// What matching may keep to be quick.
const DFA_BYTES_MAX: usize = 1 << 18;

/// The expression, compiled now or earlier.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let compiled = compile_within(pattern, &mut |_| Ok::<_, String>(()))?;
    compiled.regex
}

/// The expression, compiled now or earlier. `may` is told what it costs to go on compiling, before that
/// is done.
pub fn compile_within<E>(
    pattern: &str,
    may: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<Compiled, E> {
    let mut told = 0;
    let compiled = KEPT.get(pattern, |pattern| {
        let translated = translated(pattern);
        let mut made = None;
        for (bytes, cost) in SIZES {
            may(cost - told)?;
            told = cost;
            let built = RegexBuilder::new(&translated)
                .size_limit(bytes)
                .dfa_size_limit(DFA_BYTES_MAX)
                .build();
            let large = matches!(built, Err(regex::Error::CompiledTooBig(_)));
            let regex = built.map_err(|why| why.to_string());
            made = Some((Compiled { regex, cost }, bytes));
            if !large {
                break;
            }
        }
        Ok(made.unwrap_or_else(|| {
            let regex = Err("expression too large".to_owned());
            (Compiled { regex, cost: 0 }, 0)
        }))
    })?;
    // It costs as much when it was compiled earlier.
    may(compiled.cost.saturating_sub(told))?;
    Ok(compiled)
}

/// Whether a text matches a regular expression anywhere. An expression that cannot be read matches
/// nothing; definitions with such expressions are refused.
pub fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// What is wrong with a regular expression, in Go's words for what is wrong most often.
pub fn fault(pattern: &str) -> Option<String> {
    let text = compile(pattern).err()?;
    let quoted = |part: &str| format!("`{part}`");
    let fault = if text.contains("unclosed group") {
        format!("missing closing ): {}", quoted(pattern))
    } else if text.contains("unclosed character class") {
        let from = pattern.rfind('[').unwrap_or_default();
        format!(
            "missing closing ]: {}",
            quoted(pattern.get(from..).unwrap_or_default())
        )
    } else if text.contains("unopened group") {
        format!("unexpected ): {}", quoted(pattern))
    } else if text.contains("repetition operator missing expression") {
        let at = pattern.find(['*', '+', '?']).unwrap_or_default();
        let operator = pattern.get(at..=at).unwrap_or_default();
        format!(
            "missing argument to repetition operator: {}",
            quoted(operator)
        )
    } else {
        format!("invalid or unsupported Perl syntax: {}", quoted(pattern))
    };
    Some(format!("error parsing regexp: {fault}"))
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
            '{' if !is_repetition(&rest) => out.push_str("\\{"),
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
        Some(c @ ('b' | 'B')) => out.push_str(&format!("(?-u:\\{c})")),
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

/// The class after its opening bracket. Upstream: Go's `regexp/syntax`, `parseClass`.
fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    while let Some(c) = rest.next() {
        // A bracket that comes first is one of the class.
        if c == ']' && !first {
            return out.push(']');
        }
        first = false;
        let single = match c {
            '[' if is_posix(rest.clone()) => {
                out.push('[');
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
                false
            }
            c => endpoint(c, rest, out),
        };
        let mut ahead = rest.clone();
        let ranges = single && ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        if ranges {
            rest.next();
            out.push('-');
            if let Some(c) = rest.next() {
                endpoint(c, rest, out);
            }
        }
    }
}

/// One character of a class, or a class within it; says whether it was one.
fn endpoint(c: char, rest: &mut Peekable<Chars<'_>>, out: &mut String) -> bool {
    match c {
        '[' | ']' | '&' | '~' | '-' | '^' => {
            out.push('\\');
            out.push(c);
            true
        }
        '\\' => match rest.next() {
            None => {
                out.push('\\');
                true
            }
            Some(c) => match perl(c) {
                Some((set, negated)) => {
                    let not = if negated { "^" } else { "" };
                    out.push_str(&format!("[{not}{set}]"));
                    false
                }
                None => {
                    verbatim(c, rest, out);
                    !matches!(c, 'p' | 'P')
                }
            },
        },
        c => {
            out.push(c);
            true
        }
    }
}

/// Whether `[` is followed by the rest of `[:alpha:]`.
fn is_posix(mut rest: Peekable<Chars<'_>>) -> bool {
    /// No class has a longer name.
    const NAME_MAX: usize = 16;
    if rest.next() != Some(':') {
        return false;
    }
    let mut rest = rest.take(NAME_MAX);
    let mut after = rest
        .by_ref()
        .skip_while(|c| c.is_ascii_alphabetic() || *c == '^');
    after.next() == Some(':') && after.next() == Some(']')
}

/// Whether `{` is followed by the rest of `{1}`, `{1,}` or `{1,2}`.
fn is_repetition(rest: &Peekable<Chars<'_>>) -> bool {
    /// No more than a thousand repetitions can be asked for.
    const INSIDE_MAX: usize = 16;
    let mut inside = String::new();
    for c in rest.clone().take(INSIDE_MAX) {
        if c == '}' {
            let is_number =
                |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            return match inside.split_once(',') {
                None => is_number(&inside),
                Some((least, "")) => is_number(least),
                Some((least, most)) => is_number(least) && is_number(most),
            };
        }
        inside.push(c);
    }
    false
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
        check(r"^\Bé", &["é"], &["a"]);
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
        for broken in ["[", "\\", "[a\\", "\\Qa", "{", "[[:x", "[a-", "[a-\\"] {
            let _ = compile(broken);
        }
    }

    #[test]
    fn a_dash_in_a_class_is_no_operator() {
        check(r"^[+--]+$", &["+,-"], &["."]);
        assert!(compile(r"^[a--]$").is_err(), "a range that goes down");
        check(r"^[--a]+$", &["-/A_a"], &["b", ","]);
        check(r"^[a-]+$", &["a-"], &["b"]);
        check(r"^[-a]+$", &["a-"], &["b"]);
        check(r"^[\w--]+$", &["a-"], &["+"]);
        check(r"^[a~~b^]+$", &["a~b^"], &["c"]);
    }

    #[test]
    fn what_compiling_costs_is_told_before() {
        let mut told = 0;
        let mut tell = |cost| {
            told += cost;
            match told > 50_000 {
                true => Err(told),
                false => Ok(()),
            }
        };
        let large = r"\pL{999}";
        assert_eq!(compile_within(large, &mut tell).unwrap_err(), 400_000);
        told = 0;
        let mut tell = |cost| {
            told += cost;
            Ok::<_, ()>(())
        };
        compile_within("a[b]c", &mut tell).unwrap();
        compile_within("a[b]c", &mut tell).unwrap();
        assert_eq!(told, 400, "no less for what is kept");
        // Braces that repeat nothing are read once.
        assert!(compile(&"{".repeat(20_000)).is_ok());
    }
}
