//! What the checks of a pod's spec overlook because the stored object has it already.
//!
//! Upstream: `GetValidationOptionsFromPodSpecAndMeta` in `pkg/api/pod/util.go`, with the feature
//! gates as 1.36 has them.

use super::validate::{affinity, annotations, security, spread, volumes};
use crate::common::resource_names::{fits_huge_pages, is_huge_page};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::quantity::Quantity;

/// Which faults are forgiven. A new object is forgiven nothing.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Options {
    /// The object is a pod, not one that makes pods.
    pub is_pod: bool,
    /// A deletion cost that is no number.
    pub bad_deletion_cost: bool,
    /// An amount of huge pages that is no multiple of their size.
    pub indivisible_huge_pages: bool,
    /// A bad label value in a selector of pod affinity.
    pub bad_value_in_selector: bool,
    /// A bad label value in required node affinity.
    pub bad_value_in_node_affinity: bool,
    /// A bad selector of a spread constraint.
    pub bad_spread_selector: bool,
    /// Keys of a spread constraint that repeat its selector.
    pub bad_match_label_keys: bool,
    /// A path of a projected token that leads outside.
    pub non_local_token_path: bool,
    /// Sysctls of a namespace that the pod shares with its host.
    pub host_sysctls: bool,
    /// User namespaces and the host's network.
    pub user_namespace_on_host_network: bool,
    /// User namespaces and block devices.
    pub user_namespace_with_devices: bool,
    /// Other SELinux policies than `Recursive`.
    pub any_selinux_policy: bool,
    /// Init containers that restart when resized.
    pub restarting_init_containers: bool,
}

impl Options {
    /// For a new pod, or one that has changed; `old` is null for a new one.
    pub(crate) fn for_pod(old: &Value) -> Self {
        Self {
            is_pod: true,
            ..Self::for_template(old)
        }
    }

    /// For a new template, or one that has changed; `old` is null for a new one.
    pub(crate) fn for_template(old: &Value) -> Self {
        if old.is_null() {
            return Self::default();
        }
        let (metadata, spec) = (old.at("metadata"), old.at("spec"));
        let context = spec.at("securityContext");
        let user_namespace = spec.at("hostUsers") == &Value::Bool(false);
        Self {
            is_pod: false,
            bad_deletion_cost: annotations::has_bad_deletion_cost(metadata.at("annotations")),
            indivisible_huge_pages: has_indivisible_huge_pages(spec),
            bad_value_in_selector: affinity::has_bad_selector(spec.at("affinity")),
            bad_value_in_node_affinity: affinity::has_bad_required_value(spec.at("affinity")),
            bad_spread_selector: spread::has_bad_selector(spec),
            bad_match_label_keys: spread::has_bad_match_label_keys(spec),
            non_local_token_path: volumes::has_non_local_token_path(spec),
            host_sysctls: security::has_host_sysctls(spec),
            user_namespace_on_host_network: user_namespace && spec.flag("hostNetwork"),
            user_namespace_with_devices: user_namespace
                && all_containers(spec).any(|c| !c.list("volumeDevices").is_empty()),
            any_selinux_policy: context.has("seLinuxChangePolicy"),
            restarting_init_containers: spec.list("initContainers").iter().any(|container| {
                let policies = container.list("resizePolicy");
                container.text("restartPolicy") != "Always"
                    && policies
                        .iter()
                        .any(|p| p.text("restartPolicy") == "RestartContainer")
            }),
        }
    }
}

/// Containers of all kinds, init containers first.
pub(crate) fn all_containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    lists.into_iter().flat_map(|list| spec.list(list))
}

fn has_indivisible_huge_pages(spec: &Value) -> bool {
    let bad = |object: &Value, list: &str| {
        object
            .entries(list)
            .any(|(name, q)| is_huge_page(name) && !fits_huge_pages(name, &Quantity::of(q)))
    };
    let in_container = |container: &Value| {
        let resources = container.at("resources");
        bad(resources, "limits") || bad(resources, "requests")
    };
    all_containers(spec).any(in_container) || bad(spec, "overhead")
}
