use super::*;
use crate::nodes::Events;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use stowplan_base::Time;
use stowplan_client::{Informers, Recorder, Requests, Unguarded, in_process};
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_nodes::{Config, NodeTemplate, Nodes, Settings};
use stowplan_server::{Api, User};
use stowplan_store::{Options, Store};

/// What a kubelet answers, with a pod of one container on its node.
fn run(test: impl AsyncFnOnce(&Kubelet)) {
    let virtual_env = Virtual::new(Time::from_secs(1_800_000_000), 1);
    let runtime = virtual_runtime(&virtual_env).unwrap();
    let env: Arc<dyn Env> = Arc::new(virtual_env);
    runtime.block_on(async {
        let config = stowplan_server::Config {
            env: env.clone(),
            store: Store::in_memory(Options::default()),
            tokens: Default::default(),
            token_key: None,
        };
        let api = Api::new(config).await.unwrap();
        let client = in_process(api.service(User::new("admin", &["system:masters"])));
        let requests = Requests::new(client.clone(), env.clone(), Arc::new(Unguarded));
        let requests = Arc::new(requests);
        let informers = Informers::new(client, env.clone());
        let (recorder, _events) = Recorder::new(env.clone());
        let settings = Settings {
            config: Config {
                untaint: true,
                ..Config::default()
            },
            nodes: NodeTemplate::default().nodes(),
            env: env.clone(),
            events: Arc::new(Events(recorder)),
            writers: 4,
            runtime: None,
        };
        let nodes = Nodes::new(&informers, settings);
        let kubelet = Kubelet {
            nodes: NodesOfThisProcess {
                nodes: nodes.clone(),
                cluster: informers.cluster().clone(),
            },
            env: env.clone(),
        };
        tokio::select! {
            biased;
            () = nodes.run(&informers, requests.clone()) => panic!("the nodes ended"),
            () = async {
                pod(&requests, &*env).await;
                test(&kubelet).await;
            } => {}
        }
    });
}

async fn pod(requests: &Requests, env: &dyn Env) {
    let node = NodeTemplate::default().nodes()[0].metadata.name.clone();
    for (path, object) in [
        (
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"metadata": {"name": "default"}}),
        ),
        (
            "/api/v1/namespaces/default/pods",
            json!({"metadata": {"name": "p", "annotations": {"stowplan.dev/run-for": "70s"}},
                "spec": {"nodeName": node, "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i"}]}}),
        ),
    ] {
        let made = requests.change::<Value>("POST", path, "application/json", &object);
        made.await.unwrap();
    }
    env.sleep(std::time::Duration::from_secs(5)).await;
}

async fn ask(kubelet: &Kubelet, path: &str) -> (u16, String) {
    let answer = kubelet.answer(&Method::GET, &path.parse().unwrap()).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(bytes.to_vec()).unwrap())
}

#[test]
fn a_kubelet_answers_in_upstreams_words() {
    run(async |kubelet| {
        for (path, code, expected) in [
            ("/healthz", 200, "ok"),
            ("/nowhere", 404, "404 page not found\n"),
            (
                "/containerLogs/default/q/c",
                404,
                "pod \"q\" does not exist",
            ),
            (
                "/containerLogs/default/p/x",
                404,
                "container \"x\" not found in pod \"p\"",
            ),
            (
                "/containerLogs/default/p/c?previous=true",
                400,
                "previous terminated container \"c\" in pod \"p\" not found",
            ),
            (
                "/containerLogs/default/p/c?tailLines=-1",
                422,
                "{\"message\": \"Invalid request.\"}",
            ),
            (
                "/containerLogs/default/p/c?tailLines=x",
                400,
                "{\"message\": \"Unable to decode query.\"}",
            ),
            (
                "/exec/default/p/c?command=sh&output=1",
                500,
                "container c of pod p is simulated: no process runs in it",
            ),
            (
                "/exec/default/p/x?output=1",
                500,
                "container not found (\"x\")",
            ),
            ("/attach/default/q/c", 404, "pod does not exist"),
            ("/containerLogs/default/p/c?limitBytes=9", 200, "c started"),
        ] {
            let answer = ask(kubelet, path).await;
            assert_eq!(answer, (code, expected.to_owned()), "{path}");
        }
    });
}

#[test]
fn logs_are_followed_to_their_end() {
    run(async |kubelet| {
        let (code, text) = ask(kubelet, "/containerLogs/default/p/c?follow=true").await;
        assert_eq!(code, 200);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[3].starts_with("c exited with code 0"), "{text}");
    });
}

#[test]
fn only_this_machine_is_served() {
    assert!(loopback("127.0.0.1").is_ok());
    assert!(loopback("::1").is_ok());
    for wrong in ["0.0.0.0", "192.0.2.1", "localhost"] {
        assert!(loopback(wrong).is_err(), "{wrong}");
    }
}
