//! Small requests beside large objects, which others have stored and which they are not about.

use super::{CONFIG_MAPS, DRY, PODS, list};
use crate::attack::{Attack, Request, Sender};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const GROUP: &str = "rbac.authorization.k8s.io";
const CORE: &str = "/api/v1/namespaces/default";
/// Over so many objects it is spread.
const OBJECTS: usize = 8;

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::bystander("beside: subjects of bindings", |n| {
            let subject = |i| json!({"apiGroup": GROUP, "kind": "User", "name": format!("u{i}")});
            let reads = json!([{"apiGroups": [""], "resources": ["a"], "verbs": ["get"]}]);
            let role = json!({"metadata": {"name": "r"}, "rules": reads});
            let mut all = vec![Request::post(format!("{RBAC}/roles"), &role)];
            all.extend((0..OBJECTS).map(|i| {
                let binding = json!({"metadata": {"name": format!("b{i}")},
                    "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
                    "subjects": list(n / OBJECTS, subject)});
                Request::post(format!("{RBAC}/rolebindings"), &binding)
            }));
            all.push(Request::new("GET", format!("{PODS}?limit=1")).by(Sender::Weak));
            all
        }),
        Attack::bystander("beside: rules of roles of others", |n| {
            let rule =
                |i| json!({"apiGroups": [""], "resources": [format!("r{i}")], "verbs": ["get"]});
            let mut all: Vec<Request> = (0..OBJECTS)
                .map(|i| {
                    let rules = list(n / OBJECTS, rule);
                    let role = json!({"metadata": {"name": format!("r{i}")}, "rules": rules});
                    Request::post(format!("{RBAC}/roles"), &role)
                })
                .collect();
            all.push(Request::new("GET", format!("{PODS}?limit=1")).by(Sender::Weak));
            all
        }),
        Attack::bystander("beside: services", |n| {
            let service = |name: &str, annotations: Value| {
                json!({"metadata": {"name": name, "annotations": annotations},
                    "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})
            };
            let mut all: Vec<Request> = (0..OBJECTS)
                .map(|i| {
                    let text = "x".repeat((16 * n).min(250_000));
                    let service = service(&format!("s{i}"), json!({"k": text}));
                    Request::post(format!("{CORE}/services"), &service)
                })
                .collect();
            let last = service("last", json!({}));
            all.push(Request::post(format!("{CORE}/services{DRY}"), &last));
            all
        }),
        Attack::bystander("beside: objects that a quota counts", |n| {
            let lists = list(n / OBJECTS, |i| json!(format!("v{i}"))).to_string();
            let map =
                |i: usize| json!({"metadata": {"name": format!("m{i}")}, "data": {"k": lists}});
            let mut all: Vec<Request> = (0..OBJECTS)
                .map(|i| Request::post(CONFIG_MAPS, &map(i)))
                .collect();
            let hard = json!({"count/configmaps": "1"});
            let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
            all.push(Request::post(format!("{CORE}/resourcequotas"), &quota));
            let last = json!({"metadata": {"name": "last"}});
            all.push(Request::post(CONFIG_MAPS, &last));
            all
        }),
    ]
}
