//! Roles and bindings.
//!
//! Upstream: `plugin/pkg/auth/authorizer/rbac` and `pkg/registry/rbac/validation/rule.go`.

use crate::rule::allows;
use crate::user::service_account_name;
use crate::{Attributes, Rule, Target, User};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{View, limits, meta};

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
    let mut roles = Roles::new(cluster);
    for granted in grants(request.user, namespace, cluster) {
        let Some(role) = roles.new_one(&granted) else {
            continue;
        };
        match role {
            Ok(role) if role.list("rules").iter().any(|rule| allows(rule, request)) => {
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

/// The roles that apply to a user in a namespace (none: at cluster scope only), as often as they are
/// granted, and what could not be resolved.
pub(crate) fn roles_for(
    user: &User,
    namespace: &str,
    cluster: &dyn Lookup,
) -> (Vec<Arc<Value>>, Option<String>) {
    let mut roles = Vec::new();
    let mut problems = Vec::new();
    for granted in grants(user, namespace, cluster) {
        match granted.role(cluster) {
            Ok(found) => roles.push(found),
            Err(problem) => problems.push(problem),
        }
    }
    (roles, aggregate(problems))
}

/// The rules that apply to a user, each role's once, and what could not be resolved.
pub(crate) fn distinct_rules_for(
    user: &User,
    namespace: &str,
    cluster: &dyn Lookup,
) -> (Vec<Rule>, Option<String>) {
    let mut rules = Vec::new();
    let mut problems = Vec::new();
    let mut roles = Roles::new(cluster);
    let granted = grants(user, namespace, cluster);
    for role in granted.iter().filter_map(|g| roles.new_one(g)) {
        match role {
            Ok(role) => rules.extend(Rule::of_role(&role)),
            Err(problem) => problems.push(problem),
        }
    }
    (rules, aggregate(problems))
}

/// Roles, each of which is looked at once however often it is granted.
struct Roles<'a> {
    cluster: &'a dyn Lookup,
    seen: BTreeSet<[String; 3]>,
}

impl<'a> Roles<'a> {
    fn new(cluster: &'a dyn Lookup) -> Self {
        let seen = BTreeSet::new();
        Self { cluster, seen }
    }

    /// The role that is granted, unless it was seen before.
    fn new_one(&mut self, granted: &Grant) -> Option<Result<Arc<Value>, String>> {
        let role = granted.binding.at("roleRef");
        let place = match role.text("kind") {
            "Role" => granted.namespace.as_str(),
            _ => "",
        };
        let key = [role.text("kind"), place, role.text("name")].map(str::to_owned);
        let new = self.seen.insert(key);
        new.then(|| granted.role(self.cluster))
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

/// A binding that applies to a user, and the subject that makes it so.
struct Grant {
    binding: Arc<Value>,
    subject: usize,
    /// Empty for a ClusterRoleBinding.
    namespace: String,
}

fn grants(user: &User, namespace: &str, cluster: &dyn Lookup) -> Vec<Grant> {
    let mut bindings = vec![(cluster.list(GROUP, "clusterrolebindings", ""), "")];
    if !namespace.is_empty() {
        bindings.push((cluster.list(GROUP, "rolebindings", namespace), namespace));
    }
    let who = Who::new(user);
    let mut out = Vec::new();
    for (list, namespace) in bindings {
        for binding in list {
            let mut subjects = binding.list("subjects").iter();
            if let Some(subject) = subjects.position(|s| who.is(s, namespace)) {
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

/// So many groups are searched one by one.
const FEW: usize = 16;

/// A user, ready to be compared with the subjects of all bindings.
struct Who<'a> {
    user: &'a User,
    account: Option<(&'a str, &'a str)>,
    /// Unless they are few.
    groups: Option<BTreeSet<&'a str>>,
}

impl<'a> Who<'a> {
    fn new(user: &'a User) -> Self {
        let groups = || user.groups.iter().map(String::as_str).collect();
        Self {
            user,
            account: service_account_name(&user.name),
            groups: (user.groups.len() > FEW).then(groups),
        }
    }

    fn in_group(&self, name: &str) -> bool {
        match &self.groups {
            Some(groups) => groups.contains(name),
            None => self.user.in_group(name),
        }
    }

    /// Whether a subject of a binding is this user.
    fn is(&self, subject: &Value, namespace: &str) -> bool {
        let name = subject.text("name");
        match subject.text("kind") {
            "User" => self.user.name == name,
            "Group" => self.in_group(name),
            "ServiceAccount" => {
                let namespace = match subject.text("namespace") {
                    "" => namespace,
                    own => own,
                };
                !namespace.is_empty() && self.account == Some((namespace, name))
            }
            _ => false,
        }
    }
}

/// The role that a binding refers to, or why there is none.
pub(crate) fn referred_role(
    role_ref: &Value,
    namespace: &str,
    cluster: &dyn Lookup,
) -> Result<Arc<Value>, String> {
    let name = role_ref.text("name");
    let (resource, place) = match role_ref.text("kind") {
        "Role" => ("role", namespace),
        "ClusterRole" => ("clusterrole", ""),
        other => return Err(format!("unsupported role reference kind: {}", quote(other))),
    };
    let role = cluster.get(GROUP, &format!("{resource}s"), place, name);
    role.ok_or_else(|| format!("{resource}.{GROUP} {} not found", quote(name)))
}

impl Grant {
    fn role(&self, cluster: &dyn Lookup) -> Result<Arc<Value>, String> {
        referred_role(self.binding.at("roleRef"), &self.namespace, cluster)
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
        assert_eq!(distinct_rules_for(&robot, "n", &cluster).0.len(), 1);
    }

    /// A cluster that counts how often somebody looks.
    struct Counted(Cluster, std::cell::Cell<usize>);

    impl Lookup for Counted {
        fn get(&self, g: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
            self.1.set(self.1.get() + 1);
            self.0.get(g, resource, namespace, name)
        }

        fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
            self.0.list(group, resource, namespace)
        }
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
        let cluster = Counted(Cluster(objects), std::cell::Cell::new(0));
        let user = User::new("u", &[]);
        assert!(!authorize(&request(&user, "list", "n"), &cluster).allowed);
        assert_eq!(cluster.1.get(), 1);
        assert_eq!(distinct_rules_for(&user, "n", &cluster).0.len(), 1);
        assert_eq!(cluster.1.get(), 2);
        // As upstream: a review lists a role's rules as often as they are granted.
        assert_eq!(roles_for(&user, "n", &cluster).0.len(), 50);
    }

    #[test]
    fn a_refusal_names_so_many_roles_that_are_missing() {
        let binding = |i: usize| {
            let binding = json!({"metadata": {"name": format!("b{i}"), "namespace": "n"},
                "roleRef": {"kind": "Role", "name": format!("r{i:05}")},
                "subjects": [{"kind": "Group", "name": "g00099"}]});
            ("rolebindings", binding)
        };
        let cluster = Cluster((0..limits::MISSING_ROLES + 7).map(binding).collect());
        let mut user = User::new("u", &[]);
        user.groups = (0..100).map(|i| format!("g{i:05}")).collect();
        let reason = authorize(&request(&user, "get", "n"), &cluster).reason;
        assert!(
            reason.ends_with("\"r00099\" not found, … and 7 more]"),
            "{reason}"
        );
    }
}
