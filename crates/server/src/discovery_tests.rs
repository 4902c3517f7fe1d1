//! Discovery against what a real kube-apiserver v1.36.4 answers for the kinds that are served.

use super::*;
use crate::testing;

/// Streams into pods and nodes, which nobody serves.
const STREAMS: [&str; 5] = [
    "attach",
    "exec",
    "portforward",
    "proxy",
    "ephemeralcontainers",
];

fn facts() -> Value {
    let text = include_str!("../tests/facts/discovery.json");
    serde_json::from_str(text).expect("the facts are JSON")
}

/// Without what is not served, and without hashes.
fn comparable(resources: &Value, name: &str) -> Vec<Value> {
    let resources = resources.as_array().into_iter().flatten();
    let streams = |value: &Value| {
        let name = value[name].as_str().unwrap_or_default();
        STREAMS
            .iter()
            .any(|stream| name.split('/').nth(1) == Some(stream))
    };
    let mut kept: Vec<Value> = resources.filter(|r| !streams(r)).cloned().collect();
    for resource in &mut kept {
        resource.unset("storageVersionHash");
        if let Some(Value::Array(below)) = resource.get_mut("subresources") {
            below.retain(|sub| !STREAMS.iter().any(|stream| sub["subresource"] == *stream));
        }
        if resource["subresources"]
            .as_array()
            .is_some_and(Vec::is_empty)
        {
            resource.unset("subresources");
        }
    }
    kept
}

#[tokio::test]
async fn every_served_resource_is_listed_as_upstream_lists_it() {
    let api = testing::api().await;
    for (path, expected) in facts()["legacy"].as_object().expect("paths") {
        let (code, body) = testing::get(&api, path, "application/json").await;
        assert_eq!(code, 200, "{path}");
        let (got, want) = (&body["resources"], &expected["resources"]);
        assert_eq!(comparable(got, "name"), comparable(want, "name"), "{path}");
        assert_eq!(body["groupVersion"], expected["groupVersion"], "{path}");
    }
}

#[tokio::test]
async fn the_aggregated_form_says_the_same() {
    let api = testing::api().await;
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    for (path, expected) in facts()["aggregated"].as_object().expect("paths") {
        let (code, body) = testing::get(&api, path, accept).await;
        assert_eq!((code, &body["apiVersion"]), (200, &expected["apiVersion"]));
        let items = |list: &Value| -> Vec<Value> {
            let items = list["items"].as_array().into_iter().flatten();
            items
                .map(|item| {
                    let versions = item["versions"].as_array().into_iter().flatten();
                    let version = |v: &Value| {
                        let resources = comparable(&v["resources"], "resource");
                        json!([v["version"], resources])
                    };
                    json!([item["metadata"], versions.map(version).collect::<Vec<_>>()])
                })
                .collect()
        };
        assert_eq!(items(&body), items(expected), "{path}");
    }
}

#[tokio::test]
async fn hashes_tell_in_which_version_objects_are_kept() {
    let api = testing::api().await;
    for (path, plural, expected) in [
        ("/api/v1", "events", "r2yiGXH7wu8="),
        ("/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="),
        (
            "/apis/autoscaling/v1",
            "horizontalpodautoscalers",
            "qwQve8ut294=",
        ),
        (
            "/apis/autoscaling/v2",
            "horizontalpodautoscalers",
            "qwQve8ut294=",
        ),
    ] {
        let (_, body) = testing::get(&api, path, "application/json").await;
        let mut resources = body["resources"].as_array().into_iter().flatten();
        let found = resources.find(|r| r["name"] == plural).expect("is served");
        assert_eq!(found["storageVersionHash"], expected, "{path}");
    }
}
