//! `stowplan drain` on a live cluster.

use super::block_on;
use super::client::{Client, Folder, Server};
use super::living::{ask, create, template, until};
use http::Method;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn drain(kubeconfig: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.arg("drain").args(args).arg("--kubeconfig");
    command.arg(kubeconfig).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The names of the pods on a node.
fn on(pods: &Value, node: &str) -> Vec<String> {
    let pods = pods["items"].as_array().expect("a list").iter();
    let there = pods.filter(|pod| pod["spec"]["nodeName"] == node);
    let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or("").to_owned();
    there.map(name).collect()
}

#[test]
fn a_node_is_emptied_within_budgets() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--memory", "--nodes", "2", "--start-after", "10ms"]);
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]);
    let mut server = Server::spawn(command.arg(&folder.0));
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        let namespace = json!({"metadata": {"name": "shop"}});
        create(api, "/api/v1/namespaces", namespace).await;
        let account = "/api/v1/namespaces/shop/serviceaccounts/default";
        until(api, account, |status, _| status == 200).await;
        let labels = json!({"app": "web"});
        let mut pods = template(&labels);
        pods["spec"]["terminationGracePeriodSeconds"] = json!(1);
        let deployment = json!({
            "metadata": {"name": "web"},
            "spec": {"replicas": 4, "selector": {"matchLabels": labels}, "template": pods},
        });
        let deployments = "/apis/apps/v1/namespaces/shop/deployments";
        create(api, deployments, deployment).await;
        let web = format!("{deployments}/web");
        until(api, &web, |_, web| web["status"]["readyReplicas"] == 4).await;
        let budgets = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets";
        let budget = |available: u32| {
            json!({
                "metadata": {"name": "web"},
                "spec": {"minAvailable": available, "selector": {"matchLabels": labels}},
            })
        };
        create(api, budgets, budget(4)).await;
        let path = format!("{budgets}/web");
        until(api, &path, |_, web| web["status"]["currentHealthy"] == 4).await;

        // The budget allows nothing: a dry run says so, and a drain gives up when its time is over.
        let told = drain(&kubeconfig, &["node-1", "--dry-run"]);
        let said = text(&told.stdout);
        assert_eq!(told.status.code(), Some(3), "{told:?}");
        let blocks = "the budget shop/web blocks for ever: minAvailable 4, 4 of 4 healthy";
        assert!(said.contains(blocks), "{said}");
        assert!(said.contains("would never end; 1 budget blocks"), "{said}");
        let told = drain(&kubeconfig, &["node-1", "--timeout", "1s"]);
        assert_eq!(told.status.code(), Some(3), "{told:?}");
        assert!(text(&told.stdout).contains("node/node-1 cordoned\n"));
        let said = text(&told.stderr);
        assert!(
            said.contains("(will retry after 5s): Cannot evict pod"),
            "{said}"
        );
        assert!(said.contains("global timeout reached: 1s"), "{said}");
        // What went wrong is said once more at the end, a line each.
        let errors = said.split("There are pending nodes to be drained:\n node-1\n");
        let errors: Vec<&str> = errors.last().unwrap_or_default().lines().collect();
        let is_late = |line: &&str| line.ends_with(": global timeout reached: 1s");
        assert!(!errors.is_empty() && errors.iter().all(is_late), "{said}");
        let (_, pods) = ask(api, Method::GET, "/api/v1/namespaces/shop/pods", None).await;
        assert!(!on(&pods, "node-1").is_empty());

        // With room in the budget, it goes through. The other node takes what has to go.
        let (_, mut now) = ask(api, Method::GET, &path, None).await;
        now["spec"]["minAvailable"] = json!(2);
        let (status, said) = ask(api, Method::PUT, &path, Some(now)).await;
        assert_eq!(status, 200, "{said}");
        until(api, &path, |_, web| {
            web["status"]["disruptionsAllowed"] == 2
        })
        .await;
        let told = drain(&kubeconfig, &["node-1", "--dry-run", "-o", "json"]);
        assert_eq!(told.status.code(), Some(0), "{told:?}");
        let report: Value = serde_json::from_slice(&told.stdout).expect("JSON");
        for pod in report["pods"].as_array().expect("pods") {
            assert_eq!(
                (&pod["fate"], &pod["to"]),
                (&json!("Moves"), &json!("node-2"))
            );
        }
        let told = drain(&kubeconfig, &["node-1"]);
        let said = text(&told.stdout);
        assert_eq!(told.status.code(), Some(0), "{told:?}");
        assert!(said.starts_with("node/node-1 already cordoned\n"), "{said}");
        assert!(said.ends_with("node/node-1 drained\n"), "{said}");
        assert!(said.contains(" evicted\n"), "{said}");
        let (_, pods) = ask(api, Method::GET, "/api/v1/namespaces/shop/pods", None).await;
        assert!(on(&pods, "node-1").is_empty());
        until(api, &web, |_, web| web["status"]["readyReplicas"] == 4).await;

        // A pod that nobody makes again stays without --force.
        let mut alone = template(&json!({"app": "alone"}));
        alone["metadata"]["name"] = json!("alone");
        alone["spec"]["terminationGracePeriodSeconds"] = json!(0);
        create(api, "/api/v1/namespaces/shop/pods", alone).await;
        let path = "/api/v1/namespaces/shop/pods/alone";
        until(api, path, |_, pod| pod["status"]["phase"] == "Running").await;
        let args = ["node-2", "--pod-selector", "app=alone"];
        let told = drain(&kubeconfig, &args);
        assert_eq!(told.status.code(), Some(3), "{told:?}");
        let said = text(&told.stderr);
        let refused = "cannot delete Pods that declare no controller (use --force to override): \
                       shop/alone";
        assert!(said.contains(refused), "{said}");
        let ends = format!("There are pending nodes to be drained:\n node-2\n{refused}\n");
        assert!(said.ends_with(&ends), "{said}");
        let told = drain(&kubeconfig, &[&args[..], &["--force"]].concat());
        assert_eq!(told.status.code(), Some(0), "{told:?}");
        let said = text(&told.stderr);
        let warned = "Warning: deleting Pods that declare no controller: shop/alone";
        assert!(said.contains(warned), "{said}");
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}
