//! The order of API versions.
//!
//! Upstream: `k8s.io/apimachinery/pkg/version/helpers.go`.

use std::cmp::Ordering;

/// Whether a version is younger or less stable than another: `v1` > `v2beta1` > `v1beta2` >
/// `v1alpha1` > anything else, which is ordered backwards by its letters.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Stability, major and minor number.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let (major, rest) = rest.split_at(digits(rest));
    let major = number(major)?;
    let stages = [("alpha", 0), ("beta", 1)];
    let stage = stages.iter().find_map(|(word, stage)| {
        let minor = number(rest.strip_prefix(word)?)?;
        Some((*stage, major, minor))
    });
    match rest {
        "" => Some((2, major, 0)),
        _ => stage,
    }
}

fn number(text: &str) -> Option<u64> {
    let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = [
            "foo1", "v1alpha2", "v11beta2", "v10", "v2", "foo10", "v1", "v3beta1", "v10beta3",
            "v1alpha1",
        ];
        versions.sort_by(|a, b| compare(b, a));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v1alpha2", "v1alpha1",
                "foo1", "foo10"
            ]
        );
    }
}
