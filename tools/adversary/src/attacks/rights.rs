//! Roles, bindings and reviews.

use super::{DRY, list};
use crate::attack::{Attack, Request, Sender};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

pub(super) fn attacks() -> Vec<Attack> {
    let names = |n: usize, prefix: &'static str| list(n, move |i| json!(format!("{prefix}{i}")));
    vec![
        role("groups × resources × verbs", move |n| {
            let side = n / 3;
            json!([{"apiGroups": names(side, "g"), "resources": names(side, "r"), "verbs": names(side, "v")}])
        }),
        role(
            "verbs",
            move |n| json!([{"apiGroups": [""], "resources": ["pods"], "verbs": names(n, "v")}]),
        ),
        role(
            "the same verb",
            |n| json!([{"apiGroups": [""], "resources": ["pods"], "verbs": list(n, |_| json!("get"))}]),
        ),
        role("resources × names", move |n| {
            json!([{"apiGroups": [""], "resources": names(n / 2, "r"), "verbs": ["get"],
                "resourceNames": names(n / 2, "n")}])
        }),
        role("rules", |n| {
            list(
                n,
                |i| json!({"apiGroups": [""], "resources": [format!("r{i}")], "verbs": ["get"]}),
            )
        }),
        role("rules that are the same", |n| {
            list(
                n,
                |_| json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
            )
        }),
        role("rules without anything", |n| list(n, |_| json!({}))),
        Attack::single("rights: paths of a cluster role", move |n| {
            let rules = json!([{"nonResourceURLs": names(n, "/p"), "verbs": ["get"]}]);
            let role = json!({"metadata": {"name": "a"}, "rules": rules});
            Request::post(format!("{RBAC}/clusterroles{DRY}"), &role).by(Sender::Weak)
        }),
        Attack::single("rights: subjects of a binding", |n| {
            let subject = |i| json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": format!("u{i}")});
            let binding = json!({"metadata": {"name": "a"}, "subjects": list(n, subject),
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}});
            Request::post(format!("{RBAC}/clusterrolebindings{DRY}"), &binding)
        }),
        Attack::new("rights: rules that are held, reviewed", |n| {
            let rules = list(
                n,
                |i| json!({"apiGroups": [""], "resources": [format!("r{i}")], "verbs": ["get"]}),
            );
            let review = json!({"spec": {"namespace": "default"}});
            let mut all = held(rules);
            all.push(
                Request::post(format!("{REVIEWS}/selfsubjectrulesreviews"), &review)
                    .by(Sender::Weak),
            );
            all
        }),
        Attack::new("rights: rules that are held, granted", |n| {
            let rules = list(
                n,
                |i| json!({"apiGroups": [""], "resources": [format!("r{i}")], "verbs": ["get"]}),
            );
            let mut all = held(rules.clone());
            let role = json!({"metadata": {"name": "b"}, "rules": rules});
            let url = format!("{RBAC}/namespaces/default/roles{DRY}");
            all.push(Request::post(url, &role).by(Sender::Weak));
            all
        }),
        review(
            "groups",
            |n| json!({"user": "a", "groups": list(n, |i| json!(format!("g{i}")))}),
        ),
        review("extras", |n| {
            let extras = (0..n).map(|i| (format!("k{i}"), json!(["v"])));
            json!({"user": "a", "extra": extras.collect::<serde_json::Map<_, _>>()})
        }),
        review("a long name", |n| json!({"user": "a".repeat(16 * n)})),
    ]
}

/// The weak user comes to hold these rules.
fn held(rules: Value) -> Vec<Request> {
    let role = json!({"metadata": {"name": "held"}, "rules": rules});
    let binding = json!({"metadata": {"name": "held"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "held"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "weak"}]});
    vec![
        Request::post(format!("{RBAC}/clusterroles"), &role),
        Request::post(format!("{RBAC}/clusterrolebindings"), &binding),
    ]
}

fn role(name: &str, rules: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::single(format!("rights: {name}"), move |n| {
        let role = json!({"metadata": {"name": "a"}, "rules": rules(n)});
        let url = format!("{RBAC}/namespaces/default/roles{DRY}");
        Request::post(url, &role).by(Sender::Weak)
    })
}

fn review(name: &str, spec: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::single(format!("rights: a review of {name}"), move |n| {
        let mut spec = spec(n);
        spec["resourceAttributes"] = json!({"verb": "get", "resource": "pods"});
        Request::post(
            format!("{REVIEWS}/subjectaccessreviews"),
            &json!({"spec": spec}),
        )
    })
}
