//! Nobody may grant what they do not hold.
//!
//! Upstream: `pkg/registry/rbac/escalation_check.go` and `…/policybased/storage.go`.

use crate::cover::{self, Budget, Missing, TooMany, What};
use crate::policy::Grants;
use crate::rbac::{GROUP, authorize, referred_role};
use crate::rule::quote_all;
use crate::{Attributes, Rule, Target, User};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::meta::{self, GroupResource};
use stowplan_apimachinery::{Status, View, limits};

fn allowed(user: &User, verb: &str, resource: &str, at: (&str, &str), policy: &dyn Grants) -> bool {
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
    authorize(&request, policy).allowed
}

/// Whether a user may write this Role or ClusterRole. `resource` is its plural, `name` the one in
/// the URL (empty for a create); `old` is there for an update.
pub fn check_role(
    user: &User,
    resource: &str,
    (namespace, name): (&str, &str),
    new: &Value,
    old: Option<&Value>,
    policy: &dyn Grants,
) -> Result<(), Status> {
    let free = user.is_master()
        || allowed(user, "escalate", resource, (namespace, name), policy)
        || old.is_some_and(|old| only_for_collection(new, old));
    if free {
        return Ok(());
    }
    let group_resource = GroupResource::new(GROUP, resource);
    confirm(user, namespace, &Rule::of_role(new), policy)
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
        confirm(user, namespace, &[everything, everywhere], policy).map_err(|_| {
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
    policy: &dyn Grants,
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
        authorize(&request, policy).allowed
    });
    if may_bind {
        return Ok(());
    }
    let group_resource = GroupResource::new(GROUP, resource);
    let role = referred_role(role_ref, namespace, policy).map_err(|problem| match roles {
        // A role that is not there is told as if the binding itself were missing.
        Some(_) => Status::not_found(&group_resource, role_ref.text("name")),
        None => Status::plain_error(problem),
    })?;
    let wanted = role.unpack(&mut Budget(limits::ESCALATION_STEPS));
    wanted
        .map_err(|TooMany| too_many(user))
        .and_then(|wanted| confirm(user, namespace, &wanted, policy))
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
    policy: &dyn Grants,
) -> Result<(), String> {
    let rights = policy.rights(user, namespace);
    let mut budget = Budget(limits::ESCALATION_STEPS);
    let held = rights.distinct_rules(&mut budget);
    let (held, problems) = held.map_err(|TooMany| too_many(user))?;
    let missing = cover::missing(&held, wanted, &mut budget);
    let missing = missing.map_err(|TooMany| too_many(user))?;
    if missing.told.is_empty() {
        return Ok(());
    }
    let mut message = format!(
        "{} is attempting to grant RBAC permissions not currently held:\n{}",
        who(user),
        lines(&missing).join("\n")
    );
    if let Some(problems) = problems {
        message.push_str(&format!("; resolution errors: [{problems}]"));
    }
    Err(message)
}

fn who(user: &User) -> String {
    let (name, groups) = (quote(&user.name), quote_all(&user.groups));
    format!("user {name} (groups={groups})")
}

fn too_many(user: &User) -> String {
    let who = who(user);
    format!("{who} is attempting to grant too many RBAC permissions to compare with those held")
}

/// What is missing: the verbs on each resource in one line, in the order of the lines' texts.
/// Upstream: `CompactRules` in `pkg/registry/rbac/validation/policy_compact.go`.
fn lines(missing: &Missing<'_>) -> Vec<String> {
    let mut resources: BTreeMap<What<'_>, Vec<&str>> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    for single in &missing.told {
        match single.what {
            What::Url(_) => drop(lines.insert(line(single.what, &[single.verb]))),
            what => resources.entry(what).or_default().push(single.verb),
        }
    }
    lines.extend(resources.iter().map(|(what, verbs)| line(*what, verbs)));
    let mut lines: Vec<String> = lines.into_iter().collect();
    if missing.untold > 0 {
        lines.push(format!("… and {} more", missing.untold));
    }
    lines
}

fn line(what: What<'_>, verbs: &[&str]) -> String {
    let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect();
    let rule = match what {
        What::Url(url) => Rule {
            non_resource_urls: owned(&[url]),
            ..Rule::default()
        },
        What::Resource {
            group,
            resource,
            name,
        } => Rule {
            api_groups: owned(&[group]),
            resources: owned(&[resource]),
            resource_names: owned(name.as_slice()),
            ..Rule::default()
        },
    };
    Rule {
        verbs: owned(verbs),
        ..rule
    }
    .compact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::tests::policy;
    use serde_json::json;

    fn cluster(rules: Value) -> Policy {
        policy(vec![
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

    #[test]
    fn a_refusal_of_very_many_permissions_says_how_many_more_there_are() {
        let numbered =
            |prefix: &str| -> Vec<String> { (0..290).map(|i| format!("{prefix}{i}")).collect() };
        let role = json!({"metadata": {"name": "x"}, "rules": [
            {"apiGroups": numbered("g"), "resources": numbered("r"), "verbs": numbered("v")}]});
        let erin = User::new("erin", &[]);
        let refused = check_role(&erin, "roles", ("n", ""), &role, None, &cluster(json!([])));
        let message = refused.unwrap_err().message;
        let more = 290_usize.pow(3) - limits::MISSING_PERMISSIONS;
        assert!(message.ends_with(&format!("\n… and {more} more")));
        assert!(message.len() < 2 * limits::MISSING_PERMISSION_BYTES);
    }
}
