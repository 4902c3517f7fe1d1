//! `stowplan up` as its users have it: a process, a kubeconfig, signals.

mod client;
mod damage;
mod decisions;
mod demo;
mod drain;
mod game_day;
mod kept_apart;
mod kill;
mod living;
mod processes;

use client::{Client, Folder, Server, up, up_on};
use http::Method;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name}, "data": {"value": value},
    })
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create(client: &Client, name: &str, value: &str) -> u16 {
    let mut connection = client.connect().await.expect("a connection");
    let body = Some(config_map(name, value));
    let answer = connection.ask(Method::POST, CONFIG_MAPS, body).await;
    answer.expect("an answer").0.as_u16()
}

fn mode(path: &Path) -> u32 {
    let file = std::fs::metadata(path).expect("a file");
    file.permissions().mode() & 0o777
}

#[test]
fn what_was_written_is_there_after_a_restart_and_the_client_need_not_change() {
    let folder = Folder::new();
    let mut server = Server::spawn(&mut up(&folder.0));
    let kubeconfig = server.ready();
    assert_eq!(kubeconfig, folder.0.join("kubeconfig"));
    assert_eq!(mode(&kubeconfig), 0o600);
    let client = Client::read(&kubeconfig);
    block_on(async {
        assert_eq!(client.get("/version").await.1["major"], "1");
        assert_eq!(create(&client, "kept", "1").await, 201);
        let stranger = client.with_token("guessed");
        assert_eq!(stranger.get(CONFIG_MAPS).await.0.as_u16(), 401);
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));

    // The same port, so that the same kubeconfig would do.
    let listen = client.address.to_string();
    let mut server = Server::spawn(&mut up_on(&listen, &folder.0));
    server.ready();
    block_on(async {
        let (status, object) = client.get(&format!("{CONFIG_MAPS}/kept")).await;
        assert_eq!(status.as_u16(), 200);
        assert_eq!(object["data"]["value"], "1");
    });
    assert_eq!(server.stop("-INT").code(), Some(0));
}

#[test]
fn a_second_process_on_the_same_folder_is_refused() {
    let folder = Folder::new();
    let mut server = Server::spawn(&mut up(&folder.0));
    let kubeconfig = server.ready();
    let before = std::fs::read(&kubeconfig).expect("the kubeconfig");
    let second = up(&folder.0).output().expect("it runs");
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    let file = folder.0.join("store.redb");
    assert!(said.contains(&*file.to_string_lossy()), "{said}");
    assert!(said.contains("another process"), "{said}");
    assert_eq!(std::fs::read(&kubeconfig).expect("still there"), before);
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn in_memory_nothing_is_kept_but_the_kubeconfig() {
    let folder = Folder::new();
    let kubeconfig = folder.0.join("deep/er/config");
    let mut command = up(&folder.0.join("data"));
    command.arg("--memory").arg("--kubeconfig").arg(&kubeconfig);
    let mut server = Server::spawn(&mut command);
    assert_eq!(server.ready(), kubeconfig);
    assert_eq!(mode(&kubeconfig), 0o600);
    let client = Client::read(&kubeconfig);
    assert_eq!(block_on(create(&client, "gone", "1")), 201);
    assert!(!folder.0.join("data/store.redb").exists());
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

#[test]
fn a_watch_does_not_keep_the_process_from_stopping() {
    let folder = Folder::new();
    let mut server = Server::spawn(&mut up(&folder.0));
    let client = Client::read(&server.ready());
    block_on(async {
        let connection = client.connect().await.expect("a connection");
        let path = format!("{CONFIG_MAPS}?watch=true");
        let mut watch = connection.watch(&path).await.expect("a watch");
        assert_eq!(create(&client, "seen", "1").await, 201);
        let event = watch.next().await.expect("an event");
        assert_eq!(event["object"]["metadata"]["name"], "seen");
        assert_eq!(server.stop("-TERM").code(), Some(0));
        // What is said at the end does not matter, but it ends.
        while watch.next().await.is_some() {}
    });
}

#[test]
fn a_living_cluster_stops_without_complaints() {
    let folder = Folder::new();
    let said = folder.0.join("said");
    let file = std::fs::File::create(&said).expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--nodes", "3", "--listen", "127.0.0.1:0"]);
    command.arg("--data-dir").arg(&folder.0).stderr(file);
    let mut server = Server::spawn(&mut command);
    let client = Client::read(&server.ready());
    block_on(async {
        while client.get("/api/v1/nodes").await.1["items"][2].is_null() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
    let said = std::fs::read_to_string(said).expect("text");
    assert!(
        !said.contains("WARN") && !said.contains("panicked"),
        "{said}"
    );
}

#[test]
fn a_port_that_is_taken_is_an_error_with_advice() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let run = up_on(&address, &folder.0).output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("--listen 127.0.0.1:0"), "{said}");
}

#[test]
fn a_start_that_fails_leaves_the_kubeconfig_alone() {
    let folder = Folder::new();
    let kubeconfig = folder.0.join("kubeconfig");
    std::fs::write(&kubeconfig, "another server's").expect("written");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args(["up", "--memory", "--listen", "127.0.0.1:0", "--data-dir"]);
    command
        .arg(&folder.0)
        .args(["--scheduler-config", "nowhere"]);
    let run = command.output().expect("it runs");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let kept = std::fs::read_to_string(&kubeconfig).expect("the file");
    assert_eq!(kept, "another server's");
}
