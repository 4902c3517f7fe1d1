//! Names of resources: what follows from how they look.
//!
//! Upstream: `pkg/apis/core/helper/helpers.go`, and `k8s.io/component-helpers/resource`.

use crate::labels::{is_name, is_subdomain};

/// `requests.`, in front of what a quota counts by its request.
pub const REQUESTS: &str = "requests.";

/// `hugepages-2Mi` and the like.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Kubernetes' own: without a domain, or in one of `kubernetes.io`.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// What device plugins offer: `nvidia.com/gpu`. A quota must be able to name it, with [`REQUESTS`] in
/// front. Upstream's `IsExtendedResourceName`.
pub fn is_extended(name: &str) -> bool {
    if is_native(name) || name.starts_with(REQUESTS) {
        return false;
    }
    let Some((domain, rest)) = name.split_once('/') else {
        return false;
    };
    domain.len() + REQUESTS.len() <= 253
        && is_subdomain(domain)
        && rest.len() <= 63
        && is_name(rest)
}

/// What a container may ask for without a domain.
pub fn is_standard_for_containers(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

/// Whether pods can ask for it.
pub fn can_be_requested(name: &str) -> bool {
    is_standard_for_containers(name) || is_extended(name)
}

/// Whether a pod as a whole can ask for it. Upstream's `IsSupportedPodLevelResource`.
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_key;

    #[test]
    fn domains_tell_whose_a_resource_is() {
        assert!(is_native("cpu") && is_native("x.kubernetes.io/y"));
        assert!(!is_native("example.com/gpu"));
        assert!(can_be_requested("hugepages-2Mi") && can_be_requested("example.com/gpu"));
        assert!(!can_be_requested("pods"));
        assert!(is_pod_level("hugepages-2Mi") && !is_pod_level("ephemeral-storage"));
    }

    #[test]
    fn an_extended_resource_is_one_that_a_quota_can_name() {
        let long = |domain: usize, rest: usize| {
            let label = "a".repeat(domain % 64);
            let labels = std::iter::repeat_n("a".repeat(63), domain / 64).chain([label]);
            format!(
                "{}/{}",
                labels.collect::<Vec<_>>().join("."),
                "r".repeat(rest)
            )
        };
        for (name, extended) in [
            ("example.com/gpu".to_owned(), true),
            ("example.com/G_p.u-1".to_owned(), true),
            ("gpu".to_owned(), false),
            ("kubernetes.io/gpu".to_owned(), false),
            ("requests.example.com/gpu".to_owned(), false),
            ("Example.com/gpu".to_owned(), false),
            ("example..com/gpu".to_owned(), false),
            ("/gpu".to_owned(), false),
            ("example.com/".to_owned(), false),
            ("example.com/a/b".to_owned(), false),
            ("a b/c".to_owned(), false),
            (long(200, 63), true),
            (long(200, 64), false),
            (long(244, 1), true),
            (long(245, 1), false),
        ] {
            assert_eq!(is_extended(&name), extended, "{name}");
            if !is_native(&name) && !name.starts_with(REQUESTS) {
                let key = format!("{REQUESTS}{name}");
                assert_eq!(label_key(&key).is_empty(), extended, "{key}");
            }
        }
    }
}
