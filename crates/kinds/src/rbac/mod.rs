//! `rbac.authorization.k8s.io/v1`. Upstream: `pkg/apis/rbac/validation/validation.go`.

mod binding;
mod role;

pub(crate) use binding::{ClusterRoleBinding, RoleBinding};
pub(crate) use role::{ClusterRole, Role};

use stowplan_apimachinery::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Names of RBAC objects fit between two slashes of a URL, prefixes of them too.
fn name_rule(name: &str, _prefix: bool) -> Vec<String> {
    names::path_segment(name, false)
}
