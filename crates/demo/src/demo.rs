//! Makes the objects of the company, and lets happen what the story says.

use crate::manifests::{Unreadable, scene};
use crate::story::{Act, Scene, Story, Write};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::{Discovery, Failed, Requests, Unguarded};

/// The ConfigMap that says how far the story is.
const NAMESPACE: &str = "kube-system";
const BOOKMARK: &str = "stowplan-demo";

/// The company cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// What is part of the program is broken.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The server does not say what it serves.
    #[error("what the server has cannot be read")]
    Discovery(#[source] Failed),
    /// The server does not serve a kind.
    #[error("the server has no {0}")]
    Unserved(String),
    /// The server does not take an object.
    #[error("{what} cannot be made")]
    Make {
        /// Kind and name.
        what: String,
        /// What it says.
        #[source]
        cause: Failed,
    },
}

/// A company, and the story of it.
pub struct Demo {
    requests: Requests,
    env: Arc<dyn Env>,
    seed: Option<u64>,
}

impl Demo {
    /// Within the cluster of this client. Without a seed a story that began goes on, and the first one is
    /// told where there is none.
    pub fn new(client: kube::Client, env: Arc<dyn Env>, seed: Option<u64>) -> Self {
        let requests = Requests::new(client, env.clone(), Arc::new(Unguarded));
        Self {
            requests: requests.named("stowplan-demo"),
            env,
            seed,
        }
    }

    /// Makes what is not there yet. What is there stays as it is.
    pub async fn set_the_scene(&self) -> Result<(), DemoError> {
        let fetched = Discovery::fetch(&self.requests).await;
        let discovery = fetched.map_err(DemoError::Discovery)?;
        for object in scene()? {
            let path = list_path(&discovery, &object)?;
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            // Admission may refuse to make what is there before it is known to be there.
            let own = format!("{path}/{name}");
            if self.requests.get::<IgnoredAny>(&own).await.is_ok() {
                continue;
            }
            if let Err(cause) = self.make(&path, &object).await {
                let what = format!("{} {name}", object["kind"].as_str().unwrap_or_default());
                return Err(DemoError::Make { what, cause });
            }
        }
        Ok(())
    }

    /// Lets one thing happen after another; does not end. `tell` is told of each before it happens.
    pub async fn play(self, mut tell: impl FnMut(&Scene)) {
        let (seed, done) = self.bookmark().await;
        let mut story = Story::new(seed);
        let mut passed = Duration::ZERO;
        let mut down = None;
        for _ in 0..done {
            let scene = story.next_scene();
            passed = scene.at;
            match scene.act {
                Act::FailNode(node) => down = Some(node),
                Act::RecoverNode(_) => down = None,
                _ => {}
            }
        }
        self.mend_all_but(down).await;
        let begin = self.env.monotonic();
        loop {
            let scene = story.next_scene();
            self.env.sleep_until(begin + (scene.at - passed)).await;
            tell(&scene);
            self.perform(&scene).await;
            self.remember(seed, scene.number).await;
        }
    }

    async fn perform(&self, scene: &Scene) {
        let writes = match scene.act.writes() {
            Ok(writes) => writes,
            Err(error) => {
                tracing::warn!(%error, "the story stops here");
                return;
            }
        };
        for write in &writes {
            if let Err(failed) = self.send(write).await {
                // Somebody may have deleted it.
                tracing::debug!(path = write.path, error = %failed, "the story is not as planned");
            }
        }
    }

    /// A node that an earlier story left dead, and that this one would not bring back.
    async fn mend_all_but(&self, down: Option<&str>) {
        for node in crate::nodes() {
            let name = node.metadata.name.unwrap_or_default();
            if down == Some(&name) {
                continue;
            }
            let write = crate::story::fault(&name, None);
            let Ok(found) = self.requests.get::<Value>(&write.path).await else {
                continue;
            };
            if found["metadata"]["annotations"][stowplan_nodes::FAULT].is_string() {
                let _ = self.send(&write).await;
            }
        }
    }

    /// The seed of the story, and how many scenes of it were told.
    async fn bookmark(&self) -> (u64, u64) {
        let found = self.requests.read::<ConfigMap>(NAMESPACE, BOOKMARK).await;
        let data = found.ok().flatten().and_then(|map| map.data);
        let number = |field: &str| data.as_ref()?.get(field)?.parse::<u64>().ok();
        match (number("seed"), number("scenes"), self.seed) {
            (Some(seed), Some(scenes), None) => (seed, scenes),
            (Some(seed), Some(scenes), Some(wanted)) if seed == wanted => (seed, scenes),
            (_, _, wanted) => (wanted.unwrap_or(1), 0),
        }
    }

    async fn remember(&self, seed: u64, scenes: u64) {
        let data = json!({"seed": seed.to_string(), "scenes": scenes.to_string()});
        let mut map = json!({"data": data});
        let merged = self
            .requests
            .merge::<ConfigMap>(NAMESPACE, BOOKMARK, None, &map);
        if merged.await.is_err() {
            map["metadata"] = json!({"name": BOOKMARK});
            let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
            if let Err(error) = self.make(&path, &map).await {
                tracing::debug!(%error, "how far the story is cannot be written");
            }
        }
    }

    async fn send(&self, write: &Write) -> Result<(), Failed> {
        let Write {
            method,
            path,
            content_type,
            body,
        } = write;
        let sent = self
            .requests
            .change::<Value>(method, path, content_type, body);
        sent.await.map(|_| ())
    }

    /// Makes an object, unless there is one of its name.
    async fn make(&self, path: &str, object: &Value) -> Result<(), Failed> {
        let made = self
            .requests
            .change::<Value>("POST", path, "application/json", object);
        match made.await {
            Err(failed) if failed.code() != Some(409) => Err(failed),
            _ => Ok(()),
        }
    }
}

/// The path of the list that an object belongs to.
fn list_path(discovery: &Discovery, object: &Value) -> Result<String, DemoError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let resource = discovery.resource(&api_version, &kind);
    let resource = resource.ok_or_else(|| DemoError::Unserved(format!("{api_version} {kind}")))?;
    Ok(resource.path(&text(&object["metadata"]["namespace"])))
}
