//! The roles and bindings that a new cluster starts with.
//!
//! `default-rbac.json` holds the bootstrap policy of Kubernetes v1.36.4 (Apache-2.0) as a server of
//! that version serves it, without times and uids.

use crate::rbac::GROUP;
use serde_json::Value;
use stowplan_apimachinery::{Edit, View};

static DEFAULTS: &str = include_str!("default-rbac.json");

/// Each object with the resource it is stored under, apiVersion and kind filled in.
pub fn default_objects() -> Vec<(&'static str, Value)> {
    let all: Value = serde_json::from_str(DEFAULTS).unwrap_or_default();
    let lists = [
        ("clusterRoles", "clusterroles", "ClusterRole"),
        (
            "clusterRoleBindings",
            "clusterrolebindings",
            "ClusterRoleBinding",
        ),
        ("roles", "roles", "Role"),
        ("roleBindings", "rolebindings", "RoleBinding"),
    ];
    let mut out = Vec::new();
    for (key, resource, kind) in lists {
        for object in all.list(key) {
            let mut object = object.clone();
            object.set("apiVersion", format!("{GROUP}/v1"));
            object.set("kind", kind);
            out.push((resource, object));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::policy;
    use crate::{Attributes, Target, User, authorize};

    #[test]
    fn the_defaults_let_everybody_ask_for_the_version_and_the_scheduler_bind() {
        let cluster = policy(default_objects());
        let anonymous = User::anonymous();
        let allowed = |user: &User, verb: &str, target: Target<'_>| {
            let request = Attributes { user, verb, target };
            authorize(&request, &cluster).allowed
        };
        assert!(allowed(&anonymous, "get", Target::Path("/version")));
        assert!(!allowed(&anonymous, "get", Target::Path("/metrics")));
        let scheduler = User::new("system:kube-scheduler", &[]);
        let binding = Target::Resource {
            group: "",
            resource: "pods",
            subresource: "binding",
            namespace: "n",
            name: "p",
        };
        assert!(allowed(&scheduler, "create", binding));
        assert!(!allowed(&anonymous, "create", binding));
    }
}
