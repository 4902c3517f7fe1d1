//! What names, labels and their values may look like.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/validate/content`.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with the name of an object.
pub(super) fn subdomain(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 bytes".to_owned());
    }
    let part = |part: &str| {
        let edge =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let bytes = part.as_bytes();
        edge(bytes.first())
            && edge(bytes.last())
            && bytes
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    };
    (!name.split('.').all(part)).then(|| SUBDOMAIN.to_owned())
}

/// What is wrong with a label key or another qualified name.
pub(super) fn label_key(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {LABEL_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else if let Some(detail) = subdomain(prefix) {
                wrong.push(format!("prefix part {detail}"));
            }
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_label_text(name) {
        wrong.push(format!("name part {LABEL_NAME}"));
    }
    wrong
}

/// What is wrong with a label's value.
pub(super) fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!value.is_empty() && !is_label_text(value)).then(|| LABEL_VALUE.to_owned())
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass() {
        for name in ["a", "a-b", "a.b-c.d", "0"] {
            assert_eq!(subdomain(name), None, "{name}");
        }
        for key in ["a", "example.com/My_Name", "a.b"] {
            assert!(label_key(key).is_empty(), "{key}");
        }
        for value in ["", "A", "a_b.c-d"] {
            assert_eq!(label_value(value), None, "{value}");
        }
    }

    #[test]
    fn bad_names_are_told() {
        for name in ["", "A", "-a", "a-", "a..b", "a_b", "ä"] {
            assert!(subdomain(name).is_some(), "{name}");
        }
        for key in ["", "/a", "a/", "a/b/c", "A/b", "-a", "a b"] {
            assert!(!label_key(key).is_empty(), "{key}");
        }
        for value in ["-", "a b", "a/b"] {
            assert!(label_value(value).is_some(), "{value}");
        }
    }
}
