//! What the names of objects may look like, as `NameRule`s.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/validation/generic.go`.

use stowplan_apimachinery::names;

fn masked(name: &str, prefix: bool) -> String {
    match prefix {
        true => names::mask_trailing_dash(name),
        false => name.to_owned(),
    }
}

/// Labels with dots between them: most kinds.
pub fn dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    names::dns1123_subdomain(&masked(name, prefix))
}

/// One label: namespaces, and what becomes part of a host's name.
pub fn dns_label(name: &str, prefix: bool) -> Vec<String> {
    names::dns1123_label(&masked(name, prefix))
}

/// One label that starts with a letter: services of old.
pub fn dns1035_label(name: &str, prefix: bool) -> Vec<String> {
    names::dns1035_label(&masked(name, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_may_end_in_a_hyphen() {
        assert!(dns_subdomain("a.b-", true).is_empty());
        assert!(!dns_subdomain("a.b-", false).is_empty());
        assert!(!dns_label("a.b", true).is_empty());
        assert!(!dns1035_label("1a", false).is_empty());
    }
}
