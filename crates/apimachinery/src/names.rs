//! What names may look like, and what is said of those that may not.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/validation` and `…/api/validate/content`, 0.36.4. Each
//! function answers with the sentences of all rules that a text breaks, none if it is well formed.

pub use stowplan_base::{label_key, label_value};

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

/// `must be no more than N characters`: the sentence of the older rules.
pub fn max_len_error(length: usize) -> String {
    format!("must be no more than {length} characters")
}

/// `must be no more than N bytes`: the sentence of the newer rules.
pub fn max_bytes_error(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

/// `must be between A and B, inclusive`
pub fn range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// A sentence with examples and the regular expression behind it.
pub fn regex_error(message: &str, regex: &str, examples: &[&str]) -> String {
    let mut out = message.to_owned();
    out.push_str(" (");
    for (i, example) in examples.iter().enumerate() {
        out.push_str(if i == 0 { "e.g. '" } else { " or '" });
        out.push_str(example);
        out.push_str("', ");
    }
    out.push_str("regex used for validation is '");
    out.push_str(regex);
    out.push_str("')");
    out
}

fn lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// `first [inner]* last`, where a single character must be a `first` and a `last` alike.
fn framed(text: &str, first: fn(u8) -> bool, inner: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [one] => first(*one),
        [head, middle @ .., tail] => {
            first(*head) && last(*tail) && middle.iter().all(|b| inner(*b))
        }
    }
}

fn matches_dns1123_label(text: &str) -> bool {
    framed(
        text,
        lower_alnum,
        |b| lower_alnum(b) || b == b'-',
        lower_alnum,
    )
}

fn matches_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(matches_dns1123_label)
}

/// A lowercase label: most short names.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(max_len_error(63));
    }
    if !matches_dns1123_label(text) {
        errors.push(if matches_dns1123_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

const SUBDOMAIN_SENTENCE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/// Labels with dots between them: most names of objects.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(max_len_error(253));
    }
    if !matches_dns1123_subdomain(text) {
        errors.push(regex_error(
            SUBDOMAIN_SENTENCE,
            DNS1123_SUBDOMAIN,
            &["example.com"],
        ));
    }
    errors
}

/// The same in upper or lower case, as the newer rules say it.
pub fn dns1123_subdomain_caseless(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(max_bytes_error(253));
    }
    if !matches_dns1123_subdomain(&text.to_ascii_lowercase()) {
        errors.push(regex_error(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN,
            &["Example.com"],
        ));
    }
    errors
}

/// A subdomain whose labels may also hold underscores, one of them in front.
pub fn dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let label = |label: &str| {
        framed(
            label.strip_prefix('_').unwrap_or(label),
            lower_alnum,
            |b| lower_alnum(b) || matches!(b, b'-' | b'_'),
            lower_alnum,
        )
    };
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(max_len_error(253));
    }
    if !text.split('.').all(label) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '_', '-' or '.', and must start and end with an alphanumeric character",
            "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

/// A label that starts with a letter.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let inner = |b: u8| lower_alnum(b) || b == b'-';
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(max_len_error(63));
    }
    if !framed(text, |b| b.is_ascii_lowercase(), inner, lower_alnum) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// `*.` and a subdomain.
pub fn wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(max_len_error(253));
    }
    if !text
        .strip_prefix("*.")
        .is_some_and(matches_dns1123_subdomain)
    {
        errors.push(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
             subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and \
             end with an alphanumeric character",
            &format!("\\*\\.{DNS1123_SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    errors
}

/// An identifier as in C.
pub fn c_identifier(text: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let start = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    if framed(text, start, word, word) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of \
         alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The number of a port.
pub fn port_number(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}

/// The id of a user or group.
pub fn user_or_group_id(id: i64) -> Vec<String> {
    in_range(id, 0, i64::from(i32::MAX))
}

/// A number between two others.
pub fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    match (low..=high).contains(&value) {
        true => Vec::new(),
        false => vec![range_error(low, high)],
    }
}

/// The name of a port.
pub fn port_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut broken = |rule: bool, sentence: &str| {
        if rule {
            errors.push(sentence.to_owned());
        }
    };
    let charset = |b: u8| lower_alnum(b) || b == b'-';
    broken(text.len() > 15, &max_len_error(15));
    broken(
        text.is_empty() || !text.bytes().all(charset),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    broken(
        !text.bytes().any(|b| b.is_ascii_lowercase()),
        "must contain at least one letter (a-z)",
    );
    broken(text.contains("--"), "must not contain consecutive hyphens");
    broken(
        text.starts_with('-') || text.ends_with('-'),
        "must not begin or end with a hyphen",
    );
    errors
}

/// `50%`
pub fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The name of an HTTP header.
pub fn http_header_name(text: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if !text.is_empty() && text.bytes().all(word) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// The name of an environment variable, by the older and narrower rule.
pub fn env_var_name(text: &str) -> Vec<String> {
    let start = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'.' | b'_');
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let mut errors = Vec::new();
    if !framed(text, start, word, word) {
        errors.push(regex_error(
            "a valid environment variable name must consist of alphabetic characters, digits, '_', \
             '-', or '.', and must not start with a digit",
            "[-._a-zA-Z][-._a-zA-Z0-9]*",
            &["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
        ));
    }
    errors.extend(parent_folder(text));
    errors
}

/// The name of an environment variable, by the rule in force.
pub fn relaxed_env_var_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.is_empty() {
        errors.push("environment variable name must be non-empty".to_owned());
    }
    if !text.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
        errors.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .to_owned(),
        );
    }
    errors
}

/// A key of a ConfigMap or Secret.
pub fn config_map_key(text: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(max_len_error(253));
    }
    if text.is_empty() || !text.bytes().all(word) {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errors.extend(parent_folder(text));
    errors
}

fn parent_folder(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        _ if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// What may stand between two slashes of a URL: the rule for names of RBAC objects.
pub fn path_segment(text: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let illegal = ["/", "%"].into_iter().filter(|part| text.contains(part));
    illegal
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// How the name rule of a kind is applied to a prefix (`generateName`): a hyphen at its end does
/// not count. Nor, by a slip of upstream's that clients can see, does the character before it.
pub fn mask_trailing_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if text.len() > 1 => {
            let mut kept = rest.chars();
            kept.next_back();
            format!("{}a", kept.as_str())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains() {
        assert!(dns1123_label("a-1").is_empty());
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns1123_label(&"a".repeat(64)), [max_len_error(63)]);
        assert_eq!(
            dns1123_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
                 '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert!(dns1123_subdomain("a.b-c.d").is_empty());
        for bad in ["", ".", "a.", "a..b", "-a", "a_b", "A"] {
            assert_eq!(dns1123_subdomain(bad).len(), 1, "{bad}");
        }
        assert!(dns1123_subdomain_with_underscore("_a.b_c").is_empty());
        assert!(!dns1123_subdomain_with_underscore("a_").is_empty());
        assert!(dns1035_label("1a").len() == 1 && dns1035_label("a1").is_empty());
        assert!(wildcard_dns1123_subdomain("*.a.b").is_empty());
        assert!(!wildcard_dns1123_subdomain("*a.b").is_empty());
    }

    #[test]
    fn label_keys_and_values() {
        assert!(label_key("example.com/My_name.1").is_empty());
        assert_eq!(label_key("/x"), ["prefix part must be non-empty"]);
        assert_eq!(label_key("a/").len(), 2);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert_eq!(
            label_key(&"a".repeat(64)),
            ["name part must be no more than 63 bytes"]
        );
        assert!(label_value("").is_empty() && label_value("a_b").is_empty());
        assert!(!label_value("-a").is_empty() && !label_value("a b").is_empty());
    }

    #[test]
    fn ports_keys_and_variables() {
        assert!(port_name("http-1").is_empty());
        assert_eq!(port_name("80").len(), 1);
        assert_eq!(port_name("--").len(), 3);
        assert_eq!(port_name("").len(), 2);
        assert!(percent("50%").is_empty() && !percent("%").is_empty());
        assert_eq!(config_map_key(".."), ["must not be '..'"]);
        assert_eq!(env_var_name("1a").len(), 1);
        assert!(relaxed_env_var_name("1 a-").is_empty());
        assert_eq!(relaxed_env_var_name("").len(), 1);
        assert_eq!(relaxed_env_var_name("a=b").len(), 1);
        assert_eq!(path_segment("a/%", false).len(), 2);
        assert!(path_segment("..", true).is_empty());
        assert_eq!(mask_trailing_dash("a-"), "a");
        assert_eq!(mask_trailing_dash("ab_-"), "aba");
    }
}
