//! Resource names: which there are, and what follows from a name.
//!
//! Upstream: `pkg/apis/core/helper/helpers.go`.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use stowplan_base::Quantity;

/// `hugepages-2Mi` and the like.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Kubernetes' own: without a domain, or in `kubernetes.io/`.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// What device plugins offer: `nvidia.com/gpu`. A quota must be able to name it, with a prefix.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && stowplan_base::label_key(&format!("requests.{name}")).is_empty()
}

/// Whether pods can ask for it.
pub fn can_be_requested(name: &str) -> bool {
    is_standard_for_containers(name) || is_extended(name)
}

pub(crate) fn is_standard_for_containers(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

/// An amount as the API writes it, in whole units or in thousandths.
pub fn text_of(amount: Quantity) -> Text {
    let units = amount.value();
    if Quantity::from_units(units) == amount {
        Text(units.to_string())
    } else {
        Text(format!("{}m", amount.milli_value()))
    }
}
