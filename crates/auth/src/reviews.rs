//! Questions about access: `kubectl auth can-i`, `auth whoami`.
//!
//! Upstream: `pkg/registry/{authorization,authentication}`; the objects have been validated.

mod selectors;

use crate::policy::{Grants, PackedRule, Role, Texts};
use crate::rbac::authorize;
use crate::{Attributes, Target, User};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use stowplan_apimachinery::{Edit, Status, View, limits};

/// Answers a SubjectAccessReview, or a SelfSubjectAccessReview for the one who asks (`own`).
pub fn access_review(review: &Value, own: Option<&User>, policy: &dyn Grants) -> Value {
    let spec = review.at("spec");
    let user = match own {
        Some(user) => user.clone(),
        None => subject(spec),
    };
    let resource = spec.at("resourceAttributes");
    let path = spec.at("nonResourceAttributes");
    let request = match resource.is_object() {
        true => Attributes {
            user: &user,
            verb: resource.text("verb"),
            target: Target::Resource {
                group: resource.text("group"),
                resource: resource.text("resource"),
                subresource: resource.text("subresource"),
                namespace: resource.text("namespace"),
                name: resource.text("name"),
            },
        },
        false => Attributes {
            user: &user,
            verb: path.text("verb"),
            target: Target::Path(path.text("path")),
        },
    };
    let decision = authorize(&request, policy);
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status.set("reason", decision.reason);
    }
    let problems = selectors::problems(resource);
    if !problems.is_empty() {
        status.set("evaluationError", problems.join("; "));
    }
    let mut answer = review.clone();
    answer.set("status", status);
    answer
}

/// The user that a SubjectAccessReview asks about, taken at its word: no group is added.
fn subject(spec: &Value) -> User {
    let texts = |list: &[Value]| {
        let texts = list.iter().filter_map(|v| v.as_str().map(str::to_owned));
        texts.collect::<Vec<_>>()
    };
    let extra: BTreeMap<_, _> = spec
        .entries("extra")
        .map(|(key, values)| {
            let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
            (key.to_lowercase(), texts(values))
        })
        .collect();
    User {
        name: spec.text("user").to_owned(),
        uid: spec.text("uid").to_owned(),
        groups: texts(spec.list("groups")),
        extra,
    }
}

/// Answers a SelfSubjectRulesReview; the answer does not repeat the question.
pub fn rules_review(review: &Value, user: &User, policy: &dyn Grants) -> Result<Value, Status> {
    let namespace = review.at("spec").text("namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let rights = policy.rights(user, namespace);
    let (roles, problem) = rights.roles();
    let (rules, incomplete) = rules_within(&roles, limits::REVIEWED_RULE_BYTES);
    let rules = || rules.iter().copied();
    let resources = rules().filter(|r| !r.resources().is_empty());
    let paths = rules().filter(|r| !r.non_resource_urls().is_empty());
    let mut status = json!({
        "resourceRules": resources.map(|r| fields(of_resources(r))).collect::<Vec<_>>(),
        "nonResourceRules": paths.map(|r| fields(of_paths(r))).collect::<Vec<_>>(),
        "incomplete": incomplete,
    });
    if let Some(problem) = problem {
        status.set("evaluationError", problem);
    }
    Ok(json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

/// The rules of roles, and whether any are left out because there would be too much to say.
fn rules_within<'a>(roles: &[&'a Role], bytes: usize) -> (Vec<PackedRule<'a>>, bool) {
    let mut left = bytes;
    let mut out = Vec::new();
    for rule in roles.iter().flat_map(|role| role.rules.iter()) {
        match left.checked_sub(told_bytes(rule)) {
            Some(less) => left = less,
            None => return (out, true),
        }
        out.push(rule);
    }
    (out, false)
}

/// How long what is told of a rule is as JSON, or a little less than that.
fn told_bytes(rule: PackedRule<'_>) -> usize {
    let list = |(name, texts): (&str, Texts<'_>)| match texts.is_empty() {
        true => 0,
        false => {
            let texts: usize = texts.map(|text| text.len() + "\"\",".len()).sum();
            name.len() + "\"\":[],".len() + texts
        }
    };
    let told = |lists: &[(&str, Texts<'_>)]| {
        let lists = lists.iter().copied().map(list);
        "{},".len() + lists.sum::<usize>()
    };
    // One that is about both is told twice.
    let resources = !rule.resources().is_empty();
    let paths = !rule.non_resource_urls().is_empty();
    let bytes = usize::from(resources) * told(&of_resources(rule));
    (bytes + usize::from(paths) * told(&of_paths(rule))).max(1)
}

fn fields<const N: usize>(lists: [(&str, Texts<'_>); N]) -> Value {
    let present = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let fields: Map<String, Value> = present
        .map(|(key, list)| (key.to_owned(), list.collect()))
        .collect();
    Value::Object(fields)
}

fn of_resources(rule: PackedRule<'_>) -> [(&str, Texts<'_>); 4] {
    [
        ("verbs", rule.verbs()),
        ("apiGroups", rule.api_groups()),
        ("resources", rule.resources()),
        ("resourceNames", rule.resource_names()),
    ]
}

fn of_paths(rule: PackedRule<'_>) -> [(&str, Texts<'_>); 2] {
    [
        ("verbs", rule.verbs()),
        ("nonResourceURLs", rule.non_resource_urls()),
    ]
}

/// Answers a SelfSubjectReview: who am I?
pub fn self_subject_review(user: &User, now: &str) -> Value {
    let mut info = json!({"username": user.name});
    if !user.uid.is_empty() {
        info.set("uid", user.uid.as_str());
    }
    if !user.groups.is_empty() {
        info.set("groups", user.groups.clone());
    }
    if !user.extra.is_empty() {
        let extra = user
            .extra
            .iter()
            .map(|(k, v)| (k.clone(), v.clone().into()));
        info.set("extra", Value::Object(extra.collect()));
    }
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": now},
        "status": {"userInfo": info},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::tests::policy;

    #[test]
    fn a_review_says_allowed_and_why() {
        let mut review = json!({"spec": {"user": "x", "groups": ["system:masters"],
            "resourceAttributes": {"verb": "get", "resource": "pods"}}});
        review = access_review(&review, None, &Policy::default());
        assert_eq!(review["status"], json!({"allowed": true}));
        let user = User::new("u", &[]);
        review = access_review(&review, Some(&user), &Policy::default());
        assert_eq!(review["status"], json!({"allowed": false}));
        let mut blind = json!({"spec": {"resourceAttributes": {
            "verb": "list", "resource": "pods", "labelSelector": {"rawSelector": "a in b"}}}});
        blind = access_review(&blind, Some(&user), &Policy::default());
        let error = "spec.resourceAttributes.labelSelector ignored due to parse error";
        assert_eq!(
            blind["status"],
            json!({"allowed": false, "evaluationError": error})
        );
        let mut path = json!({"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}});
        path = access_review(&path, Some(&user), &Policy::default());
        assert_eq!(path["status"], json!({"allowed": false}));
        assert!(rules_review(&json!({"spec": {}}), &user, &Policy::default()).is_err());
        let me = self_subject_review(&user, "2026-01-01T00:00:00Z");
        assert_eq!(
            me["status"]["userInfo"],
            json!({"username": "u", "groups": ["system:authenticated"]})
        );
    }

    #[test]
    fn a_review_of_rules_is_of_bounded_size() {
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let role = json!({"metadata": {"name": "r"}, "rules": [rule, rule]});
        let mut objects = vec![("clusterroles", role)];
        for i in 0..3 {
            let binding = json!({"metadata": {"name": format!("b{i}")},
                "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "User", "name": "u"}]});
            objects.push(("clusterrolebindings", binding));
        }
        let rights = policy(objects).rights(&User::new("u", &[]), "n");
        let (roles, _) = rights.roles();
        let each = rule.to_string().len() + 5;
        let (all, incomplete) = rules_within(&roles, 6 * each);
        assert_eq!((all.len(), incomplete), (6, false));
        let (some, incomplete) = rules_within(&roles, 6 * each - 1);
        assert_eq!(
            (some.len(), incomplete),
            (5, true),
            "what is said of each is counted"
        );
    }
}
