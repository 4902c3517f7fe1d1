//! CSIStorageCapacity. Upstream: `pkg/apis/storage/validation/validation.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions, has_invalid_value};
use crate::common::{IMMUTABLE, kube_metadata, name_rules, node_labels, quantities};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::quantity::Quantity;

pub(crate) struct CsiStorageCapacity;

static TOPOLOGY: Path<'static> = Path::new("nodeTopology");

impl CreateStrategy for CsiStorageCapacity {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, SelectorOptions::default())
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for CsiStorageCapacity {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let options = SelectorOptions {
            allow_invalid_values: has_invalid_value(old.at("nodeTopology")),
        };
        let mut errors = validate(new, options);
        errors.extend(kube_metadata::validate_update(new, old));
        let topology = new.at("nodeTopology");
        if !same(topology, old.at("nodeTopology")) {
            errors.invalid(&TOPOLOGY, Raw(&labels::shown(topology)), IMMUTABLE);
        }
        let class = new.text("storageClassName");
        if class != old.text("storageClassName") {
            errors.invalid(&Path::new("storageClassName"), class, IMMUTABLE);
        }
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for CsiStorageCapacity {
    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        node_labels::warnings_for_selector(new.at("nodeTopology"), &TOPOLOGY)
    }
}

fn validate(object: &Value, options: SelectorOptions) -> ErrorList {
    let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
    errors.extend(labels::validate_selector(
        object.at("nodeTopology"),
        options,
        &TOPOLOGY,
    ));
    let class = object.text("storageClassName");
    let faults = name_rules::dns_subdomain(class, false);
    errors.invalid_each(&Path::new("storageClassName"), class, faults);
    if object.has("capacity") {
        let capacity = Quantity::of(object.at("capacity"));
        quantities::non_negative(&capacity, &Path::new("capacity"), &mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn capacity(zone: &str, class: &str) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "storageClassName": class, "nodeTopology": {"matchLabels": {"zone": zone}}})
    }

    #[test]
    fn a_class_is_named() {
        let mut object = capacity("a", "");
        object["capacity"] = json!("-1");
        let found = faults(&CsiStorageCapacity, &object);
        assert!(
            found[0].starts_with("storageClassName: Invalid value: \"\": a lowercase RFC 1123")
        );
        assert!(found[1].starts_with("capacity: Invalid value: \"-1\""));
    }

    #[test]
    fn where_and_what_stays() {
        let found = update_faults(
            &CsiStorageCapacity,
            &capacity("b", "y"),
            &capacity("a", "x"),
        );
        assert_eq!(
            found,
            [
                "nodeTopology: Invalid value: {\"matchLabels\":{\"zone\":\"b\"}}: field is immutable",
                "storageClassName: Invalid value: \"y\": field is immutable",
            ]
        );
    }
}
