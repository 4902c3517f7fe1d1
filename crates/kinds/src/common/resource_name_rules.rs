//! Faults of the names of resources: of containers, limits and quotas.
//!
//! Upstream: `validateResourceName` and its kin in `pkg/apis/core/validation/validation.go`.

use super::faults::Faults;
use super::resource_names::{is_extended, is_native, is_standard, is_standard_for_containers};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::names;

/// Any resource: with a domain, or one that is known.
pub fn validate(name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let faults = names::label_key(name);
    if !faults.is_empty() {
        errors.invalid_each(path, name, faults);
    } else if !name.contains('/') && !is_standard(name) {
        let fault = "must be a standard resource type or fully qualified";
        errors.invalid(path, name, fault);
    }
}

/// What a container may ask for.
pub fn validate_for_containers(name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    validate(name, path, errors);
    if !name.contains('/') {
        if !is_standard_for_containers(name) {
            errors.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// What a quota may bound.
pub fn validate_for_quota(name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    validate(name, path, errors);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.invalid(path, name, "must be a standard resource for quota");
    }
}

/// What quotas know without a domain: everything but the plain `storage` of a limit range.
pub fn is_standard_for_quota(name: &str) -> bool {
    is_standard(name) && name != "storage"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_or_have_a_domain() {
        type Rule = fn(&str, &Path<'_>, &mut ErrorList);
        let faults = |rule: Rule, name: &str| {
            let mut errors = ErrorList::new();
            rule(name, &Path::new("r"), &mut errors);
            errors.into_iter().map(|e| e.detail).collect::<Vec<_>>()
        };
        assert!(faults(validate, "storage").is_empty());
        assert!(faults(validate, "a.io/b").is_empty());
        let unknown = "must be a standard resource type or fully qualified";
        assert_eq!(faults(validate, "gpu"), [unknown]);
        assert_eq!(
            faults(validate_for_containers, "gpu"),
            [unknown, "must be a standard resource for containers"]
        );
        assert_eq!(
            faults(validate_for_containers, "requests.a.io/b"),
            ["doesn't follow extended resource name standard"]
        );
        assert_eq!(
            faults(validate_for_quota, "storage"),
            ["must be a standard resource for quota"]
        );
        assert!(faults(validate_for_quota, "requests.storage").is_empty());
    }
}
