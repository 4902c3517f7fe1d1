//! Who tells decisions: the API server itself on `stowplan up`, else the scheduler that leads.

use super::args::Page;
use crate::explain::{leader, live};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Uri};
use kube::{Client, Config};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_page::Leader;
use tokio::sync::Mutex;

/// How long an answer is good for: another scheduler may lead then.
const GOOD: Duration = Duration::from_secs(20);

/// Finds the leader with the permissions of the page.
pub(super) struct LeaderOfCluster {
    config: Config,
    client: Client,
    scheduler: Option<Uri>,
    lease: String,
    env: Arc<dyn Env>,
    found: Mutex<Option<(Time, Client)>>,
}

impl LeaderOfCluster {
    pub(super) fn new(args: &Page, config: Config, client: Client, env: Arc<dyn Env>) -> Self {
        let lease = args.lease.as_deref().unwrap_or(leader::LEASE);
        Self {
            config,
            client,
            scheduler: args.scheduler.clone(),
            lease: lease.to_owned(),
            env,
            found: Mutex::default(),
        }
    }

    async fn find(&self) -> Result<Client, String> {
        let config = match &self.scheduler {
            Some(scheduler) => live::at_scheduler(self.config.clone(), scheduler, false),
            None if self.api_tells().await => return Ok(self.client.clone()),
            None => {
                leader::at(&self.lease, &self.config, &self.client, false)
                    .await?
                    .config
            }
        };
        Client::try_from(config).map_err(|error| error.to_string())
    }

    /// Whether the API server knows decisions itself.
    async fn api_tells(&self) -> bool {
        let Ok(request) = Request::get("/apis/stowplan.dev/v1").body(Vec::new()) else {
            return false;
        };
        self.client.request_text(request).await.is_ok()
    }
}

impl Leader for LeaderOfCluster {
    fn client(&self) -> BoxFuture<'_, Result<Client, String>> {
        async {
            let mut found = self.found.lock().await;
            if let Some((at, client)) = &*found
                && self.env.monotonic().since(*at) < GOOD
            {
                return Ok(client.clone());
            }
            *found = None;
            let client = self.find().await?;
            *found = Some((self.env.monotonic(), client.clone()));
            Ok(client)
        }
        .boxed()
    }
}
