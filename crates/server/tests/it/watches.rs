//! Watches that nobody reads, and watches when the server stops.

use crate::client::{Client, events, pod};
use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Duration;
use stowplan_store::{Options, Retention, Store};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_watch_that_is_not_read_holds_no_writer_up_and_is_told_what_it_missed() {
    let retention = Retention {
        revisions: 10,
        ..Retention::default()
    };
    let client = Client::over(Store::in_memory(Options {
        retention,
        ..Options::default()
    }));
    let client = client.await;
    let lazy = client.watch(&format!("{MAPS}?watch=1")).await;
    for i in 0..600 {
        let map = json!({"metadata": {"name": format!("m{i}")}});
        client.create(MAPS, map).await;
    }
    let seen = events(lazy).await;
    let [error] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 410);
    assert_eq!(error["object"]["reason"], "Expired");
}

#[tokio::test]
async fn watches_end_after_what_has_happened_when_the_server_stops() {
    let client = Client::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let watch = client.watch(&format!("{pods}?watch=1")).await;
    client.create(pods, pod("p")).await;
    client.api().end_watches();
    // One that begins later still tells what is there.
    let later = client.watch(&format!("{pods}?watch=1")).await;
    for watch in [watch, later] {
        let seen = events(watch).await;
        let kinds: Vec<_> = seen.iter().map(|event| &event["type"]).collect();
        assert_eq!(kinds, ["ADDED"]);
    }
}

/// Something of 40 KiB.
fn large(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"x": "x".repeat(40 << 10)}})
}

/// The next bytes of a watch, as one piece.
async fn piece(watch: &mut Body) -> Option<usize> {
    let frame = watch.frame().await?.expect("no error");
    Some(frame.into_data().expect("data").len())
}

#[tokio::test]
async fn a_watch_takes_up_little_room_however_much_there_is_to_tell() {
    let client = Client::new().await;
    let initial = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let mut later = client.watch(&format!("{MAPS}?watch=1")).await;
    for i in 0..30 {
        client.create(MAPS, large(&format!("m{i}"))).await;
    }
    let mut initial = client.watch(&initial).await;
    client.api().end_watches();
    for watch in [&mut initial, &mut later] {
        let first = piece(watch).await.expect("bytes");
        assert!((40 << 10..128 << 10).contains(&first), "{first}");
    }
}

#[tokio::test]
async fn all_of_a_large_state_is_told_piece_by_piece() {
    let client = Client::new().await;
    for i in 0..30 {
        client.create(MAPS, large(&format!("m{i:02}"))).await;
    }
    let watch = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let mut watch = client.watch(&watch).await;
    let mut text = Vec::new();
    while text.iter().filter(|byte| **byte == b'\n').count() < 31 {
        let frame = watch.frame().await.expect("more").expect("no error");
        let data = frame.into_data().expect("data");
        assert!(data.len() < 128 << 10, "{}", data.len());
        text.extend_from_slice(&data);
    }
    let text = String::from_utf8(text).expect("text");
    let events: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    for (i, event) in events.iter().take(30).enumerate() {
        assert_eq!(event["object"]["metadata"]["name"], format!("m{i:02}"));
    }
    let end = &events[30]["object"]["metadata"]["annotations"];
    assert_eq!(end["k8s.io/initial-events-end"], "true");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_read_slowly_ends_in_time() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&timeoutSeconds=10"))
        .await;
    for i in 0..30 {
        client.create(MAPS, large(&format!("m{i}"))).await;
    }
    piece(&mut watch).await.expect("bytes");
    tokio::time::sleep(Duration::from_secs(11)).await;
    // What is on its way arrives.
    piece(&mut watch).await.expect("bytes");
    assert_eq!(piece(&mut watch).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_busy_watch_has_its_bookmarks() {
    let client = Client::new().await;
    let watch =
        format!("{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=1");
    let mut watch = client.watch(&watch).await;
    for i in 0..30 {
        client.create(MAPS, large(&format!("m{i}"))).await;
    }
    piece(&mut watch).await.expect("bytes");
    tokio::time::sleep(Duration::from_secs(61)).await;
    client.create(MAPS, large("last")).await;
    let frame = watch.frame().await.expect("more").expect("no error");
    let data = frame.into_data().expect("data");
    assert!(data.windows(8).any(|word| word == b"BOOKMARK"));
}

#[tokio::test]
async fn the_old_paths_of_watches_tell_what_is_there() {
    let client = Client::new().await;
    for name in ["a", "b"] {
        client
            .create(MAPS, json!({"metadata": {"name": name}}))
            .await;
    }
    client.api().end_watches();
    let tell = async |path: &str| {
        let seen = events(client.watch(path).await).await;
        let line = |e: &Value| {
            let name = e["object"]["metadata"]["name"].as_str().unwrap_or_default();
            format!("{} {name}", e["type"].as_str().unwrap_or_default())
        };
        seen.iter().map(line).collect::<Vec<_>>()
    };
    for query in ["", "?resourceVersion=0", "?allowWatchBookmarks=true"] {
        let all = tell(&format!(
            "/api/v1/watch/namespaces/default/configmaps{query}"
        ))
        .await;
        assert_eq!(all, ["ADDED a", "ADDED b"], "{query}");
    }
    assert_eq!(
        tell("/api/v1/watch/configmaps").await,
        ["ADDED a", "ADDED b"]
    );
    let one = "/api/v1/watch/namespaces/default/configmaps/a";
    assert_eq!(tell(one).await, ["ADDED a"]);
    assert_eq!(tell(&format!("{one}?resourceVersion=1")).await, ["ADDED a"]);
}

#[tokio::test]
async fn a_watch_of_custom_resources_ends_with_their_definition() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const OBJECTS: &str = "/apis/end.io/v1/namespaces/default/es";
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let names = json!({"plural": "es", "kind": "E"});
    let spec =
        json!({"group": "end.io", "scope": "Namespaced", "names": names, "versions": [version]});
    let definition = json!({"metadata": {"name": "es.end.io"}, "spec": spec});
    let client = Client::new().await;
    client.create(DEFINITIONS, definition).await;
    let object = json!({"apiVersion": "end.io/v1", "kind": "E", "metadata": {"name": "a"}});
    client.create(OBJECTS, object).await;
    let watch = client.watch(&format!("{OBJECTS}?watch=1")).await;
    let watch = tokio::spawn(events(watch));
    tokio::task::yield_now().await;
    client.delete(&format!("{DEFINITIONS}/es.end.io")).await;
    let seen = tokio::time::timeout(Duration::from_secs(10), watch).await;
    let seen = seen.expect("it ends").expect("no panic");
    let kinds: Vec<_> = seen.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["ADDED", "DELETED"]);
}
