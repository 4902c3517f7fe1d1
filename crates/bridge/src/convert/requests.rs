//! What a pod asks for, in the forms that the plugins read.

use super::{ConvertError, Interner};
use crate::resources::{Amounts, BadQuantity, PodResources, RequestOptions};
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_base::Quantity;
use stowplan_engine::model::{PodRequests, ResourceList};

/// What a container counts for in scores if it does not ask for anything itself
/// (upstream's `pkg/scheduler/util/pod_resources.go`).
const NON_MISSING: [(&str, Quantity); 2] = [
    ("cpu", Quantity::from_millis(100)),
    ("memory", Quantity::from_units(200 << 20)),
];

impl From<BadQuantity> for ConvertError {
    fn from(bad: BadQuantity) -> Self {
        Self::new(bad.field, bad.message)
    }
}

/// What `pod` asks for.
pub fn pod_requests(interner: &mut Interner<'_>, pod: &Pod) -> Result<PodRequests, ConvertError> {
    let resources = PodResources::of(pod)?;
    let with_status = RequestOptions {
        use_status_resources: true,
        ..RequestOptions::default()
    };
    let total = resources.requests(with_status);
    let spec = resources.requests(RequestOptions::default());
    let scoring = resources.requests(RequestOptions {
        skip_pod_level_resources: true,
        non_missing_container_requests: &NON_MISSING,
        ..RequestOptions::default()
    });
    // Pod-level requests cover the containers that name none.
    let covered = |name: &str| resources.has_pod_level_requests() && total.contains_key(name);
    let non_missing: Vec<_> = NON_MISSING
        .into_iter()
        .filter(|(name, _)| !covered(name))
        .collect();
    let non_zero = resources.requests(RequestOptions {
        non_missing_container_requests: &non_missing,
        ..with_status
    });
    let non_zero_of = |name| non_zero.get(name).copied().unwrap_or(Quantity::ZERO);

    let total = resource_list(interner, &total);
    let spec = resource_list(interner, &spec);
    Ok(PodRequests {
        total_columns: interner.resource_names.resources(&total, interner.names),
        total,
        spec_columns: interner.resource_names.resources(&spec, interner.names),
        spec,
        scoring: resource_list(interner, &scoring),
        non_zero_cpu_milli: non_zero_of("cpu").milli_value(),
        non_zero_memory: non_zero_of("memory").value(),
    })
}

fn resource_list(interner: &mut Interner<'_>, amounts: &Amounts<'_>) -> ResourceList {
    ResourceList::new(
        amounts
            .iter()
            .map(|(name, amount)| (interner.sym(name), *amount)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use stowplan_base::{Names, sym};
    use stowplan_engine::model::{ResourceId, ResourceNames};

    fn convert(pod: Value) -> Result<PodRequests, ConvertError> {
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let mut interner = Interner {
            names: &mut Names::new(),
            resource_names: &mut ResourceNames::default(),
        };
        pod_requests(&mut interner, &pod)
    }

    fn pod(containers: Value, pod_level: Value) -> Value {
        json!({"spec": {"containers": containers, "resources": {"requests": pod_level}}})
    }

    #[test]
    fn semantic_8_defaults_per_container_and_explicit_zero_stays() {
        let requests = convert(pod(
            json!([
                {"name": "a", "resources": {"requests": {"cpu": "0", "memory": "1Mi"}}},
                {"name": "b"},
            ]),
            json!({}),
        ))
        .expect("good");
        assert_eq!(requests.non_zero_cpu_milli, 100);
        assert_eq!(requests.non_zero_memory, 201 << 20);
        assert_eq!(requests.total_columns.get(ResourceId::CPU), 0);
        assert_eq!(requests.total_columns.get(ResourceId::MEMORY), 1 << 20);
    }

    #[test]
    fn semantic_8_pod_level_requests_cover_what_they_mention() {
        let requests = convert(pod(
            json!([{"name": "a"}, {"name": "b"}]),
            json!({"cpu": "2"}),
        ))
        .expect("good");
        assert_eq!(requests.non_zero_cpu_milli, 2000);
        assert_eq!(requests.non_zero_memory, 400 << 20);
    }

    #[test]
    fn semantic_7_scoring_ignores_pod_level_requests() {
        let requests = convert(pod(json!([{"name": "a"}]), json!({"cpu": "2"}))).expect("good");
        assert_eq!(requests.spec_columns.get(ResourceId::CPU), 2000);
        assert_eq!(
            requests.scoring.get(sym::CPU),
            Some(Quantity::from_millis(100))
        );
    }

    #[test]
    fn a_bad_quantity_is_an_error_with_its_path() {
        let error = convert(pod(json!([]), json!({"cpu": "much"}))).expect_err("bad");
        assert_eq!(error.field, "spec.resources.requests[cpu]");
    }
}
