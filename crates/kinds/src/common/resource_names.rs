//! Names of resources: what they are by their looks.
//!
//! Upstream: `pkg/apis/core/helper/helpers.go`.

use stowplan_apimachinery::quantity::Quantity;
pub use stowplan_base::resource_names::{
    REQUESTS, is_extended, is_huge_page, is_native, is_standard_for_containers,
};

/// `requests.hugepages-2Mi` or `hugepages-2Mi`, in quotas.
pub fn is_quota_huge_page(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether limits may exceed requests.
pub fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// What quotas may name without a domain, of what pods use.
pub fn is_standard_of_pods(name: &str) -> bool {
    matches!(
        name,
        "cpu"
            | "memory"
            | "ephemeral-storage"
            | "requests.cpu"
            | "requests.memory"
            | "requests.ephemeral-storage"
            | "limits.cpu"
            | "limits.memory"
            | "limits.ephemeral-storage"
            | "pods"
    ) || is_quota_huge_page(name)
}

/// What quotas and limits may name without a domain.
pub fn is_standard(name: &str) -> bool {
    is_standard_of_pods(name)
        || is_number_of_objects(name)
        || matches!(name, "storage" | "requests.storage")
}

/// What comes in whole numbers only.
pub fn is_integer(name: &str) -> bool {
    is_number_of_objects(name) || is_extended(name)
}

fn is_number_of_objects(name: &str) -> bool {
    matches!(
        name,
        "pods"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "configmaps"
            | "persistentvolumeclaims"
            | "services.nodeports"
            | "services.loadbalancers"
    )
}

/// Whether an amount of huge pages is a multiple of their size.
pub fn fits_huge_pages(name: &str, amount: &Quantity) -> bool {
    let size = name.strip_prefix("hugepages-").unwrap_or_default();
    match Quantity::parse(size) {
        Ok(size) => {
            let whole = !size.is_negative() && !size.is_zero() && size.milli_value() % 1000 == 0;
            whole && size.value() != 0 && amount.value() % size.value() == 0
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_tell_whose_a_resource_is() {
        assert!(is_integer("example.com/gpu") && is_integer("pods") && !is_integer("cpu"));
        assert!(is_standard("requests.storage") && !is_standard_of_pods("requests.storage"));
        assert!(may_overcommit("memory") && !may_overcommit("hugepages-2Mi"));
    }

    #[test]
    fn huge_pages_are_counted_whole() {
        let fits = |name, amount| fits_huge_pages(name, &Quantity::parse(amount).unwrap());
        assert!(fits("hugepages-2Mi", "4Mi"));
        assert!(!fits("hugepages-2Mi", "3Mi"));
        assert!(!fits("hugepages-x", "3Mi"));
        assert!(!fits("hugepages-0", "3Mi"));
    }
}
