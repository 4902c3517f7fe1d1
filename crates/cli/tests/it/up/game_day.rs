//! The game day of `examples/game-day`, live and as its README has it, only faster.

use super::block_on;
use super::client::{Client, Connection, Folder, Server};
use super::living::{ask, create, until};
use http::Method;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn stowplan(kubeconfig: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(args.split_whitespace()).arg("--kubeconfig");
    let command = command.arg(kubeconfig).env("COLUMNS", "100");
    command.output().expect("it runs")
}

/// Creates what a file of the example has; its half minutes take a second.
async fn apply(api: &mut Connection, file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/game-day");
    let text = std::fs::read_to_string(folder.join(file)).expect("a file");
    let text = text.replace("tolerationSeconds: 30", "tolerationSeconds: 1");
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).expect("an object");
        let path = match object["kind"].as_str().expect("a kind") {
            "Namespace" => "/api/v1/namespaces",
            "PriorityClass" => "/apis/scheduling.k8s.io/v1/priorityclasses",
            "PodDisruptionBudget" => "/apis/policy/v1/namespaces/game-day/poddisruptionbudgets",
            _ => "/apis/apps/v1/namespaces/game-day/deployments",
        };
        let is_namespace = object["kind"] == "Namespace";
        create(api, path, object).await;
        if is_namespace {
            let account = "/api/v1/namespaces/game-day/serviceaccounts/default";
            until(api, account, |status, _| status == 200).await;
        }
    }
}

/// Waits until a path answers with a text.
async fn until_text(api: &mut Connection, path: &str, text: &str) {
    let start = std::time::Instant::now();
    loop {
        let said = api.text(path).await.expect("an answer");
        if said.contains(text) {
            return;
        }
        let is_soon = start.elapsed() < std::time::Duration::from_secs(60);
        assert!(is_soon, "{path}: {said}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Changes what is at a path, and does so again if somebody else was quicker.
async fn change(api: &mut Connection, path: &str, field: &str, value: Value) {
    loop {
        let (_, mut object) = ask(api, Method::GET, path, None).await;
        object["spec"][field] = value.clone();
        let (status, said) = ask(api, Method::PUT, path, Some(object)).await;
        if status == 200 {
            return;
        }
        assert_eq!(status, 409, "{said}");
    }
}

/// `kubectl scale deployment`.
async fn scale(api: &mut Connection, name: &str, replicas: u32) {
    let path = format!("/apis/apps/v1/namespaces/game-day/deployments/{name}/scale");
    change(api, &path, "replicas", replicas.into()).await;
}

/// `kubectl cordon` and `kubectl uncordon`, for both nodes of a zone.
async fn cordon(api: &mut Connection, zone: &str, is_closed: bool) {
    for number in 1..=2 {
        let path = format!("/api/v1/nodes/node-{zone}-{number}");
        change(api, &path, "unschedulable", is_closed.into()).await;
    }
}

/// How many replicas are ready and stay, by zone.
fn zones(pods: &Value) -> [usize; 3] {
    let mut zones = [0; 3];
    for pod in pods["items"].as_array().into_iter().flatten() {
        let conditions = pod["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let is_ready = conditions.any(|c| c["type"] == "Ready" && c["status"] == "True");
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if let (true, true, Some(zone)) = (
            is_ready,
            pod["metadata"]["deletionTimestamp"].is_null(),
            node.strip_prefix("node-")
                .and_then(|rest| rest.bytes().next()),
        ) {
            zones[usize::from(zone - b'a')] += 1;
        }
    }
    zones
}

const PODS: &str = "/api/v1/namespaces/game-day/pods?labelSelector=app%3Dquorum";
const BATCH: &str = "/apis/apps/v1/namespaces/game-day/deployments/batch";

fn up(folder: &Folder) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args("up --memory --nodes 6 --zones a,b,c --cpu 4".split(' '));
    command.args(["--start-after", "10ms", "--listen", "127.0.0.1:0"]);
    // Leases are renewed every ten seconds.
    command.args(["--node-monitor-period", "500ms"]);
    command.args(["--node-monitor-grace-period", "15s"]);
    command.args(["--node-eviction-rate", "100", "--data-dir"]);
    Server::spawn(command.arg(&folder.0))
}

/// Why a displaced replica stays pending.
const WHY: [&str; 3] = [
    "SPREAD over topology.kubernetes.io/zone: maxSkew 1, minDomains 3, DoNotSchedule",
    "but it counts: nodeTaintsPolicy is Ignore",
    "the minimum is 0, that of b; without b only 2 domains would count, and minDomains 3",
];

/// What is said of a pod that fits nowhere, wherever the lines of it end.
async fn explained(api: &mut Connection, kubeconfig: &Path, name: &str) -> String {
    let path = format!("/api/v1/namespaces/game-day/pods/{name}");
    until(api, &path, |_, pod| {
        pod["status"]["conditions"][0]["reason"] == "Unschedulable"
    })
    .await;
    let told = stowplan(kubeconfig, &format!("explain pod {name} -n game-day"));
    assert_eq!(told.status.code(), Some(3), "{told:?}");
    let said = String::from_utf8_lossy(&told.stdout);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_published_plan_leaves_two_replicas_pending_and_says_why() {
    let folder = Folder::new();
    let mut server = up(&folder);
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        apply(api, "base.yaml").await;
        apply(api, "a-published.yaml").await;
        let pods = until(api, PODS, |_, pods| zones(pods) == [2, 2, 2]).await;
        until(api, BATCH, |_, batch| {
            batch["status"]["readyReplicas"] == 18
        })
        .await;
        let failed = stowplan(&kubeconfig, "node fail --zone b");
        assert!(failed.status.success(), "{failed:?}");
        // Nobody answers there any more.
        let mut items = pods["items"].as_array().expect("a list").iter();
        let lost = items.find(|pod| pod["spec"]["nodeName"] == "node-b-1");
        let lost = &lost.expect("a pod in zone b")["metadata"]["name"];
        let lost = lost.as_str().expect("a name");
        let path = format!("/api/v1/namespaces/game-day/pods/{lost}/log");
        until_text(api, &path, "node-b-1").await;
        let is_pending = |pod: &&Value| pod["status"]["phase"] == "Pending";
        let has_two = |pods: &Value| {
            let items = pods["items"].as_array();
            items.is_some_and(|items| items.iter().filter(is_pending).count() == 2)
        };
        let pods = until(api, PODS, |_, pods| {
            zones(pods) == [2, 0, 2] && has_two(pods)
        })
        .await;
        let mut told = Vec::new();
        let items = pods["items"].as_array().expect("a list").iter();
        for pending in items.filter(is_pending) {
            let name = pending["metadata"]["name"].as_str().expect("a name");
            told.push(explained(api, &kubeconfig, name).await);
        }
        // The first of them may have been tried when only one node of the zone was known to be dead.
        let is_told = |said: &String| WHY.iter().all(|why| said.contains(why));
        assert!(told.iter().any(is_told), "{told:?}");
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn a_plan_that_honours_taints_comes_back_and_has_drifted() {
    let folder = Folder::new();
    let mut server = up(&folder);
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        apply(api, "base.yaml").await;
        apply(api, "b-honor.yaml").await;
        until(api, PODS, |_, pods| zones(pods) == [2, 2, 2]).await;
        until(api, BATCH, |_, batch| {
            batch["status"]["readyReplicas"] == 18
        })
        .await;
        let failed = stowplan(&kubeconfig, "node fail --zone b");
        assert!(failed.status.success(), "{failed:?}");
        until(api, PODS, |_, pods| zones(pods) == [3, 0, 3]).await;
        until(api, BATCH, |_, batch| {
            batch["status"]["readyReplicas"] == 10
        })
        .await;
        let recovered = stowplan(&kubeconfig, "node recover --zone b");
        assert!(recovered.status.success(), "{recovered:?}");
        until(api, BATCH, |_, batch| {
            batch["status"]["readyReplicas"] == 18
        })
        .await;
        let told = stowplan(&kubeconfig, "explain deployment/quorum -n game-day");
        let said = String::from_utf8_lossy(&told.stdout);
        assert!(said.contains("the pods have drifted apart by 3"), "{said}");
        let (_, pods) = client.get(PODS).await;
        assert_eq!(zones(&pods), [3, 0, 3]);
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn a_soft_plan_that_had_drifted_loses_its_quorum_with_one_zone() {
    let folder = Folder::new();
    let mut server = up(&folder);
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        apply(api, "base.yaml").await;
        scale(api, "batch", 0).await;
        until(api, BATCH, |_, batch| batch["status"]["replicas"].is_null()).await;
        cordon(api, "b", true).await;
        apply(api, "c-before.yaml").await;
        let backlog = "/apis/apps/v1/namespaces/game-day/deployments/backlog";
        until(api, backlog, |_, one| one["status"]["readyReplicas"] == 7).await;
        apply(api, "c-soft.yaml").await;
        until(api, PODS, |_, pods| zones(pods) == [5, 0, 1]).await;
        cordon(api, "b", false).await;
        scale(api, "backlog", 0).await;
        scale(api, "batch", 18).await;
        until(api, BATCH, |_, batch| {
            batch["status"]["readyReplicas"] == 18
        })
        .await;
        // All is well again, and nobody moved a pod.
        let (_, pods) = client.get(PODS).await;
        assert_eq!(zones(&pods), [5, 0, 1]);
        let told = stowplan(&kubeconfig, "explain deployment/quorum -n game-day");
        let said = String::from_utf8_lossy(&told.stdout);
        assert!(said.contains("the pods have drifted apart by 5"), "{said}");

        // One zone of three dies, and five of six replicas do. The cluster is that of KUBECONFIG.
        let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
        command.args("node fail --zone a".split(' '));
        let failed = command.env("KUBECONFIG", &kubeconfig).output();
        let failed = failed.expect("it runs");
        assert_eq!(
            String::from_utf8_lossy(&failed.stdout),
            "node/node-a-1 failed\nnode/node-a-2 failed\n",
            "{failed:?}"
        );
        let budget = "/apis/policy/v1/namespaces/game-day/poddisruptionbudgets/quorum";
        until(api, budget, |_, budget| {
            budget["status"]["currentHealthy"] == 1 && budget["status"]["disruptionsAllowed"] == 0
        })
        .await;
        // They come back when the nodes are given up.
        until(api, PODS, |_, pods| {
            let [a, b, c] = zones(pods);
            (a, b + c) == (0, 6)
        })
        .await;
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}
