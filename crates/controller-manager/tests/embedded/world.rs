//! An embedded server on a virtual clock.

use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{EventRecorder, Informers, Requests, Unguarded, in_process};
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};

/// A server and its client.
pub(crate) struct World {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) client: kube::Client,
    pub(crate) requests: Arc<Requests>,
    pub(crate) informers: Arc<Informers>,
    pub(crate) recorder: Arc<EventRecorder>,
    pub(crate) api: Arc<Api>,
}

/// Runs a test against a new server.
pub(crate) fn run<F: Future>(test: impl FnOnce(World) -> F) -> F::Output {
    let env = Virtual::new(Time::from_secs(1_800_000_000), 1);
    let runtime = virtual_runtime(&env).unwrap();
    let env: Arc<dyn Env> = Arc::new(env);
    runtime.block_on(async {
        let config = Config {
            env: env.clone(),
            store: Store::in_memory(Options::default()),
            tokens: Default::default(),
            token_key: None,
        };
        let api = Api::new(config).await.unwrap();
        let client = in_process(api.service(User::new("admin", &["system:masters"])));
        let requests = Arc::new(Requests::new(
            client.clone(),
            env.clone(),
            Arc::new(Unguarded),
        ));
        let (recorder, writes) = EventRecorder::new(env.clone(), "here");
        tokio::spawn(writes.carry_out(requests.clone(), recorder.clone()));
        let informers = Arc::new(Informers::new(client.clone(), env.clone()));
        test(World {
            env,
            client,
            requests,
            informers,
            recorder,
            api,
        })
        .await
    })
}

impl World {
    /// Starts the garbage collector.
    pub(crate) async fn collect_garbage(&self) {
        let collector = stowplan_controller_manager::garbage_collector::run(
            self.client.clone(),
            self.requests.clone(),
            self.env.clone(),
            self.recorder.clone(),
            self.informers.clone(),
        );
        tokio::spawn(collector);
        self.pass(1).await;
    }

    /// Lets seconds pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.env.sleep(Duration::from_secs(seconds)).await;
    }

    /// Creates an object; its path is the one of its list.
    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        let created = self.send("POST", path, &object).await;
        created.unwrap_or_else(|failed| panic!("{path}: {failed}"))
    }

    /// Sends a request.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let answer = self.requests.change(method, path, content_type, body).await;
        answer.map_err(|failed| failed.message())
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, path: &str, policy: &str) {
        let options = json!({"propagationPolicy": policy});
        let answer = self.send("DELETE", path, &options).await;
        answer.unwrap_or_else(|failed| panic!("{path}: {failed}"));
    }

    /// An object, if it is there.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        match self.requests.get(path).await {
            Ok(object) => Some(object),
            Err(failed) if failed.code() == Some(404) => None,
            Err(failed) => panic!("{path}: {failed}"),
        }
    }

    /// The names of all objects of a list.
    pub(crate) async fn names(&self, path: &str) -> Vec<String> {
        let list = self.get(path).await.unwrap_or_default();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |item: Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        items.into_iter().map(name).collect()
    }
}

/// A reference to an owner that was answered by the server.
pub(crate) fn owner(object: &Value, block: bool) -> Value {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
        "blockOwnerDeletion": block})
}
