//! `metrics.k8s.io`: what pods and nodes use, as metrics-server tells it.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{self, Convert};
use crate::request::Request;
use crate::{clock, route};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::labels::{self, Selector};
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Status, View};
use stowplan_base::Time;

/// The group.
pub(crate) const GROUP: &str = "metrics.k8s.io";
/// Its version.
pub(crate) const VERSION: &str = "v1beta1";
/// Its resources.
pub(crate) const PLURALS: [&str; 2] = ["nodes", "pods"];

/// What something used of cpu and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// In billionths of a core.
    pub cpu_nanos: u64,
    /// In bytes.
    pub memory_bytes: u64,
}

impl Used {
    fn json(self) -> Value {
        let kib = self.memory_bytes / 1024;
        json!({"cpu": format!("{}n", self.cpu_nanos), "memory": format!("{kib}Ki")})
    }
}

/// What a node or a pod used.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    /// The namespace of a pod; empty for a node.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The labels.
    pub labels: Vec<(String, String)>,
    /// The containers of a pod with what they used; of a node there is one without a name.
    pub containers: Vec<(String, Used)>,
}

/// Knows what pods and nodes use.
pub trait Usage: Send + Sync {
    /// All nodes, or the one of this name.
    fn nodes(&self, name: Option<&str>, now: Time) -> Vec<Sample>;

    /// All pods of a namespace (of all, if it is empty), or the one of this name.
    fn pods(&self, namespace: &str, name: Option<&str>, now: Time) -> Vec<Sample>;
}

/// The span that a sample is about. metrics-server's resolution.
const WINDOW: &str = "15s";

/// Answers a request about metrics.
pub(crate) fn answer(api: &Api, request: &Request) -> Result<Answer, Status> {
    let info = &request.info;
    let (Some(usage), true) = (api.usage(), PLURALS.contains(&info.resource.as_str())) else {
        return Err(route::no_such_path());
    };
    if !info.subresource.is_empty() {
        return Err(route::no_such_path());
    }
    if !matches!(info.verb.as_str(), "get" | "list") {
        return Err(route::no_such_method());
    }
    let is_pods = info.resource == "pods";
    if info.named && is_pods && info.namespace.is_empty() {
        return Err(route::no_such_path());
    }
    let mut output = negotiate::output(request)?;
    let convert = std::mem::take(&mut output.convert);
    let now = api.env().now();
    let name = info.named.then_some(info.name.as_str());
    let mut samples = match is_pods {
        true => usage.pods(&info.namespace, name, now),
        false => usage.nodes(name, now),
    };
    let object = |sample: &Sample| json_of(sample, is_pods, now);
    if let Some(name) = name {
        let resource = GroupResource::new(GROUP, &info.resource);
        let found = samples.first();
        let found = found.ok_or_else(|| Status::not_found(&resource, name))?;
        let body = match convert {
            Convert::Table(version) => table(&[object(found)], is_pods, version),
            _ => object(found),
        };
        return Ok(answer::object(200, &body, output));
    }
    let selector = selector(request)?;
    samples.retain(|sample| {
        let label = |key: &str| {
            let mut labels = sample.labels.iter();
            labels
                .find(|(k, _)| k == key)
                .map(|(_, value)| value.as_str())
        };
        selector.holds(label)
    });
    let items: Vec<Value> = samples.iter().map(object).collect();
    let body = match convert {
        Convert::Table(version) => table(&items, is_pods, version),
        _ => json!({
            "kind": if is_pods { "PodMetricsList" } else { "NodeMetricsList" },
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "metadata": {},
            "items": items,
        }),
    };
    Ok(answer::object(200, &body, output))
}

fn selector(request: &Request) -> Result<Selector, Status> {
    let text = request.query.get("labelSelector").unwrap_or_default();
    labels::parse(text, &Path::new("")).map_err(Status::bad_request)
}

fn json_of(sample: &Sample, is_pod: bool, now: Time) -> Value {
    let time = clock::seconds(now);
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(sample.name));
    if is_pod {
        metadata.insert("namespace".to_owned(), json!(sample.namespace));
    }
    metadata.insert("creationTimestamp".to_owned(), json!(time));
    if !sample.labels.is_empty() {
        let labels = sample.labels.iter().cloned();
        let labels: Map<String, Value> = labels.map(|(k, v)| (k, Value::String(v))).collect();
        metadata.insert("labels".to_owned(), Value::Object(labels));
    }
    let mut object = json!({
        "kind": if is_pod { "PodMetrics" } else { "NodeMetrics" },
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "metadata": metadata,
        "timestamp": time,
        "window": WINDOW,
    });
    let one = |(name, used): &(String, Used)| json!({"name": name, "usage": used.json()});
    match is_pod {
        true => object["containers"] = sample.containers.iter().map(one).collect(),
        false => {
            let used = sample.containers.first().map(|(_, used)| *used);
            object["usage"] = used.unwrap_or_default().json();
        }
    }
    object
}

/// As `kubectl get` prints them.
fn table(objects: &[Value], is_pod: bool, version: &str) -> Value {
    let column = |name: &str, format: &str| json!({"name": name, "type": "string", "format": format, "description": "", "priority": 0});
    let used = |object: &Value, resource: &str| match is_pod {
        true => {
            let amounts = object.list("containers").iter();
            let amounts = amounts.map(|c| c.at("usage").text(resource).to_owned());
            amounts.collect::<Vec<_>>().join(",")
        }
        false => object.at("usage").text(resource).to_owned(),
    };
    let rows = objects.iter().map(|object| {
        let name = object.at("metadata").text("name");
        let cells = json!([name, used(object, "cpu"), used(object, "memory"), WINDOW]);
        json!({"cells": cells, "object": crate::transform::partial(object, version)})
    });
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": {},
        "columnDefinitions":
            [column("Name", "name"), column("cpu", ""), column("memory", ""), column("Window", "")],
        "rows": rows.collect::<Vec<_>>(),
    })
}

const KINDS: [(&str, &str, bool); 2] = [
    ("nodes", "NodeMetrics", false),
    ("pods", "PodMetrics", true),
];

/// What discovery lists below the group.
pub(crate) fn resource_list() -> Value {
    let resources = KINDS.map(|(plural, kind, namespaced)| {
        json!({"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind,
               "verbs": ["get", "list"]})
    });
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": format!("{GROUP}/{VERSION}"),
        "resources": resources,
    })
}

/// What aggregated discovery lists below the group.
pub(crate) fn resource_discovery() -> Value {
    let resources = KINDS.map(|(plural, kind, namespaced)| {
        json!({
            "resource": plural,
            "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": if namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": "",
            "verbs": ["get", "list"],
        })
    });
    json!(resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    struct Fixed;

    impl Usage for Fixed {
        fn nodes(&self, name: Option<&str>, _: Time) -> Vec<Sample> {
            let used = Used {
                cpu_nanos: 250_000_000,
                memory_bytes: 64 << 20,
            };
            let node = |name: &str| Sample {
                name: name.to_owned(),
                labels: vec![("zone".to_owned(), name.to_owned())],
                containers: vec![(String::new(), used)],
                ..Sample::default()
            };
            let all = ["a", "b"].map(node).into_iter();
            all.filter(|sample| name.is_none_or(|name| name == sample.name))
                .collect()
        }

        fn pods(&self, namespace: &str, name: Option<&str>, _: Time) -> Vec<Sample> {
            let is_it = name.is_none_or(|name| name == "p");
            let pod = Sample {
                namespace: "shop".to_owned(),
                name: "p".to_owned(),
                labels: Vec::new(),
                containers: vec![(
                    "c".to_owned(),
                    Used {
                        cpu_nanos: 5,
                        memory_bytes: 2048,
                    },
                )],
            };
            let known = is_it && ["", "shop"].contains(&namespace);
            known.then_some(pod).into_iter().collect()
        }
    }

    #[tokio::test]
    async fn usage_is_told_as_metrics_server_does() {
        let api = testing::api().await;
        let root = "/apis/metrics.k8s.io/v1beta1";
        assert_eq!(
            testing::get(&api, &format!("{root}/nodes"), "").await.0,
            404
        );
        api.use_by(Box::new(Fixed));
        let (code, list) = testing::get(&api, &format!("{root}/nodes"), "").await;
        assert_eq!((code, &list["kind"]), (200, &json!("NodeMetricsList")));
        assert_eq!(
            list["items"][0]["usage"],
            json!({"cpu": "250000000n", "memory": "65536Ki"})
        );
        let (_, list) =
            testing::get(&api, &format!("{root}/nodes?labelSelector=zone%3Db"), "").await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
        let (_, pods) = testing::get(&api, &format!("{root}/namespaces/shop/pods"), "").await;
        assert_eq!(pods["items"][0]["containers"][0]["usage"]["memory"], "2Ki");
        let (code, _) = testing::get(&api, &format!("{root}/namespaces/shop/pods/q"), "").await;
        assert_eq!(code, 404);
        let (_, groups) = testing::get(&api, "/apis", "application/json").await;
        assert!(groups.to_string().contains(GROUP));
        let (_, list) = testing::get(&api, root, "application/json").await;
        assert_eq!(list["resources"][1]["kind"], "PodMetrics");
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
        let (_, table) = testing::get(&api, &format!("{root}/nodes"), table).await;
        assert_eq!(table["rows"][1]["cells"][0], "b");
    }
}
