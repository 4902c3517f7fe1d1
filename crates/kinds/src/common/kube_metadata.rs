//! `metadata` of the built-in kinds: the checks for all, and finalizers without a domain have to be
//! known.
//!
//! Upstream: `ValidateObjectMeta` and `ValidateObjectMetaUpdate` in
//! `pkg/apis/core/validation/validation.go`, which nearly all built-in kinds call.

use super::{NameRule, metadata};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};

const METADATA: Path<'static> = Path::new("metadata");

/// Faults of the metadata of a new object.
pub fn validate(object: &Value, namespaced: bool, rule: NameRule<'_>) -> ErrorList {
    let metadata = object.at("metadata");
    let mut errors = metadata::validate(metadata, namespaced, rule, &METADATA);
    errors.extend(validate_finalizers(metadata));
    errors
}

/// Faults of a change of metadata.
pub fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let metadata = new.at("metadata");
    let mut errors = metadata::validate_update(metadata, old.at("metadata"), &METADATA);
    errors.extend(validate_finalizers(metadata));
    errors
}

fn validate_finalizers(metadata: &Value) -> ErrorList {
    let at = METADATA.child("finalizers");
    let finalizers = metadata.list("finalizers").iter().enumerate();
    finalizers
        .filter_map(|(i, finalizer)| {
            validate_finalizer(finalizer.as_str().unwrap_or_default(), &at.index(i))
        })
        .collect()
}

/// A finalizer without a domain is one of the few that came first.
pub fn validate_finalizer(finalizer: &str, path: &Path<'_>) -> Option<Error> {
    let known = matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion");
    (!finalizer.contains('/') && !known).then(|| {
        Error::invalid(
            path,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::name_rules::dns_subdomain;
    use serde_json::json;

    #[test]
    fn finalizers_have_a_domain_or_are_known() {
        let object = json!({"metadata": {
            "name": "a", "namespace": "n", "finalizers": ["orphan", "example.com/x", "mine"],
        }});
        let faults = validate(&object, true, &dns_subdomain);
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "metadata.finalizers[2]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
    }
}
