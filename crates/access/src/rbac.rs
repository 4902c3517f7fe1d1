//! Roles and bindings.
//!
//! Upstream: `plugin/pkg/auth/authorizer/rbac` and `pkg/registry/rbac/validation/rule.go`.

use crate::user::service_account_name;
use crate::{Attributes, Rule, Target, User};
use serde_json::Value;
use stowplan_machinery::go::quote;
use stowplan_machinery::lookup::Lookup;
use stowplan_machinery::{View, meta};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether a request is allowed, and by what or why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Whether it is.
    pub allowed: bool,
    /// `RBAC: allowed by …`, or what went wrong on the way; may be empty.
    pub reason: String,
}

/// Whether the rules of the cluster allow a request.
pub fn authorize(request: &Attributes<'_>, cluster: &dyn Lookup) -> Decision {
    if request.user.is_master() {
        return Decision {
            allowed: true,
            reason: String::new(),
        };
    }
    let namespace = match request.target {
        Target::Resource { namespace, .. } => namespace,
        Target::Path(_) => "",
    };
    let mut problems = Vec::new();
    for granted in grants(request.user, namespace, cluster) {
        match granted.rules(cluster) {
            Ok(rules) if rules.iter().any(|rule| rule.allows(request)) => {
                return Decision {
                    allowed: true,
                    reason: format!("RBAC: allowed by {}", granted.describe()),
                };
            }
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
    }
    let reason = match aggregate(problems) {
        Some(problems) => format!("RBAC: {problems}"),
        None => String::new(),
    };
    Decision {
        allowed: false,
        reason,
    }
}

/// All rules that apply to a user in a namespace (none: at cluster scope only), and what could not
/// be resolved.
pub fn rules_for(
    user: &User,
    namespace: &str,
    cluster: &dyn Lookup,
) -> (Vec<Rule>, Option<String>) {
    let mut rules = Vec::new();
    let mut problems = Vec::new();
    for granted in grants(user, namespace, cluster) {
        match granted.rules(cluster) {
            Ok(found) => rules.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    (rules, aggregate(problems))
}

fn aggregate(mut problems: Vec<String>) -> Option<String> {
    let mut seen = Vec::new();
    problems.retain(|p| {
        let new = !seen.contains(p);
        if new {
            seen.push(p.clone());
        }
        new
    });
    match problems.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// A binding that applies to a user, and the subject that makes it so.
struct Grant {
    binding: std::sync::Arc<Value>,
    subject: usize,
    /// Empty for a ClusterRoleBinding.
    namespace: String,
}

fn grants(user: &User, namespace: &str, cluster: &dyn Lookup) -> Vec<Grant> {
    let mut bindings = vec![(cluster.list(GROUP, "clusterrolebindings", ""), "")];
    if !namespace.is_empty() {
        bindings.push((cluster.list(GROUP, "rolebindings", namespace), namespace));
    }
    let mut out = Vec::new();
    for (list, namespace) in bindings {
        for binding in list {
            let mut subjects = binding.list("subjects").iter();
            if let Some(subject) = subjects.position(|s| applies(user, s, namespace)) {
                out.push(Grant {
                    binding,
                    subject,
                    namespace: namespace.to_owned(),
                });
            }
        }
    }
    out
}

fn applies(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = subject.text("name");
    match subject.text("kind") {
        "User" => user.name == name,
        "Group" => user.in_group(name),
        "ServiceAccount" => {
            let namespace = match subject.text("namespace") {
                "" => namespace,
                own => own,
            };
            !namespace.is_empty() && service_account_name(&user.name) == Some((namespace, name))
        }
        _ => false,
    }
}

/// The rules of the role that a binding refers to, or why there are none.
pub(crate) fn referred_rules(
    role_ref: &Value,
    namespace: &str,
    cluster: &dyn Lookup,
) -> Result<Vec<Rule>, String> {
    let name = role_ref.text("name");
    let (resource, place) = match role_ref.text("kind") {
        "Role" => ("role", namespace),
        "ClusterRole" => ("clusterrole", ""),
        other => return Err(format!("unsupported role reference kind: {}", quote(other))),
    };
    match cluster.get(GROUP, &format!("{resource}s"), place, name) {
        Some(role) => Ok(Rule::of_role(&role)),
        None => Err(format!("{resource}.{GROUP} {} not found", quote(name))),
    }
}

impl Grant {
    fn rules(&self, cluster: &dyn Lookup) -> Result<Vec<Rule>, String> {
        referred_rules(self.binding.at("roleRef"), &self.namespace, cluster)
    }

    /// `RoleBinding "b/ns" of Role "r" to User "u"`
    fn describe(&self) -> String {
        let (kind, name) = match self.namespace.as_str() {
            "" => ("ClusterRoleBinding", meta::name(&self.binding).to_owned()),
            namespace => (
                "RoleBinding",
                format!("{}/{namespace}", meta::name(&self.binding)),
            ),
        };
        let role = self.binding.at("roleRef");
        let subjects = self.binding.list("subjects");
        let subject = subjects.get(self.subject).unwrap_or(&Value::Null);
        let subject_name = match (subject.text("kind"), subject.text("namespace")) {
            ("ServiceAccount", "") => format!("{}/{}", subject.text("name"), self.namespace),
            ("ServiceAccount", own) => format!("{}/{own}", subject.text("name")),
            _ => subject.text("name").to_owned(),
        };
        format!(
            "{kind} {} of {} {} to {} {}",
            quote(&name),
            role.text("kind"),
            quote(role.text("name")),
            subject.text("kind"),
            quote(&subject_name)
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    /// A cluster of RBAC objects, each with its resource.
    pub(crate) struct Cluster(pub(crate) Vec<(&'static str, Value)>);

    impl Lookup for Cluster {
        fn get(&self, _: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
            let mut all = self.list("", resource, namespace).into_iter();
            all.find(|o| meta::name(o) == name)
        }

        fn list(&self, _: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
            let wanted = |(r, o): &&(&str, Value)| {
                *r == resource && (namespace.is_empty() || meta::namespace(o) == namespace)
            };
            let objects = self.0.iter().filter(wanted);
            objects.map(|(_, o)| Arc::new(o.clone())).collect()
        }
    }

    fn request<'a>(user: &'a User, verb: &'a str, namespace: &'a str) -> Attributes<'a> {
        Attributes {
            user,
            verb,
            target: Target::Resource {
                group: "",
                resource: "pods",
                subresource: "",
                namespace,
                name: "",
            },
        }
    }

    #[test]
    fn a_role_binding_allows_in_its_namespace_only_and_says_so() {
        let cluster = Cluster(vec![
            (
                "roles",
                json!({"metadata": {"name": "r", "namespace": "n"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}),
            ),
            (
                "rolebindings",
                json!({"metadata": {"name": "b", "namespace": "n"},
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "robot"}]}),
            ),
            (
                "rolebindings",
                json!({"metadata": {"name": "c", "namespace": "n"},
                "roleRef": {"kind": "ClusterRole", "name": "gone"},
                "subjects": [{"kind": "Group", "name": "system:authenticated"}]}),
            ),
        ]);
        let robot = User::service_account("n", "robot", "");
        let yes = authorize(&request(&robot, "list", "n"), &cluster);
        assert!(yes.allowed);
        assert_eq!(
            yes.reason,
            r#"RBAC: allowed by RoleBinding "b/n" of Role "r" to ServiceAccount "robot/n""#
        );
        let elsewhere = authorize(&request(&robot, "list", "m"), &cluster);
        assert_eq!((elsewhere.allowed, elsewhere.reason.as_str()), (false, ""));
        let dangling = authorize(&request(&robot, "get", "n"), &cluster);
        assert_eq!(
            dangling.reason,
            r#"RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#
        );
        let master = User::new("root", &["system:masters"]);
        assert!(authorize(&request(&master, "delete", ""), &cluster).allowed);
        assert_eq!(rules_for(&robot, "n", &cluster).0.len(), 1);
    }
}
