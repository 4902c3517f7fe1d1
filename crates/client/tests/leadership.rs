//! One Lease, several candidates.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use std::sync::Arc;
use stowplan_base::Duration;
use stowplan_client::election::{Candidate, End, Leadership, LeaseName, Timings};
use stowplan_env::System;
use stowplan_server::{Config, User};
use stowplan_store::{Options, Store};
use tokio::sync::{mpsc, oneshot};

fn leadership(host: &str) -> Arc<Leadership> {
    let lease = LeaseName {
        namespace: "kube-system".to_owned(),
        name: "kube-scheduler".to_owned(),
    };
    // Short enough not to wait for, long enough for a busy machine.
    let timings = Timings {
        lease_duration: Duration::from_secs(60),
        renew_deadline: Duration::from_secs(40),
        retry_period: Duration::from_millis(20),
    };
    let candidate = Candidate {
        lease,
        election: "kube-scheduler",
        host: host.to_owned(),
        component: "default-scheduler".to_owned(),
        timings: timings.validated().unwrap(),
        address: None,
    };
    Arc::new(Leadership::new(candidate, Arc::new(System::new())))
}

async fn server() -> Arc<stowplan_server::Api> {
    let config = Config {
        env: Arc::new(System::new()),
        store: Store::in_memory(Options::default()),
        tokens: Default::default(),
        token_key: None,
    };
    stowplan_server::Api::new(config).await.unwrap()
}

fn client(api: &Arc<stowplan_server::Api>, user: &str, groups: &[&str]) -> kube::Client {
    stowplan_client::in_process(api.service(User::new(user, groups)))
}

#[tokio::test]
async fn the_next_one_leads_when_the_first_stops() {
    let api = server().await;
    let scheduler = client(&api, "system:kube-scheduler", &["system:authenticated"]);
    let (events, mut happened) = mpsc::unbounded_channel();
    let start = |host: &'static str| {
        let leadership = leadership(host);
        let (stop, stopped) = oneshot::channel::<()>();
        let (events, client) = (events.clone(), scheduler.clone());
        let task = tokio::spawn({
            let leadership = leadership.clone();
            async move {
                let stopped = async move {
                    let _ = stopped.await;
                };
                let changed = |leads| events.send((host, leads)).unwrap();
                leadership.hold(client, stopped, changed).await
            }
        });
        (leadership, stop, task)
    };
    let (first, stop_first, first_task) = start("first");
    assert_eq!(happened.recv().await, Some(("first", true)));
    assert!(first.may_act() && first.is_leading() && first.check().is_ok());
    let (second, stop_second, second_task) = start("second");
    assert!(!second.may_act());
    stop_first.send(()).unwrap();
    assert_eq!(first_task.await.unwrap(), End::Stopped);
    assert!(!first.may_act());
    assert_eq!(happened.recv().await, Some(("first", false)));
    assert_eq!(happened.recv().await, Some(("second", true)));
    assert!(second.may_act());

    let admin = client(&api, "admin", &["system:masters"]);
    let events: Api<Event> = Api::namespaced(admin, "kube-system");
    let events = events.list(&Default::default()).await.unwrap().items;
    let of_first: Vec<_> = events
        .iter()
        .filter_map(|event| event.message.as_deref()?.strip_prefix(first.identity()))
        .collect();
    assert_eq!(of_first, [" became leader", " stopped leading"]);
    let event = &events[0];
    assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(event.involved_object.kind.as_deref(), Some("Lease"));
    assert_eq!(
        event.involved_object.name.as_deref(),
        Some("kube-scheduler")
    );
    assert!(event.involved_object.uid.is_some());
    let source = event.source.as_ref().unwrap();
    assert_eq!(source.component.as_deref(), Some("default-scheduler"));

    let leases: Api<Lease> = Api::namespaced(scheduler, "kube-system");
    let spec = leases.get("kube-scheduler").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(second.identity()));
    assert!(second.identity().starts_with("second_"));
    assert_eq!(spec.lease_duration_seconds, Some(60));
    assert_eq!(spec.lease_transitions, Some(1));
    stop_second.send(()).unwrap();
    assert_eq!(second_task.await.unwrap(), End::Stopped);
    let spec = leases.get("kube-scheduler").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
}
