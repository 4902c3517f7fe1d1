//! The server under attack, in this process and in memory.

use crate::attack::{Request, Sender};
use http_body_util::BodyExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_env::System;
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};
use tokio::runtime::Runtime;

pub(crate) struct Server {
    runtime: Runtime,
    api: Arc<Api>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let users = [
            (Sender::Admin, User::new("admin", &["system:masters"])),
            (Sender::Weak, User::new("weak", &[])),
        ];
        let tokens = users.map(|(sender, user)| (sender.token().to_owned(), user));
        let config = Config {
            env: Arc::new(System::new()),
            store: Store::in_memory(Options::default()),
            tokens: BTreeMap::from(tokens),
            token_key: None,
        };
        let api = runtime.block_on(Api::new(config)).expect("a store");
        api.count_quotas();
        let server = Self { runtime, api };
        server.let_the_weak_in();
        server
    }

    /// Somebody who may write roles and little else.
    fn let_the_weak_in(&self) {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let group = "rbac.authorization.k8s.io";
        let role = json!({"metadata": {"name": "weak"}, "rules": [
            {"apiGroups": [group], "resources": ["roles", "clusterroles"], "verbs": ["create", "get"]},
            {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}]});
        let binding = json!({"metadata": {"name": "weak"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "weak"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "weak"}]});
        let account = json!({"metadata": {"name": "default"}});
        for (url, object) in [
            (format!("{rbac}/clusterroles"), role),
            (format!("{rbac}/clusterrolebindings"), binding),
            (
                "/api/v1/namespaces/default/serviceaccounts".to_owned(),
                account,
            ),
        ] {
            let code = self.send(&Request::post(url.clone(), &object));
            assert_eq!(code, 201, "{url}");
        }
    }

    /// Sends what an attack needs to be there; says whether it was taken.
    pub(crate) fn set_scene(&self, scene: &[Request]) -> bool {
        scene.iter().all(|request| self.send(request) < 300)
    }

    /// The code of the answer, which is read to its end.
    pub(crate) fn send(&self, request: &Request) -> u16 {
        // What HTTP itself refuses never reaches the server.
        let Some(request) = request.to_http() else {
            return 400;
        };
        self.runtime.block_on(async {
            let answer = self.api.call(request).await;
            let code = answer.status().as_u16();
            let _ = answer.into_body().collect().await;
            code
        })
    }
}
