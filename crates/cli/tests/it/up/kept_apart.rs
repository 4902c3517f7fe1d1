//! What pods that really run must not get at: the cluster's secrets, the host, and a life after their own.

use super::block_on;
use super::client::{Client, Folder, Server};
use super::living::until;
use super::processes::{
    self, PODS, create, ended, is_isolated, log, phase, pod, shell, until_processes,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is not in `/tmp`, of which containers have one of their own anyway.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let name = format!("kept-apart-{}", std::process::id());
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&place).expect("a folder");
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn state(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]
}

#[test]
fn pods_see_no_secrets_of_the_cluster_and_reach_nothing_through_links() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args("up --runtime process --allow-root --listen 127.0.0.1:0".split(' '));
    // As people say it, relative to where they are.
    command.args("--data-dir ./data --kubeconfig ./config".split(' '));
    let mut server = Server::spawn(command.current_dir(&place.0));
    server.ready();
    let client = Client::read(&place.0.join("config"));
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        if !is_isolated(api).await {
            return;
        }
        let root = place.0.display();
        let script = format!("cat {root}/config; ls -A {root}/data; ls -A {root}/data/processes");
        create(api, PODS, pod("spy", "Never", shell(&script))).await;
        phase(api, "spy", "Failed").await;
        let said = log(api, "spy", "").await;
        // The folder is empty, and so is the file.
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("ls: cannot access"), "{said}");

        // A link in a volume leads nowhere, and nothing is made behind it.
        let volume = |path: &str| json!([{"name": "v", "mountPath": "/v", "subPath": path}]);
        let mut linked = pod("linked", "Never", shell("true"));
        linked["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        linked["spec"]["containers"][0]["volumeMounts"] = volume("link/made");
        let mut first = linked["spec"]["containers"][0].clone();
        first["name"] = json!("first");
        first["command"] = json!(["sh", "-c", format!("ln -s {root} /v/link; mkdir -p /v/a/b")]);
        first["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
        linked["spec"]["initContainers"] = json!([first.clone()]);
        create(api, PODS, linked.clone()).await;
        let path = format!("{PODS}/linked");
        let said = until(api, &path, |_, said| {
            state(said)["waiting"]["message"].is_string()
        })
        .await;
        let why = "failed to prepare subPath for volumeMount \"v\" of container \"c\"";
        assert_eq!(state(&said)["waiting"]["message"], why);
        assert!(!place.0.join("made").exists());
        // A path within it is mounted, and made if it is missing.
        linked["metadata"]["name"] = json!("within");
        linked["spec"]["containers"][0]["volumeMounts"] = volume("a/b/c");
        linked["spec"]["containers"][0]["command"] = json!(["sh", "-c", "touch /v/x && ls /v"]);
        create(api, PODS, linked).await;
        phase(api, "within", "Succeeded").await;
        assert_eq!(log(api, "within", "").await, "x\n");

        // A message is as long as it may be, and what is behind it is not read.
        let script = "head -c 9000 /dev/zero | tr '\\0' x > /dev/termination-log; exit 1";
        create(api, PODS, pod("chatty", "Never", shell(script))).await;
        let said = phase(api, "chatty", "Failed").await;
        let message = state(&said)["terminated"]["message"].as_str();
        assert_eq!(message.map(str::len), Some(4096));
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

/// A shim that is killed takes all of its container with it, and the container is known to be lost.
#[test]
fn nothing_is_left_of_a_container_whose_shim_is_killed() {
    for isolation in ["auto", "plain"] {
        let folder = Folder::new();
        let mut server =
            Server::spawn(&mut processes::command(&folder.0, "127.0.0.1:0", isolation));
        let client = Client::read(&server.ready());
        block_on(async {
            let mut api = client.connect().await.expect("a connection");
            let api = &mut api;
            let mark = format!("{}", 200_000 + std::process::id());
            let script = format!("sleep {mark} & sleep {mark}");
            create(api, PODS, pod("lost", "Never", shell(&script))).await;
            phase(api, "lost", "Running").await;
            until_processes(&mark, 2).await;
            let shim = find_shim(&folder.0);
            let killed = Command::new("kill").args(["-KILL", &shim]).status();
            assert!(killed.expect("kill runs").success());
            let said = phase(api, "lost", "Failed").await;
            assert_eq!(ended(&said)["reason"], "ContainerStatusUnknown");
            until_processes(&mark, 0).await;
        });
        assert_eq!(server.stop("-TERM").code(), Some(0));
    }
}

/// The shim of the only container that there is.
fn find_shim(folder: &Path) -> String {
    let text = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_it = line.contains("container-shim") && line.contains(&text);
        let pid = entry.file_name().to_str()?.to_owned();
        is_it.then_some(pid)
    });
    pids.next().expect("a shim")
}
