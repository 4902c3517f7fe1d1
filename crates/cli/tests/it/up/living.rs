//! A cluster that lives: workloads come to be, run, and go.

use super::block_on;
use super::client::{Client, Connection, Folder, Server};
use http::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const NAMESPACE: &str = "/api/v1/namespaces/shop";

pub(super) async fn ask(
    api: &mut Connection,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let answer = api.ask(method, path, body).await;
    let (status, said) = answer.expect("an answer");
    (status.as_u16(), said)
}

pub(super) async fn create(api: &mut Connection, path: &str, body: Value) {
    let (status, said) = ask(api, Method::POST, path, Some(body)).await;
    assert_eq!(status, 201, "{said}");
}

/// Waits until what a path shows is as it should be.
pub(super) async fn until(
    api: &mut Connection,
    path: &str,
    is_so: impl Fn(u16, &Value) -> bool,
) -> Value {
    let start = Instant::now();
    loop {
        let (status, said) = ask(api, Method::GET, path, None).await;
        if is_so(status, &said) {
            return said;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "{path}: {said}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) fn template(labels: &Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{
        "name": "c", "image": "nginx",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }]}})
}

#[test]
fn workloads_come_to_be_and_namespaces_go_with_them() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--memory", "--nodes", "3", "--zones", "a,b,c"]);
    command.args([
        "--start-after",
        "10ms",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    let mut server = Server::spawn(command.arg(&folder.0));
    let client = Client::read(&server.ready());
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        create(
            api,
            "/api/v1/namespaces",
            json!({"metadata": {"name": "shop"}}),
        )
        .await;
        let account = format!("{NAMESPACE}/serviceaccounts/default");
        until(api, &account, |status, _| status == 200).await;

        let labels = json!({"app": "web"});
        let deployments = "/apis/apps/v1/namespaces/shop/deployments";
        let deployment = json!({
            "metadata": {"name": "web"},
            "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template(&labels)},
        });
        create(api, deployments, deployment).await;
        let web = format!("{deployments}/web");
        until(api, &web, |_, web| web["status"]["readyReplicas"] == 3).await;

        let mut job = template(&json!({}));
        job["spec"]["restartPolicy"] = json!("Never");
        let jobs = "/apis/batch/v1/namespaces/shop/jobs";
        let job =
            json!({"metadata": {"name": "import"}, "spec": {"completions": 2, "template": job}});
        create(api, jobs, job).await;
        let import = format!("{jobs}/import");
        let done = until(api, &import, |_, job| job["status"]["succeeded"] == 2).await;
        assert_eq!(done["status"]["failed"], Value::Null);

        let (status, metrics) =
            ask(api, Method::GET, "/apis/metrics.k8s.io/v1beta1/nodes", None).await;
        assert_eq!(
            (status, metrics["items"].as_array().map(Vec::len)),
            (200, Some(3))
        );

        // A rollout replaces every pod.
        let (_, mut now) = ask(api, Method::GET, &web, None).await;
        now["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        let (status, said) = ask(api, Method::PUT, &web, Some(now)).await;
        assert_eq!(status, 200, "{said}");
        until(api, &web, |_, web| {
            let status = &web["status"];
            status["observedGeneration"] == web["metadata"]["generation"]
                && status["updatedReplicas"] == 3
                && status["replicas"] == 3
                && status["readyReplicas"] == 3
        })
        .await;

        let (status, said) = ask(api, Method::DELETE, NAMESPACE, None).await;
        assert_eq!(status, 200, "{said}");
        until(api, NAMESPACE, |status, _| status == 404).await;
        let (_, pods) = ask(api, Method::GET, "/api/v1/pods", None).await;
        assert_eq!(pods["items"].as_array().map(Vec::len), Some(0));
    });
}
