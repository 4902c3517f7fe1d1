//! `stowplan up --demo`, as a newcomer has it.

use super::block_on;
use super::client::{Client, Folder, Server};
use super::living::until;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const BOOKMARK: &str = "/api/v1/namespaces/kube-system/configmaps/stowplan-demo";
const HOPELESS: &str = "/api/v1/namespaces/research/pods/pretrain-xl-0";

fn demo(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--demo", "--listen", "127.0.0.1:0"]);
    command.args(flags);
    command
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.env("COLUMNS", "80").args(args);
    command.output().expect("it runs")
}

/// How many scenes of the story were told, once these are so many.
async fn scenes(client: &Client, least: u64) -> u64 {
    let mut api = client.connect().await.expect("a connection");
    let told = |map: &Value| {
        map["data"]["scenes"]
            .as_str()
            .and_then(|text| text.parse().ok())
    };
    let enough = |_, map: &Value| told(map).is_some_and(|scenes: u64| scenes >= least);
    let map = until(&mut api, BOOKMARK, enough).await;
    told(&map).expect("a number")
}

/// When the youngest node was heard of.
async fn heartbeat(client: &Client) -> String {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let (_, list) = client.get(leases).await;
    let leases = list["items"].as_array().expect("a list").iter();
    let times = leases.filter_map(|lease| lease["spec"]["renewTime"].as_str());
    times.max().expect("a lease").to_owned()
}

#[test]
fn what_is_printed_can_be_tried_and_a_second_start_goes_on() {
    let folder = Folder::new();
    let data = folder.0.to_str().expect("UTF-8");
    let start = || Server::spawn(&mut demo(&["--data-dir", data, "--speed", "10"]));
    let mut server = start();
    let kubeconfig = server.ready();
    let client = Client::read(&kubeconfig);
    let mut commands = Vec::new();
    loop {
        let line = server.line();
        if let Some(command) = line.strip_prefix("  stowplan ") {
            commands.push(command.to_owned());
        }
        if line.contains("Ctrl-C") {
            break;
        }
    }
    assert_eq!(commands.len(), 3);
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let is_tried = |_, pod: &Value| {
            let text = pod["status"]["conditions"][0]["message"].as_str();
            text.is_some_and(|text| text.contains("12 Insufficient nvidia.com/gpu"))
        };
        until(&mut api, HOPELESS, is_tried).await;
        let path = "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb";
        let all_run = |_, list: &Value| {
            let pods = list["items"].as_array().expect("a list");
            let runs = |pod: &Value| pod["status"]["phase"] == "Running";
            pods.len() >= 6 && pods.iter().all(runs)
        };
        until(&mut api, path, all_run).await;
        scenes(&client, 3).await;
    });
    for command in &commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let output = run(&words);
        let code = output.status.code();
        // 3: this pod fits nowhere, or some pod would stay pending.
        assert!(matches!(code, Some(0 | 3)), "{command}: {output:?}");
        assert!(!output.stdout.is_empty(), "{command}");
    }
    top_shows_the_cluster(&kubeconfig);
    let (before, told) = block_on(async { (heartbeat(&client).await, scenes(&client, 3).await) });
    assert_eq!(server.stop("-TERM").code(), Some(0));

    let mut server = start();
    let client = Client::read(&server.ready());
    let (after, more) = block_on(async {
        let more = scenes(&client, told + 1).await;
        (heartbeat(&client).await, more)
    });
    assert!(more > told);
    assert!(after > before, "time went back from {before} to {after}");
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

fn top_shows_the_cluster(kubeconfig: &Path) {
    let output = run(&["top", "--kubeconfig", kubeconfig.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for part in [
        "12 nodes",
        "zone a",
        "zone c",
        "node-b-2",
        "gpu-c-1",
        "pretrain-xl-0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_demo_that_is_quiet_keeps_nothing_and_says_nothing() {
    let folder = Folder::new();
    let mut command = demo(&["--quiet", "--speed", "10"]);
    command.env("XDG_DATA_HOME", &folder.0);
    let mut server = Server::spawn(&mut command);
    let kubeconfig = server.ready();
    assert_eq!(kubeconfig, folder.0.join("stowplan/kubeconfig-memory"));
    let client = Client::read(&kubeconfig);
    block_on(scenes(&client, 2));
    assert!(!folder.0.join("stowplan/store.redb").exists());
    assert_eq!(server.stop("-TERM").code(), Some(0));
    let page = server.line();
    assert!(page.starts_with("page: http://127.0.0.1:"), "{page}");
    assert_eq!(server.line(), "");
}

#[test]
fn the_flags_of_the_demo_mean_nothing_elsewhere() {
    for flags in [
        &["up", "--speed", "2"][..],
        &["up", "--seed", "2"],
        &["up", "--demo", "--speed", "1000"],
        &["up", "--demo", "--nodes", "3"],
        &["up", "--demo", "--no-nodes"],
        &["up", "--demo", "--runtime", "process"],
    ] {
        assert_eq!(run(flags).status.code(), Some(2), "{flags:?}");
    }
}
