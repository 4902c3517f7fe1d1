//! Roles and bindings.
//!
//! Upstream: `plugin/pkg/auth/authorizer/rbac` and `pkg/registry/rbac/validation/rule.go`.

use crate::cover::{Budget, TooMany};
use crate::policy::{Grant, Grants, Rights, Role};
use crate::rule::allows;
use crate::{Attributes, Rule, Target};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::{View, limits};

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
pub fn authorize(request: &Attributes<'_>, policy: &dyn Grants) -> Decision {
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
    let rights = policy.rights(request.user, namespace);
    let mut problems = Vec::new();
    for (grant, role) in rights.each_role_once() {
        match role {
            Ok(role) if role.rules.iter().any(|rule| allows(rule, request)) => {
                return Decision {
                    allowed: true,
                    reason: format!("RBAC: allowed by {}", grant.describe()),
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

impl Rights {
    /// The grants, without those of roles that were granted before.
    fn each_role_once(&self) -> impl Iterator<Item = (&Grant, Result<&Arc<Role>, String>)> {
        let mut seen = BTreeSet::new();
        self.grants.iter().filter_map(move |grant| {
            let role = grant.role();
            let known = role.as_ref().ok().map(|role| Arc::as_ptr(role));
            let new = known.is_none_or(|role| seen.insert(role));
            new.then_some((grant, role))
        })
    }

    /// The roles, as often as they are granted, and what could not be resolved.
    pub(crate) fn roles(&self) -> (Vec<&Role>, Option<String>) {
        let mut roles = Vec::new();
        let mut problems = Vec::new();
        for grant in &self.grants {
            match grant.role() {
                Ok(found) => roles.push(&**found),
                Err(problem) => problems.push(problem),
            }
        }
        (roles, aggregate(problems))
    }

    /// The rules, each role's once, and what could not be resolved.
    pub(crate) fn distinct_rules(
        &self,
        budget: &mut Budget,
    ) -> Result<(Vec<Rule>, Option<String>), TooMany> {
        let mut rules = Vec::new();
        let mut problems = Vec::new();
        for (_, role) in self.each_role_once() {
            match role {
                Ok(role) => rules.append(&mut role.unpack(budget)?),
                Err(problem) => problems.push(problem),
            }
        }
        Ok((rules, aggregate(problems)))
    }
}

impl Role {
    /// Its rules, each at a price: a byte may become fifty.
    pub(crate) fn unpack(&self, budget: &mut Budget) -> Result<Vec<Rule>, TooMany> {
        let unpacked = self.rules.iter().map(|rule| {
            budget.spend(2 * rule.bytes())?;
            Ok(rule.unpack())
        });
        unpacked.collect()
    }
}

/// What could not be resolved, each thing once.
fn aggregate(problems: Vec<String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut distinct: Vec<&str> = Vec::new();
    for problem in &problems {
        if seen.insert(problem) {
            distinct.push(problem);
        }
    }
    let untold = distinct.len().saturating_sub(limits::MISSING_ROLES);
    distinct.truncate(limits::MISSING_ROLES);
    let more = format!("… and {untold} more");
    if untold > 0 {
        distinct.push(&more);
    }
    match distinct.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// The role that a binding refers to, or why there is none.
pub(crate) fn referred_role(
    role_ref: &Value,
    namespace: &str,
    policy: &dyn Grants,
) -> Result<Arc<Role>, String> {
    let (kind, name) = (role_ref.text("kind"), role_ref.text("name"));
    let place = match kind {
        "Role" => namespace,
        "ClusterRole" => "",
        _ => return Err(no_role(kind, name)),
    };
    let role = policy.role(place, name);
    role.ok_or_else(|| no_role(kind, name))
}

/// Why a reference leads nowhere.
fn no_role(kind: &str, name: &str) -> String {
    let resource = match kind {
        "Role" => "role",
        "ClusterRole" => "clusterrole",
        other => return format!("unsupported role reference kind: {}", quote(other)),
    };
    format!("{resource}.{GROUP} {} not found", quote(name))
}

impl Grant {
    fn role(&self) -> Result<&Arc<Role>, String> {
        let (kind, name) = (&self.binding.role_kind, &self.binding.role_name);
        self.role.as_ref().ok_or_else(|| no_role(kind, name))
    }

    /// `RoleBinding "b/ns" of Role "r" to User "u"`
    fn describe(&self) -> String {
        let binding = &*self.binding;
        let (kind, name) = match binding.namespace.as_str() {
            "" => ("ClusterRoleBinding", binding.name.clone()),
            namespace => ("RoleBinding", format!("{}/{namespace}", binding.name)),
        };
        let subject = self.subject().unwrap_or_default();
        let subject_name = match (subject.kind, subject.namespace) {
            ("ServiceAccount", "") => format!("{}/{}", subject.name, binding.namespace),
            ("ServiceAccount", own) => format!("{}/{own}", subject.name),
            _ => subject.name.to_owned(),
        };
        format!(
            "{kind} {} of {} {} to {} {}",
            quote(&name),
            binding.role_kind,
            quote(&binding.role_name),
            subject.kind,
            quote(&subject_name)
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::User;
    use crate::policy::tests::policy;
    use serde_json::json;
    use stowplan_apimachinery::lookup::Lookup;
    use stowplan_apimachinery::meta;

    /// A cluster of objects, each with its resource.
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
        let cluster = policy(vec![
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
    }

    #[test]
    fn a_role_is_looked_at_once_however_often_it_is_bound() {
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        let role = json!({"metadata": {"name": "r", "namespace": "n"}, "rules": rules});
        let mut objects = vec![("roles", role)];
        for i in 0..50 {
            let binding = json!({"metadata": {"name": format!("b{i}"), "namespace": "n"},
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "User", "name": "u"}]});
            objects.push(("rolebindings", binding));
        }
        let cluster = policy(objects);
        let user = User::new("u", &[]);
        assert!(!authorize(&request(&user, "list", "n"), &cluster).allowed);
        let rights = cluster.rights(&user, "n");
        assert_eq!(rights.each_role_once().count(), 1);
        let rules = rights.distinct_rules(&mut Budget(1_000));
        assert_eq!(rules.map(|(rules, _)| rules.len()), Ok(1));
        assert_eq!(rights.distinct_rules(&mut Budget(10)).err(), Some(TooMany));
        // As upstream: a review lists a role's rules as often as they are granted.
        assert_eq!(rights.roles().0.len(), 50);
    }

    #[test]
    fn a_refusal_names_so_many_roles_that_are_missing() {
        let binding = |i: usize| {
            let binding = json!({"metadata": {"name": format!("b{i:05}"), "namespace": "n"},
                "roleRef": {"kind": "Role", "name": format!("r{i:05}")},
                "subjects": [{"kind": "Group", "name": "g00099"}]});
            ("rolebindings", binding)
        };
        let cluster = policy((0..limits::MISSING_ROLES + 7).map(binding).collect());
        let mut user = User::new("u", &[]);
        user.groups = (0..100).map(|i| format!("g{i:05}")).collect();
        let reason = authorize(&request(&user, "get", "n"), &cluster).reason;
        assert!(
            reason.ends_with("\"r00099\" not found, … and 7 more]"),
            "{reason}"
        );
    }
}
