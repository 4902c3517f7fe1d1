//! Which indices are enough. Upstream: `success_policy.go`.

use super::indexes::Intervals;
use super::spec::completions;
use k8s_openapi::api::batch::v1::JobSpec;

/// Says which rule is met, if one is. Upstream's `matchSuccessPolicy`.
pub(super) fn met(spec: &JobSpec, succeeded: &Intervals) -> Option<String> {
    let policy = spec.success_policy.as_ref()?;
    if succeeded.is_empty() {
        return None;
    }
    let is_met = |rule: &k8s_openapi::api::batch::v1::SuccessPolicyRule| {
        let count = rule.succeeded_count.map(i64::from);
        match &rule.succeeded_indexes {
            Some(text) => {
                let wanted = Intervals::parse(text, completions(spec));
                let found = wanted.common(succeeded);
                let is_enough = count.is_some_and(|count| found >= count);
                !wanted.is_empty() && (found == wanted.total() || is_enough)
            }
            None => count.is_some_and(|count| succeeded.total() >= count),
        }
    };
    let at = policy.rules.iter().position(is_met)?;
    Some(format!("Matched rules at index {at}"))
}
