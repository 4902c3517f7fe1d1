//! Why pods of a running cluster are where they are.

use super::block_on;
use super::client::{Client, Connection, Folder, Server};
use http::Method;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn create(connection: &mut Connection, path: &str, body: Value) {
    let answer = connection.ask(Method::POST, path, Some(body)).await;
    let (status, said) = answer.expect("an answer");
    assert_eq!(status.as_u16(), 201, "{said}");
}

/// A node that is ready.
async fn node(connection: &mut Connection, name: &str) {
    let amounts = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
    let status = json!({"capacity": amounts, "allocatable": amounts});
    let node = json!({"metadata": {"name": name}, "status": status});
    create(connection, "/api/v1/nodes", node).await;
    let path = format!("/api/v1/nodes/{name}");
    let answer = connection.ask(Method::GET, &path, None).await;
    let (_, mut node) = answer.expect("an answer");
    node["spec"]["taints"] = Value::Null;
    let answer = connection.ask(Method::PUT, &path, Some(node)).await;
    let (status, said) = answer.expect("an answer");
    assert_eq!(status.as_u16(), 200, "{said}");
}

/// A connection to a cluster in which pods can be made, and placed on the node `one`.
async fn with_one_node(client: &Client) -> Connection {
    let mut api = client.connect().await.expect("a connection");
    let account = json!({"metadata": {"name": "default"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(&mut api, accounts, account).await;
    node(&mut api, "one").await;
    api
}

fn pod(name: &str, cpu: &str) -> Value {
    let resources = json!({"requests": {"cpu": cpu}});
    let containers = json!([{"name": "c", "image": "i", "resources": resources}]);
    json!({"metadata": {"name": name}, "spec": {"containers": containers}})
}

/// Waits until a pod has this condition, or a node.
async fn decided(connection: &mut Connection, name: &str) {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(120), "{name} waits");
        let path = format!("{PODS}/{name}");
        let answer = connection.ask(Method::GET, &path, None).await;
        let (_, pod) = answer.expect("an answer");
        if pod["spec"]["nodeName"].is_string() || pod["status"]["conditions"].is_array() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn explain(kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.arg("explain").args(arguments);
    command.arg("--kubeconfig").arg(kubeconfig);
    command.output().expect("it runs")
}

#[test]
fn a_live_pod_is_explained() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--no-controllers", "--no-nodes", "--memory"]);
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]);
    let mut server = Server::spawn(command.arg(&folder.0));
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = with_one_node(&client).await;
        for (name, cpu) in [("placed", "1500m"), ("waits", "1")] {
            create(&mut api, PODS, pod(name, cpu)).await;
            decided(&mut api, name).await;
        }
    });

    let named = explain(&kubeconfig, &["pod", "default/placed"]);
    assert_eq!(named.status.code(), Some(0), "{named:?}");
    let placed = explain(&kubeconfig, &["pod", "placed", "-n", "default"]);
    let said = String::from_utf8_lossy(&placed.stdout);
    assert_eq!(placed.status.code(), Some(0), "{placed:?}");
    assert!(said.contains("bound to one"), "{said}");
    assert!(said.contains("as it was decided at 20"), "{said}");
    let waits = explain(&kubeconfig, &["default/waits", "-o", "json"]);
    assert_eq!(waits.status.code(), Some(3), "{waits:?}");
    let report: Value = serde_json::from_slice(&waits.stdout).expect("JSON");
    assert_eq!(report["outcome"], "FitsNowhere");
    let help = report["whatWouldHelp"].as_array().expect("a list");
    let free = help.iter().find(|change| change["kind"] == "Free");
    let free = free.expect("more cpu helps");
    assert_eq!(free["change"], "have 500m more cpu free on one");
    let nobody = explain(&kubeconfig, &["nobody"]);
    assert_eq!(nobody.status.code(), Some(1));
    let said = String::from_utf8_lossy(&nobody.stderr);
    assert!(said.contains("knows no pod default/nobody"), "{said}");
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn a_pod_that_does_not_exist_is_decided_about_and_not_made() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--no-controllers", "--no-nodes", "--memory"]);
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]);
    let mut server = Server::spawn(command.arg(&folder.0));
    let client = Client::read(&server.ready());
    block_on(async {
        let mut api = with_one_node(&client).await;
        // The scheduler knows the node when it has placed a pod there.
        create(&mut api, PODS, pod("placed", "1")).await;
        decided(&mut api, "placed").await;
        let url = "/apis/stowplan.dev/v1/namespaces/default/decisions";
        for (cpu, outcome) in [("1", "Fits"), ("5", "FitsNowhere")] {
            let report = loop {
                let answer = api.ask(Method::POST, url, Some(pod("maybe", cpu))).await;
                let (status, report) = answer.expect("an answer");
                match status.as_u16() {
                    200 => break report,
                    429 => tokio::time::sleep(Duration::from_millis(50)).await,
                    _ => panic!("{status} {report}"),
                }
            };
            assert_eq!(report["outcome"], outcome, "{report}");
            assert_eq!(report["pod"]["state"], "Hypothetical");
        }
        let path = format!("{PODS}/maybe");
        let answer = api.ask(Method::GET, &path, None).await;
        assert_eq!(answer.expect("an answer").0.as_u16(), 404);
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn without_our_scheduler_the_tournament_is_played_here() {
    let folder = Folder::new();
    let mut server = Server::spawn(super::up(&folder.0).arg("--memory"));
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = with_one_node(&client).await;
        create(&mut api, PODS, pod("p", "1")).await;
    });
    let told = explain(&kubeconfig, &["pod", "p"]);
    let said = String::from_utf8_lossy(&told.stdout);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    assert!(said.contains("this was played here"), "{said}");
    assert!(said.contains("best is one"), "{said}");

    let config = folder.0.join("config.yaml");
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n";
    std::fs::write(&config, text).expect("a file");
    let config = config.to_str().expect("a path");
    let told = explain(&kubeconfig, &["pod", "p", "--config", config, "-o", "json"]);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    let report: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let note = report["moment"]["note"].as_str().unwrap_or_default();
    assert!(note.contains("by --config"), "{note}");
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(!said.contains("NodeResourcesFit"), "{said}");
    let workload = explain(&kubeconfig, &["deployment/web"]);
    assert_eq!(workload.status.code(), Some(1));
    let said = String::from_utf8_lossy(&workload.stderr);
    assert!(said.contains("no Deployment default/web"), "{said}");
    assert_eq!(server.stop("-TERM").code(), Some(0));
}
