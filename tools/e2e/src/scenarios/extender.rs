//! A scheduler that asks somebody else.

use crate::home::Home;
use anyhow::{Result, ensure};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An extender that leaves out one node and likes another one.
pub(crate) async fn asked(home: &mut Home) -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let url = serve(Arc::clone(&calls)).await?;
    let config = home.folder().join("extender.yaml");
    let text = format!(
        "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
extenders:
- urlPrefix: {url}
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 100
  nodeCacheCapable: true
- urlPrefix: http://127.0.0.1:9/nobody
  filterVerb: filter
  ignorable: true
"
    );
    std::fs::write(&config, text)?;
    let argument = format!("--config={}", config.display());
    let _scheduler = home.scheduler("extender", &[&argument])?;
    let world = &home.world;
    for name in ["a", "b", "c"] {
        world.node(name, "8", json!({})).await?;
    }
    world.seen("b").await?;
    for i in 0..3 {
        let name = format!("p{i}");
        world.pod(&name, "1", json!({})).await?;
        world.bound_to(&name, "b").await?;
    }
    let calls = calls.load(Ordering::Relaxed);
    ensure!(calls >= 6, "the extender was asked {calls} times");
    let only = json!({"nodeSelector": {"kubernetes.io/hostname": "a"}});
    world.pod("refused", "1", only).await?;
    world
        .refused("refused", "the extender does not like a")
        .await
}

/// Serves the extender on loopback until the program ends.
async fn serve(calls: Arc<AtomicUsize>) -> Result<String> {
    let count = Arc::clone(&calls);
    let filter = move |Json(arguments): Json<Value>| async move {
        count.fetch_add(1, Ordering::Relaxed);
        let names = names(&arguments);
        let (bad, good): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name == "a");
        let failed: serde_json::Map<_, _> = bad
            .into_iter()
            .map(|name| (name, Value::from("the extender does not like a")))
            .collect();
        Json(json!({"nodenames": good, "failedNodes": failed}))
    };
    let prioritize = move |Json(arguments): Json<Value>| async move {
        calls.fetch_add(1, Ordering::Relaxed);
        let score = |name: &String| i64::from(name == "b") * 10;
        let list = names(&arguments);
        let list = list.iter().map(|n| json!({"host": n, "score": score(n)}));
        Json(Value::Array(list.collect()))
    };
    let router = Router::new()
        .route("/filter", post(filter))
        .route("/prioritize", post(prioritize));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

/// Go's decoder takes names in any case; its encoder writes them like this.
fn names(arguments: &Value) -> Vec<String> {
    let list = arguments["NodeNames"].as_array().into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
