//! Against the embedded API server, in process.

mod deploy;
mod reviews;
mod scheduler_server;

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_env::System;
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};

/// A server that knows the tokens `admin` and `jane`.
async fn server() -> Arc<Api> {
    let users = [
        ("admin", User::new("admin", &["system:masters"])),
        ("jane", User::new("jane", &["devs"])),
    ];
    let tokens = users.map(|(token, user)| (token.to_owned(), user));
    Api::new(Config {
        env: Arc::new(System::new()),
        store: Store::in_memory(Options::default()),
        tokens: BTreeMap::from(tokens),
        token_key: None,
    })
    .await
    .unwrap()
}

fn client(api: &Arc<Api>, user: &str, groups: &[&str]) -> kube::Client {
    stowplan_client::in_process(api.service(User::new(user, groups)))
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn env() -> Arc<dyn stowplan_env::Env> {
    Arc::new(System::new())
}
