//! What keys and values of labels may look like. Upstream's `apimachinery/pkg/api/validate/content`.
//!
//! Each function gives what is wrong with a text, nothing if it is right.

const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
    for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// A label's key, or a "qualified name".
pub fn label_key(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let parts: Vec<_> = key.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                let wrong = subdomain(prefix).into_iter();
                errors.extend(wrong.map(|error| format!("prefix part {error}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        errors.push(format!("name part {LABEL_KEY}"));
    }
    errors
}

/// A label's value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(LABEL_VALUE.to_owned());
    }
    errors
}

/// The domain in front of a key.
fn subdomain(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > 253 {
        errors.push("must be no more than 253 bytes".to_owned());
    }
    if !is_subdomain(name) {
        errors.push(SUBDOMAIN.to_owned());
    }
    errors
}

/// Whether this is a domain, but for its length.
pub(crate) fn is_subdomain(name: &str) -> bool {
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |label: &str| is_framed(label, edge, |b| *b == b'-');
    name.split('.').all(is_label)
}

/// Whether this may stand behind the domain of a key, but for its length.
pub(crate) fn is_name(name: &str) -> bool {
    is_framed(name, u8::is_ascii_alphanumeric, |b| {
        matches!(b, b'-' | b'_' | b'.')
    })
}

/// Not empty, `edge` bytes at both ends, `edge` or `inner` bytes between.
fn is_framed(text: &str, edge: impl Fn(&u8) -> bool, inner: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&edge)
        && bytes.last().is_some_and(&edge)
        && bytes.iter().all(|b| edge(b) || inner(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass_and_bad_ones_do_not() {
        for key in ["a", "example.com/My_Name", "a.b"] {
            assert!(label_key(key).is_empty(), "{key}");
        }
        for key in ["", "/a", "a/", "a/b/c", "A.com/b", "-a", "ä"] {
            assert!(!label_key(key).is_empty(), "{key}");
        }
        for value in ["", "A", "a_b.c-d"] {
            assert!(label_value(value).is_empty(), "{value}");
        }
        for value in ["-a", "a b", "ä"] {
            assert!(!label_value(value).is_empty(), "{value}");
        }
    }
}
