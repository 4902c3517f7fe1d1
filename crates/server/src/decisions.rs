//! `decisions.stowplan.dev`: why pods are where they are, or are not, told by the scheduler in this
//! process to those who may read the pod.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{self, Convert};
use crate::rbac;
use crate::request::Request;
use crate::route;
use crate::table::Include;
use crate::transform::partial;
use crate::verbs;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_apimachinery::Status;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_auth::{Attributes, Target, User, authorize};

/// The group.
pub(crate) const GROUP: &str = "stowplan.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1";
/// The resource.
pub(crate) const PLURAL: &str = "decisions";
const WHOLE: &str = "tournament";

/// What is told of a pod.
#[derive(Clone, PartialEq, Debug)]
pub enum DecisionAnswer {
    /// This object.
    Found(Value),
    /// Nothing is known of it.
    Unknown,
    /// There is no time for that now.
    Busy,
}

/// Knows what was decided about pods.
pub trait Decisions: Send + Sync {
    /// What is remembered of the last attempt of a pod, or its `whole` tournament, without names that
    /// the reader may not know.
    fn tell(
        &self,
        namespace: String,
        name: String,
        whole: bool,
        reader: Reader,
    ) -> BoxFuture<'static, DecisionAnswer>;

    /// The whole tournament of a pod that does not exist, as things are now.
    fn what_if(&self, pod: Value, reader: Reader) -> BoxFuture<'static, DecisionAnswer>;
}

/// Who asks for a decision: others than its pod are named to who may list these.
pub struct Reader {
    api: Arc<Api>,
    user: User,
}

impl Reader {
    /// Whether he may list nodes.
    pub fn lists_nodes(&self) -> bool {
        self.lists("nodes", "")
    }

    /// Whether he may list the pods of a namespace, or of all of them.
    pub fn lists_pods(&self, namespace: Option<&str>) -> bool {
        self.lists("pods", namespace.unwrap_or_default())
    }

    fn lists(&self, resource: &str, namespace: &str) -> bool {
        let request = Attributes {
            user: &self.user,
            verb: "list",
            target: Target::Resource {
                group: "",
                resource,
                subresource: "",
                namespace,
                name: "",
            },
        };
        authorize(&request, &rbac::All(&self.api)).allowed
    }
}

/// Whether a request is about decisions, and somebody knows of any.
fn concerns(api: &Api, group: &str, version: &str) -> bool {
    group == GROUP && version == VERSION && api.decisions().is_some()
}

/// Whether a decision is asked for, of which somebody may know. Whoever may read the pod may.
pub(crate) fn is_read(api: &Api, request: &Request) -> bool {
    let info = &request.info;
    concerns(api, &info.group, &info.version) && info.resource == PLURAL && info.verb == "get"
}

/// Whether somebody asks about a pod that does not exist. Whoever may list the namespace's pods may.
pub(crate) fn is_question(api: &Api, request: &Request) -> bool {
    let info = &request.info;
    concerns(api, &info.group, &info.version)
        && info.resource == PLURAL
        && info.verb == "create"
        && info.parts.len() == 1
        && !info.namespace.is_empty()
}

/// What would be decided about the pod in the body, which is looked at as if it were created.
async fn what_if(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let mut output = negotiate::output(request)?;
    output.convert = Convert::Nothing;
    let decisions = api.decisions().ok_or_else(route::no_such_path)?;
    let pod = verbs::create::what_if(api, request)?;
    let reader = Reader {
        api: Arc::clone(api),
        user: request.user.clone(),
    };
    match decisions.what_if(pod, reader).await {
        DecisionAnswer::Found(object) => Ok(answer::object(200, &object, output)),
        DecisionAnswer::Unknown => Err(Status::bad_request(
            "no profile of the scheduler has the pod's schedulerName",
        )),
        DecisionAnswer::Busy => Err(busy()),
    }
}

fn busy() -> Status {
    Status::too_many_requests("the scheduler has no time for whole tournaments now", 1)
}

/// Answers a request about decisions whose caller may read the pod.
pub(crate) async fn answer(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    if is_question(api, request) {
        return what_if(api, request).await;
    }
    let info = &request.info;
    let whole = match info.subresource.as_str() {
        "" => false,
        WHOLE => true,
        _ => return Err(route::no_such_path()),
    };
    if info.resource != PLURAL || info.namespace.is_empty() || info.parts.len() > 3 {
        return Err(route::no_such_path());
    }
    if info.verb != "get" || !info.named {
        return Err(route::no_such_method());
    }
    let Some(decisions) = api.decisions() else {
        return Err(route::no_such_path());
    };
    let mut output = negotiate::output(request)?;
    let convert = std::mem::take(&mut output.convert);
    let reader = Reader {
        api: Arc::clone(api),
        user: request.user.clone(),
    };
    let told = decisions.tell(info.namespace.clone(), info.name.clone(), whole, reader);
    match told.await {
        DecisionAnswer::Found(object) => {
            let object = match convert {
                Convert::Table(version) if !whole => {
                    table(object, version, Include::read(request)?)
                }
                _ => object,
            };
            Ok(answer::object(200, &object, output))
        }
        DecisionAnswer::Unknown => Err(Status::not_found(
            &GroupResource::new(GROUP, PLURAL),
            &info.name,
        )),
        DecisionAnswer::Busy => Err(busy()),
    }
}

/// A decision as `kubectl get` prints it.
fn table(told: Value, version: &str, include: Include) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cells = [
        &told["metadata"]["name"],
        &told["outcome"],
        &told["node"],
        &told["time"],
        &told["message"],
    ]
    .map(text);
    let column = |name: &str, format: &str, description: &str, priority: u32| {
        json!({"name": name, "type": "string", "format": format, "description": description,
               "priority": priority})
    };
    let columns = [
        column("Name", "name", "The pod.", 0),
        column("Outcome", "", "What came of its last attempt.", 0),
        column("Node", "", "Where it goes.", 0),
        column("Time", "", "When it was tried.", 0),
        column("Message", "", "Why it fits nowhere.", 1),
    ];
    let object = match include {
        Include::Metadata => partial(&told, version),
        Include::Object => told,
        Include::Nothing => Value::Null,
    };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": {},
        "columnDefinitions": columns,
        "rows": [{"cells": cells, "object": object}],
    })
}

/// What discovery lists below the group.
pub(crate) fn resource_list() -> Value {
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": format!("{GROUP}/{VERSION}"),
        "resources": [
            {"name": PLURAL, "singularName": "decision", "namespaced": true, "kind": "Decision",
             "verbs": ["create", "get"]},
            {"name": format!("{PLURAL}/{WHOLE}"), "singularName": "", "namespaced": true,
             "kind": "Explanation", "verbs": ["get"]},
        ],
    })
}

/// What aggregated discovery lists below the group.
pub(crate) fn resource_discovery() -> Value {
    let kind = |kind: &str| json!({"group": "", "version": "", "kind": kind});
    json!([{
        "resource": PLURAL,
        "responseKind": kind("Decision"),
        "scope": "Namespaced",
        "singularResource": "decision",
        "verbs": ["create", "get"],
        "subresources": [
            {"subresource": WHOLE, "responseKind": kind("Explanation"), "verbs": ["get"]},
        ],
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use axum::body::Body;

    struct Memory;

    impl Decisions for Memory {
        fn tell(
            &self,
            namespace: String,
            name: String,
            whole: bool,
            reader: Reader,
        ) -> BoxFuture<'static, DecisionAnswer> {
            let readable = json!({
                "nodes": reader.lists_nodes(), "pods": reader.lists_pods(None),
                "own": reader.lists_pods(Some("n")), "other": reader.lists_pods(Some("m")),
            });
            let told = match name.as_str() {
                "gone" => DecisionAnswer::Unknown,
                "busy" => DecisionAnswer::Busy,
                _ => DecisionAnswer::Found(json!({
                    "kind": "Decision", "metadata": {"name": name}, "outcome": "Bound",
                    "told": [namespace, name, whole], "readable": readable,
                })),
            };
            Box::pin(async move { told })
        }

        fn what_if(&self, pod: Value, _: Reader) -> BoxFuture<'static, DecisionAnswer> {
            Box::pin(async move { DecisionAnswer::Found(pod) })
        }
    }

    async fn api() -> Arc<Api> {
        let api = testing::api().await;
        api.decide_by(Box::new(Memory));
        api
    }

    async fn ask(api: &Arc<Api>, user: Option<&str>, path: &str) -> (u16, Value) {
        let path = format!("/apis/stowplan.dev/v1/namespaces/n/{path}");
        let mut request = http::Request::get(path)
            .body(Body::empty())
            .expect("a request");
        if let Some(user) = user {
            let groups = [if user == "admin" {
                "system:masters"
            } else {
                "devs"
            }];
            request.extensions_mut().insert(User::new(user, &groups));
        }
        testing::receive(api, request).await
    }

    #[tokio::test]
    async fn decisions_are_told_to_those_who_may_read_the_pod() {
        let api = api().await;
        let admin = Some("admin");
        let (code, told) = ask(&api, admin, "decisions/p").await;
        assert_eq!((code, &told["told"]), (200, &json!(["n", "p", false])));
        let (code, told) = ask(&api, admin, "decisions/p/tournament").await;
        assert_eq!((code, &told["told"]), (200, &json!(["n", "p", true])));
        assert_eq!(ask(&api, admin, "decisions/gone").await.0, 404);
        assert_eq!(ask(&api, admin, "decisions/busy").await.0, 429);
        assert_eq!(ask(&api, admin, "decisions").await.0, 405);
        assert_eq!(ask(&api, admin, "others/p").await.0, 404);

        let (code, refused) = ask(&api, Some("jane"), "decisions/p").await;
        let message = "pods \"p\" is forbidden: User \"jane\" cannot get resource \"pods\" in API \
                       group \"\" in the namespace \"n\"";
        assert_eq!((code, &refused["message"]), (403, &json!(message)));
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        let role = json!({"metadata": {"name": "reads"}, "rules": rules});
        let url = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        assert_eq!(testing::send(&api, "POST", url, &[], &role).await.0, 201);
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": {"name": "reads"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "reads"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "jane"}],
        });
        let url = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        assert_eq!(testing::send(&api, "POST", url, &[], &binding).await.0, 201);
        let (code, told) = ask(&api, Some("jane"), "decisions/p").await;
        let nothing = json!({"nodes": false, "pods": false, "own": false, "other": false});
        assert_eq!((code, &told["readable"]), (200, &nothing));
        let (_, told) = ask(&api, admin, "decisions/p").await;
        let all = json!({"nodes": true, "pods": true, "own": true, "other": true});
        assert_eq!(told["readable"], all);
    }

    #[tokio::test]
    async fn a_pod_that_does_not_exist_is_asked_about_as_if_it_were_created() {
        let api = api().await;
        let url = "/apis/stowplan.dev/v1/namespaces/default/decisions";
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        let account = json!({"metadata": {"name": "default"}});
        assert_eq!(
            testing::send(&api, "POST", accounts, &[], &account).await.0,
            201
        );
        let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
        let class = json!({"metadata": {"name": "high"}, "value": 1000});
        assert_eq!(
            testing::send(&api, "POST", classes, &[], &class).await.0,
            201
        );
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "maybe"},
            "spec": {
                "priorityClassName": "high",
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}],
            },
        });
        let (code, asked) = testing::send(&api, "POST", url, &[], &pod).await;
        assert_eq!(
            (code, &asked["spec"]["priority"]),
            (200, &json!(1000)),
            "{asked}"
        );
        let container = &asked["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"], json!({"cpu": "1"}));
        let (code, _) = testing::get(
            &api,
            "/api/v1/namespaces/default/pods/maybe",
            "application/json",
        )
        .await;
        assert_eq!(code, 404);
        let wrong =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}});
        assert_eq!(testing::send(&api, "POST", url, &[], &wrong).await.0, 422);
        let headers = [("impersonate-user", "jane")];
        let (code, refused) = testing::send(&api, "POST", url, &headers, &pod).await;
        let message = "pods \"maybe\" is forbidden: User \"jane\" cannot list resource \"pods\" in API \
                       group \"\" in the namespace \"default\"";
        assert_eq!(code, 403);
        assert_eq!(
            refused["message"],
            message.replace("pods \"maybe\"", "pods"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn kubectl_gets_columns() {
        let api = api().await;
        let accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
        let url = "/apis/stowplan.dev/v1/namespaces/n/decisions/p";
        let (code, table) = testing::get(&api, url, accept).await;
        assert_eq!((code, &table["kind"]), (200, &json!("Table")));
        let cells = json!(["p", "Bound", "", "", ""]);
        assert_eq!(table["rows"][0]["cells"], cells);
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        assert_eq!(columns, Some(5));
        let (_, whole) = testing::get(&api, &format!("{url}/tournament"), accept).await;
        assert_eq!(whole["kind"], "Decision");
    }

    #[tokio::test]
    async fn discovery_lists_them_where_somebody_decides() {
        let groups = |list: &Value| list.to_string().contains(GROUP);
        let nobody = testing::api().await;
        let json = "application/json";
        let (_, list) = testing::get(&nobody, "/apis", json).await;
        assert!(!groups(&list));
        let api = api().await;
        let (_, list) = testing::get(&api, "/apis", json).await;
        assert!(groups(&list));
        let (code, group) = testing::get(&api, "/apis/stowplan.dev", json).await;
        let version = &group["preferredVersion"]["groupVersion"];
        assert_eq!((code, version), (200, &json!("stowplan.dev/v1")));
        let (_, list) = testing::get(&api, "/apis/stowplan.dev/v1", json).await;
        assert_eq!(list["resources"][0]["name"], "decisions");
        let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let (_, list) = testing::get(&api, "/apis", aggregated).await;
        assert!(groups(&list) && list.to_string().contains("\"decisions\""));
    }
}
