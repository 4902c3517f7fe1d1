//! Informers, typed writes and discovery against the embedded server, on a virtual clock.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{
    Delta, Discovery, Guard, Informer, Informers, Preconditions, Requests, Unguarded, in_process,
};
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};

const NAMESPACE: &str = "default";

/// A client of a new server.
struct World {
    env: Arc<dyn Env>,
    api: Arc<Api>,
    client: kube::Client,
    requests: Requests,
}

fn run<F: Future>(test: impl FnOnce(World) -> F) -> F::Output {
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
        let requests = Requests::new(client.clone(), env.clone(), Arc::new(Unguarded));
        test(World {
            env,
            api,
            client,
            requests,
        })
        .await
    })
}

fn map(name: &str, value: &str) -> ConfigMap {
    let map = json!({"metadata": {"name": name, "namespace": NAMESPACE}, "data": {"k": value}});
    serde_json::from_value(map).unwrap()
}

fn value(map: &ConfigMap) -> &str {
    &map.data.as_ref().unwrap()["k"]
}

/// What a handler is told.
fn told(informer: &Informer<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    informer.add_handler(move |delta| {
        let name = delta.object().metadata.name.clone().unwrap_or_default();
        let what = match delta {
            Delta::Added(now) => format!("+{name} {}", value(now)),
            Delta::Updated(before, now) => format!("{name} {} {}", value(before), value(now)),
            Delta::Deleted(before) => format!("-{name} {}", value(before)),
        };
        log.lock().unwrap().push(what);
    });
    told
}

#[test]
fn all_who_ask_for_a_kind_share_one_watch() {
    run(async |world| {
        let World { env, requests, .. } = &world;
        requests.create(&map("a", "1")).await.unwrap();
        let informers = Informers::new(world.client.clone(), env.clone());
        let informer = informers.of::<ConfigMap>();
        let first = told(&informer);
        informer.synced().await;
        requests.create(&map("b", "1")).await.unwrap();
        let merge = json!({"data": {"k": "2"}});
        let merged = requests
            .merge::<ConfigMap>(NAMESPACE, "a", None, &merge)
            .await;
        merged.unwrap();
        env.sleep(Duration::from_secs(1)).await;
        let second = told(&informers.of::<ConfigMap>());
        let gone = requests
            .delete::<ConfigMap>(NAMESPACE, "b", &Preconditions::default(), None)
            .await;
        assert!(gone.unwrap());
        // Watches end and begin again; nothing is told twice.
        env.sleep(Duration::from_secs(3_600)).await;
        let ours = |told: &Mutex<Vec<String>>| {
            let told = told.lock().unwrap();
            let ours = told.iter().filter(|what| !what.contains("kube-root-ca"));
            ours.cloned().collect::<Vec<_>>()
        };
        assert_eq!(ours(&first), ["+a 1", "+b 1", "a 1 2", "-b 1"]);
        assert_eq!(ours(&second), ["+a 2", "+b 1", "-b 1"]);
        let store = informer.store();
        assert_eq!(value(&store.get(NAMESPACE, "a").unwrap()), "2");
        assert!(store.get(NAMESPACE, "b").is_none());
        assert!(store.namespace("elsewhere").is_empty());
    });
}

#[test]
fn writes_mean_the_object_that_was_seen() {
    run(async |world| {
        let requests = &world.requests;
        let old = requests.create(&map("a", "1")).await.unwrap();
        let changed = requests
            .update::<ConfigMap>(NAMESPACE, "a", None, |map| {
                map.data = Some([("k".to_owned(), "2".to_owned())].into());
                true
            })
            .await;
        assert_eq!(value(&changed.unwrap().unwrap()), "2");
        let stale = requests.replace(&old, None).await.unwrap_err();
        assert_eq!((stale.code(), stale.is_open()), (Some(409), false));
        let this = Preconditions::uid_of(&old);
        let version = Preconditions {
            resource_version: old.metadata.resource_version.clone(),
            ..this.clone()
        };
        let delete = async |which| {
            requests
                .delete::<ConfigMap>(NAMESPACE, "a", which, None)
                .await
        };
        assert_eq!(delete(&version).await.unwrap_err().code(), Some(409));
        assert!(delete(&this).await.unwrap());
        requests.create(&map("a", "3")).await.unwrap();
        assert_eq!(delete(&this).await.unwrap_err().code(), Some(409));
        let missing = requests.read::<Pod>(NAMESPACE, "p").await;
        assert!(missing.unwrap().is_none());
    });
}

#[test]
fn who_does_not_lead_writes_nothing() {
    struct No;
    impl Guard for No {
        fn may_act(&self) -> bool {
            false
        }
    }
    run(async |world| {
        let requests = Requests::new(world.client.clone(), world.env.clone(), Arc::new(No));
        let failed = requests.create(&map("a", "1")).await.unwrap_err();
        assert!(!failed.is_open() && failed.code().is_none(), "{failed}");
        assert!(
            requests
                .read::<ConfigMap>(NAMESPACE, "a")
                .await
                .unwrap()
                .is_none()
        );
    });
}

#[test]
fn the_server_says_which_resource_a_kind_is() {
    run(async |world| {
        let discovery = Discovery::fetch(&world.requests).await.unwrap();
        let path = |version, kind| {
            let resource = discovery.resource(version, kind)?;
            Some(resource.path("n"))
        };
        assert_eq!(
            path("v1", "Endpoints").as_deref(),
            Some("/api/v1/namespaces/n/endpoints")
        );
        assert_eq!(
            path("networking.k8s.io/v1", "NetworkPolicy").as_deref(),
            Some("/apis/networking.k8s.io/v1/namespaces/n/networkpolicies")
        );
        assert_eq!(path("nothing.dev/v1", "Thing"), None);
        drop(world.api);
    });
}
