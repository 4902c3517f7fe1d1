//! `networking.k8s.io/v1`. Upstream: `pkg/apis/networking/validation/validation.go`.

mod ingress;
mod ingress_class;
mod network_policy;

pub(crate) use ingress::Ingress;
pub(crate) use ingress_class::IngressClass;
pub(crate) use network_policy::NetworkPolicy;

use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// A reference to an object of any kind.
fn validate_reference(reference: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if let Some(group) = reference.at("apiGroup").as_str() {
        let faults = names::dns1123_subdomain(group);
        errors.invalid_each(&path.child("apiGroup"), group, faults);
    }
    for field in ["kind", "name"] {
        match reference.text(field) {
            "" => errors.required(&path.child(field), ""),
            text => {
                let faults = names::path_segment(text, false);
                errors.invalid_each(&path.child(field), text, faults);
            }
        }
    }
}
