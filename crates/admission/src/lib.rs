//! Admission: what is added to an object on its way in, and what is refused.
//!
//! [`admit`] is the mutating phase: after decoding and defaulting, before the kind's strategy
//! prepares and validates the object. [`validate`] is the validating phase: after the strategy has
//! found the object valid, right before it is stored. Both run the plugins that are on by default,
//! in upstream's order (`pkg/kubeapiserver/options/plugins.go`), and stop at the first that refuses.
//!
//! Plugins are pure: they see the request, other objects through [`Lookup`], and nothing else. What
//! ResourceQuota charges comes back as [`QuotaWrite`]s that have to be stored together with the
//! object, or not at all.

#![deny(clippy::disallowed_methods)]

mod attributes;
mod claim_resize;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod limit_ranger;
mod namespace_lifecycle;
mod node_declared_features;
mod pod_resize;
mod pod_security;
mod pod_topology_labels;
pub mod pods;
mod priority;
mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_protection;
mod taint_nodes;
#[cfg(test)]
mod testing;

pub use attributes::{Attributes, Operation};
pub use resource_quota::{QuotaWrite, Quotas, counted_resources, recount};

use stowplan_apimachinery::Status;
use stowplan_apimachinery::lookup::Lookup;

/// What the validating phase has to say about a request that it lets pass.
#[derive(Debug, Default)]
pub struct Outcome {
    /// For the client.
    pub warnings: Vec<String>,
    /// Quotas to be stored in the same transaction as the object. If one of them has changed
    /// meanwhile, the whole request has to be tried again.
    pub quota_writes: Vec<QuotaWrite>,
}

/// The mutating phase.
pub fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    namespace_lifecycle::admit(request, cluster)?;
    limit_ranger::admit(request, cluster)?;
    service_account::admit(request, cluster)?;
    taint_nodes::admit(request);
    priority::admit(request, cluster)?;
    default_toleration_seconds::admit(request);
    default_storage_class::admit(request, cluster);
    storage_protection::admit(request);
    runtime_class::admit(request, cluster)?;
    default_ingress_class::admit(request, cluster);
    pod_topology_labels::admit(request, cluster);
    Ok(())
}

/// The validating phase.
pub fn validate(
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
    quotas: Quotas,
) -> Result<Outcome, Status> {
    limit_ranger::validate(request, cluster)?;
    service_account::validate(request, cluster)?;
    let warnings = pod_security::validate(request, cluster)?;
    priority::validate(request, cluster)?;
    claim_resize::validate(request, cluster)?;
    runtime_class::validate(request, cluster)?;
    node_declared_features::validate(request, cluster)?;
    pod_resize::validate(request, cluster)?;
    let quota_writes = resource_quota::validate(request, cluster, quotas)?;
    Ok(Outcome {
        warnings,
        quota_writes,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::json;

    #[test]
    fn plugins_run_in_upstreams_order() {
        let mut world = cluster([
            json!({"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ns"},
                "spec": {}, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}),
            json!({"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "ns"}}),
        ]);
        let pod = || {
            Case::pod(json!({"serviceAccountName": "default", "hostPID": true, "containers": []}))
        };
        let refusal = |case: Case, world: &_| case.validate(world).unwrap_err().message;
        assert!(refusal(pod(), &world).contains("exceeded quota"));
        world.put(json!({"kind": "Namespace", "metadata": {"name": "ns",
            "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}));
        assert!(refusal(pod(), &world).contains("violates PodSecurity"));
        world.put(
            json!({"kind": "LimitRange", "metadata": {"name": "l", "namespace": "ns"},
            "spec": {"limits": [{"type": "Pod", "min": {"cpu": "1"}}]}}),
        );
        assert!(refusal(pod(), &world).contains("minimum cpu usage"));
    }

    #[test]
    fn a_pod_gets_what_several_plugins_add() {
        let account =
            json!({"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "ns"}});
        let out = Case::pod(json!({"containers": [{"name": "c"}]})).admit(&cluster([account]));
        let spec = &out.unwrap()["spec"];
        assert_eq!(spec["priority"], 0);
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
        assert_eq!(spec["volumes"].as_array().unwrap().len(), 1);
    }
}
