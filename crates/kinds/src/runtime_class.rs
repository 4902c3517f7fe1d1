//! RuntimeClass. Upstream: `pkg/apis/node/validation/validation.go`, `pkg/api/node/util.go`.

use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::resource_name_rules::validate_for_containers;
use crate::common::resource_names::{fits_huge_pages, is_huge_page};
use crate::common::{IMMUTABLE, labels, metadata, name_rules, node_labels, quantities, taints};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;

pub(crate) struct RuntimeClass;

static METADATA: Path<'static> = Path::new("metadata");

impl CreateStrategy for RuntimeClass {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let rule = &name_rules::dns_subdomain;
        let mut errors = metadata::validate(object.at("metadata"), false, rule, &METADATA);
        let path = Path::new("handler");
        match object.text("handler") {
            "" => errors.required(&path, ""),
            handler => {
                errors.invalid_each(&path, handler, name_rules::dns_label(handler, false));
            }
        }
        if object.has("overhead") {
            validate_overhead(object.at("overhead").at("podFixed"), &mut errors);
        }
        if object.has("scheduling") {
            validate_scheduling(object.at("scheduling"), &mut errors);
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for RuntimeClass {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        let (now, before) = (new.at("metadata"), old.at("metadata"));
        errors.extend(metadata::validate_update(now, before, &METADATA));
        let handler = new.text("handler");
        if handler != old.text("handler") {
            errors.invalid(&Path::new("handler"), handler, IMMUTABLE);
        }
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for RuntimeClass {
    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let labels = new.at("scheduling").entries("nodeSelector");
        let old = labels.filter_map(|(key, _)| node_labels::deprecation(key));
        old.map(|text| format!("scheduling.nodeSelector: {text}"))
            .collect()
    }
}

/// What a pod costs beyond its containers: judged as if it were a container's limits.
fn validate_overhead(amounts: &Value, errors: &mut ErrorList) {
    let overhead = Path::new("overhead");
    let path = overhead.child("limits");
    let (mut huge, mut plain) = (false, false);
    for (resource, amount) in amounts.as_object().into_iter().flatten() {
        let path = path.key(resource);
        let amount = Quantity::of(amount);
        validate_for_containers(resource, &path, errors);
        quantities::of_resource(resource, &amount, &path, errors);
        if is_huge_page(resource) {
            huge = true;
            if !fits_huge_pages(resource, &amount) {
                let fault = format!("{amount} is not positive integer multiple of {resource}");
                errors.invalid(&path, amount.to_string(), fault);
            }
        }
        plain |= matches!(resource.as_str(), "cpu" | "memory");
    }
    if huge && !plain {
        errors.forbidden(&overhead, "HugePages require cpu or memory");
    }
}

fn validate_scheduling(scheduling: &Value, errors: &mut ErrorList) {
    let path = Path::new("scheduling");
    let selector = scheduling.at("nodeSelector");
    errors.extend(labels::validate(selector, &path.child("nodeSelector")));
    let path = path.child("tolerations");
    let tolerations = scheduling.list("tolerations");
    errors.extend(taints::validate_tolerations(tolerations, &path));
    let key = |toleration: &'_ Value| {
        ["key", "operator", "value", "effect"].map(|field| toleration.text(field).to_owned())
    };
    let mut seen = BTreeSet::new();
    for (i, toleration) in tolerations.iter().enumerate() {
        if !seen.insert(key(toleration)) {
            errors.duplicate(&path.index(i), Internal(toleration));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    #[test]
    fn overhead_and_tolerations_are_checked() {
        let class = json!({"metadata": {"name": "a"}, "handler": "A",
        "overhead": {"podFixed": {"hugepages-2Mi": "3Mi"}},
        "scheduling": {"tolerations": [
            {"key": "k", "operator": "Exists"},
            {"key": "k", "operator": "Exists", "tolerationSeconds": 1, "effect": ""},
        ]}});
        let found = faults(&RuntimeClass, &class);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "handler",
                "overhead.limits[hugepages-2Mi]",
                "overhead",
                "scheduling.tolerations[1].effect",
                "scheduling.tolerations[1]",
            ]
        );
    }

    #[test]
    fn the_handler_stays() {
        let class = |handler: &str| json!({"metadata": {"name": "a", "resourceVersion": "1"}, "handler": handler});
        assert_eq!(
            update_faults(&RuntimeClass, &class("b"), &class("a")),
            ["handler: Invalid value: \"b\": field is immutable"]
        );
    }
}
