use super::*;
use serde_json::json;

/// The policy of these objects, each with its resource.
pub(crate) fn policy(objects: Vec<(&'static str, Value)>) -> Policy {
    let mut policy = Policy::default();
    for (resource, object) in &objects {
        match resource.ends_with("bindings") {
            true => policy.put_binding(object),
            false => policy.put_role(object),
        }
    }
    policy
}

fn binding(name: &str, subjects: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "n"},
        "roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects})
}

fn names(policy: &Policy, user: &User, namespace: &str) -> Vec<String> {
    let grants = policy.rights(user, namespace).grants;
    grants.iter().map(|g| g.binding.name.clone()).collect()
}

#[test]
fn a_binding_is_found_by_its_subjects_until_it_is_gone() {
    let subjects = json!([{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "a"}, {"kind": "ServiceAccount", "name": "a", "namespace": "m"},
        {"kind": "Robot", "name": "u"}]);
    let everywhere = json!({"metadata": {"name": "z"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "a"}, {"kind": "Group", "name": "g"}]});
    let mut policy = policy(vec![
        ("rolebindings", binding("b", subjects.clone())),
        ("rolebindings", binding("a", subjects)),
        ("clusterrolebindings", everywhere),
    ]);
    let (user, both) = (User::new("u", &[]), User::new("u", &["g"]));
    let (account, other) = (
        User::service_account("n", "a", ""),
        User::service_account("m", "a", ""),
    );
    assert_eq!(names(&policy, &user, "n"), ["a", "b"]);
    assert_eq!(
        names(&policy, &both, "n"),
        ["z", "a", "b"],
        "the cluster's first"
    );
    assert_eq!(names(&policy, &both, "m"), ["z"]);
    assert_eq!(names(&policy, &account, "n"), ["a", "b"]);
    assert_eq!(names(&policy, &other, "n"), ["a", "b"]);
    assert_eq!(
        names(&policy, &User::service_account("x", "a", ""), "n"),
        [""; 0]
    );
    policy.put_binding(&binding("b", json!([{"kind": "User", "name": "v"}])));
    assert_eq!(names(&policy, &user, "n"), ["a"]);
    assert_eq!(names(&policy, &User::new("v", &[]), "n"), ["b"]);
    for name in ["a", "b"] {
        policy.remove_binding("n", name);
    }
    policy.remove_binding("", "z");
    assert!(policy.subjects.is_empty() && policy.bindings.is_empty() && policy.ids.is_empty());
}

#[test]
fn what_is_granted_to_others_costs_nothing() {
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let role = json!({"metadata": {"name": "r", "namespace": "n"}, "rules": rules});
    let mut objects = vec![("roles", role)];
    for b in 0..20 {
        let subject = |i| json!({"kind": "User", "name": format!("u{i}")});
        let mut others: Vec<Value> = (0..1_000).map(subject).collect();
        others.extend(vec![json!({"kind": "User", "name": "me"}); 500]);
        objects.push(("rolebindings", binding(&format!("b{b}"), others.into())));
    }
    let policy = policy(objects);
    let rights = |user: &str, bytes| policy.rights_within(&User::new(user, &[]), "n", bytes);
    assert!(rights("stranger", 0).is_some_and(|rights| rights.grants.is_empty()));
    let mine = rights("me", 10_000).expect("named often, looked at once");
    assert_eq!(mine.grants.len(), 20);
    assert!(rights("me", mine.bytes() - 1).is_none());
    assert!(rights("me", mine.bytes()).is_some());
}
