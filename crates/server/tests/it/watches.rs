//! Watches that nobody reads, and watches when the server stops.

use crate::client::{Client, events, pod};
use serde_json::json;
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
