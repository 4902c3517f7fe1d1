//! Who leads, as an event about the Lease. client-go's `leaderelection` by way of `resourcelock`.

use super::LeaseName;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::PostParams;
use kube::{Api, Client};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use tokio::task::JoinSet;

/// How long a process that ends waits for its last words to be written.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells everybody who leads; whoever tells it does not wait.
pub(super) struct Announcements {
    events: Api<Event>,
    env: Arc<dyn Env>,
    /// What writes them: the scheduler's name.
    component: String,
    sent: JoinSet<()>,
}

impl Announcements {
    pub(super) fn new(
        client: Client,
        env: Arc<dyn Env>,
        lease: &LeaseName,
        component: &str,
    ) -> Self {
        Self {
            events: Api::namespaced(client, &lease.namespace),
            env,
            component: component.to_owned(),
            sent: JoinSet::new(),
        }
    }

    /// Somebody began or ceased to lead.
    pub(super) fn tell(&mut self, lease: Option<&Lease>, identity: &str, leads: bool) {
        let Some(lease) = lease else { return };
        let what = match leads {
            true => "became leader",
            false => "stopped leading",
        };
        let now = Timestamp::from_nanosecond(self.env.now().as_nanos().into());
        let now = now.unwrap_or_default();
        let event = self.event(lease, format!("{identity} {what}"), now);
        let events = self.events.clone();
        while self.sent.try_join_next().is_some() {}
        self.sent.spawn(async move {
            if let Err(error) = events.create(&PostParams::default(), &event).await {
                tracing::warn!(%error, "an event about the lease could not be written");
            }
        });
    }

    /// Waits for what is still to be written, but not for long.
    pub(super) async fn finish(mut self) {
        let env = self.env.clone();
        let all = async { while self.sent.join_next().await.is_some() {} };
        let _ = timeout(&*env, PATIENCE, all).await;
    }

    fn event(&self, lease: &Lease, message: String, now: Timestamp) -> Event {
        let metadata = &lease.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let mut event = Event {
            involved_object: ObjectReference {
                kind: Some("Lease".to_owned()),
                api_version: Some("coordination.k8s.io/v1".to_owned()),
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone(),
                uid: metadata.uid.clone(),
                resource_version: metadata.resource_version.clone(),
                field_path: None,
            },
            reason: Some("LeaderElection".to_owned()),
            message: Some(message),
            source: Some(EventSource {
                component: Some(self.component.clone()),
                host: None,
            }),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            type_: Some("Normal".to_owned()),
            reporting_component: Some(self.component.clone()),
            ..Event::default()
        };
        event.metadata.name = Some(format!("{name}.{:x}", now.as_nanosecond()));
        event.metadata.namespace.clone_from(&metadata.namespace);
        event
    }
}
