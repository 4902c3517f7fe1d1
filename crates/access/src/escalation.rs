//! Nobody may grant what they do not hold.
//!
//! Upstream: `pkg/registry/rbac/escalation_check.go` and `…/policybased/storage.go`.

use crate::rbac::{GROUP, authorize, referred_rules, rules_for};
use crate::rule::quote_all;
use crate::{Attributes, Rule, Target, User};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_machinery::go::quote;
use stowplan_machinery::lookup::Lookup;
use stowplan_machinery::meta::{self, GroupResource};
use stowplan_machinery::{Status, View};

fn allowed(
    user: &User,
    verb: &str,
    resource: &str,
    at: (&str, &str),
    cluster: &dyn Lookup,
) -> bool {
    let (namespace, name) = at;
    let request = Attributes {
        user,
        verb,
        target: Target::Resource {
            group: GROUP,
            resource,
            subresource: "",
            namespace,
            name,
        },
    };
    authorize(&request, cluster).allowed
}

/// Whether a user may write this Role or ClusterRole. `resource` is its plural, `name` the one in
/// the URL (empty for a create); `old` is there for an update.
pub fn check_role(
    user: &User,
    resource: &str,
    (namespace, name): (&str, &str),
    new: &Value,
    old: Option<&Value>,
    cluster: &dyn Lookup,
) -> Result<(), Status> {
    let free = user.is_master()
        || allowed(user, "escalate", resource, (namespace, name), cluster)
        || old.is_some_and(|old| only_for_collection(new, old));
    if free {
        return Ok(());
    }
    let group_resource = GroupResource::new(GROUP, resource);
    confirm(user, namespace, &Rule::of_role(new), cluster)
        .map_err(|why| Status::forbidden(&group_resource, meta::name(new), why))?;
    if aggregates(new) || old.is_some_and(aggregates) {
        let everything = Rule {
            api_groups: vec!["*".to_owned()],
            resources: vec!["*".to_owned()],
            verbs: vec!["*".to_owned()],
            ..Rule::default()
        };
        let everywhere = Rule {
            non_resource_urls: vec!["*".to_owned()],
            verbs: vec!["*".to_owned()],
            ..Rule::default()
        };
        confirm(user, namespace, &[everything, everywhere], cluster).map_err(|_| {
            Status::forbidden(
                &group_resource,
                meta::name(new),
                "must have cluster-admin privileges to use the aggregationRule",
            )
        })?;
    }
    Ok(())
}

/// Whether a user may write this RoleBinding or ClusterRoleBinding.
pub fn check_binding(
    user: &User,
    resource: &str,
    namespace: &str,
    new: &Value,
    old: Option<&Value>,
    cluster: &dyn Lookup,
) -> Result<(), Status> {
    if user.is_master() || old.is_some_and(|old| only_for_collection(new, old)) {
        return Ok(());
    }
    let role_ref = new.at("roleRef");
    let roles = match role_ref.text("kind") {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    let may_bind = roles.is_some_and(|roles| {
        let request = Attributes {
            user,
            verb: "bind",
            target: Target::Resource {
                group: role_ref.text("apiGroup"),
                resource: roles,
                subresource: "",
                namespace,
                name: role_ref.text("name"),
            },
        };
        authorize(&request, cluster).allowed
    });
    if may_bind {
        return Ok(());
    }
    let group_resource = GroupResource::new(GROUP, resource);
    let rules = referred_rules(role_ref, namespace, cluster).map_err(|problem| match roles {
        // A role that is not there is told as if the binding itself were missing.
        Some(_) => Status::not_found(&group_resource, role_ref.text("name")),
        None => Status::plain_error(problem),
    })?;
    confirm(user, namespace, &rules, cluster)
        .map_err(|why| Status::forbidden(&group_resource, meta::name(new), why))
}

/// Whether a ClusterRole gathers the rules of others.
fn aggregates(role: &Value) -> bool {
    !role
        .at("aggregationRule")
        .list("clusterRoleSelectors")
        .is_empty()
}

/// Whether nothing changed but owner references and finalizers.
fn only_for_collection(new: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "managedFields"] {
                metadata.remove(field);
            }
        }
        object
    };
    rest(new) == rest(old)
}

fn confirm(
    user: &User,
    namespace: &str,
    wanted: &[Rule],
    cluster: &dyn Lookup,
) -> Result<(), String> {
    let (held, problems) = rules_for(user, namespace, cluster);
    let singles = wanted.iter().flat_map(Rule::break_down);
    let missing: Vec<Rule> = singles
        .filter(|single| !held.iter().any(|rule| rule.covers(single)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let lines: BTreeSet<String> = join_verbs(missing).iter().map(Rule::compact).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    let mut message = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&user.name),
        quote_all(&user.groups),
        lines.join("\n")
    );
    if let Some(problems) = problems {
        message.push_str(&format!("; resolution errors: [{problems}]"));
    }
    Err(message)
}

/// Single permissions on the same resource as one rule with all their verbs.
fn join_verbs(singles: Vec<Rule>) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    for single in singles {
        let same = |rule: &&mut Rule| {
            single.non_resource_urls.is_empty()
                && rule.api_groups == single.api_groups
                && rule.resources == single.resources
                && rule.resource_names == single.resource_names
        };
        match out.iter_mut().find(same) {
            Some(rule) => rule.verbs.extend(single.verbs),
            None => out.push(single),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::tests::Cluster;
    use serde_json::json;

    fn cluster(rules: Value) -> Cluster {
        Cluster(vec![
            (
                "roles",
                json!({"metadata": {"name": "r", "namespace": "n"}, "rules": rules}),
            ),
            (
                "roles",
                json!({"metadata": {"name": "strong", "namespace": "n"}, "rules": [
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "delete"]}]}),
            ),
            (
                "rolebindings",
                json!({"metadata": {"name": "b", "namespace": "n"},
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "User", "name": "erin"}]}),
            ),
        ])
    }

    #[test]
    fn a_role_may_hold_what_its_author_holds() {
        let erin = User::new("erin", &[]);
        let cluster =
            cluster(json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]));
        let role = |verbs: Value| {
            json!({"metadata": {"name": "x"}, "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]})
        };
        let check = |new: &Value, old| check_role(&erin, "roles", ("n", ""), new, old, &cluster);
        assert!(check(&role(json!(["get"])), None).is_ok());
        let more = role(json!(["get", "list", "watch"]));
        assert_eq!(
            check(&more, None).unwrap_err().message,
            "roles.rbac.authorization.k8s.io \"x\" is forbidden: user \"erin\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}"
        );
        let mut finalized = more.clone();
        finalized["metadata"]["finalizers"] = json!(["a/b"]);
        assert!(check(&finalized, Some(&more)).is_ok());
    }

    #[test]
    fn who_may_bind_or_escalate_need_not_hold() {
        let erin = User::new("erin", &[]);
        let binding = json!({"metadata": {"name": "nb"},
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "strong"}});
        let weak = cluster(json!([]));
        let refused = check_binding(&erin, "rolebindings", "n", &binding, None, &weak);
        assert_eq!(refused.unwrap_err().code, 403);
        let dangling = json!({"metadata": {"name": "nb"},
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "missing"}});
        let refused = check_binding(&erin, "rolebindings", "n", &dangling, None, &weak);
        assert_eq!(
            refused.unwrap_err().message,
            "rolebindings.rbac.authorization.k8s.io \"missing\" not found"
        );
        let binder = cluster(json!([
            {"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["bind", "escalate"]}]));
        assert!(check_binding(&erin, "rolebindings", "n", &binding, None, &binder).is_ok());
        let role = json!({"metadata": {"name": "x"}, "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
        assert!(check_role(&erin, "roles", ("n", ""), &role, None, &binder).is_ok());
        assert!(check_role(&erin, "roles", ("n", ""), &role, None, &weak).is_err());
    }
}
