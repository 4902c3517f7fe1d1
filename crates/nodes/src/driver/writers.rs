//! Carries out what has to be written: some tasks for all nodes and pods.

use super::Shared;
use crate::world::{Job, Outcome};
use serde::Deserialize;
use std::sync::Arc;
use stowplan_client::{Failed, Requests};
use tokio::task::JoinSet;

/// All that is read of an answer.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    metadata: Meta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    resource_version: Option<String>,
}

/// Starts the writers; they end when what is returned is dropped.
pub(super) fn start(shared: Arc<Shared>, requests: &Arc<Requests>) -> JoinSet<()> {
    let mut writers = JoinSet::new();
    for _ in 0..shared.writers {
        writers.spawn(write(shared.clone(), requests.clone()));
    }
    writers
}

async fn write(shared: Arc<Shared>, requests: Arc<Requests>) {
    while let Ok(permit) = shared.jobs.acquire().await {
        permit.forget();
        let prepared = {
            let mut world = shared.world();
            let Some(job) = world.next_job() else {
                continue;
            };
            let prepared = world.prepare(&job, shared.env.now());
            prepared.map(|prepared| (job, prepared))
        };
        let Some((job, request)) = prepared else {
            continue;
        };
        let sent = requests.change::<Answer>(
            request.method,
            &request.path,
            request.content_type,
            &request.body,
        );
        let outcome = outcome(&job, &request.path, sent.await);
        let now = shared.env.now();
        let mut world = shared.world();
        world.done(&job, &request.subject, outcome, now);
        shared.announce(world);
        // A write that has to be tried again has its time.
        if !matches!(outcome, Outcome::Done(_)) {
            shared.wake.notify_one();
        }
    }
}

fn outcome(job: &Job, path: &str, answer: Result<Answer, Failed>) -> Outcome {
    match answer {
        Ok(answer) => {
            let version = answer.metadata.resource_version;
            Outcome::Done(version.and_then(|text| text.parse().ok()).unwrap_or(0))
        }
        Err(failed) => {
            let code = failed.code();
            let error = failed.message();
            match (code, job) {
                (Some(409), Job::Register(name)) => {
                    tracing::warn!(%name, "there is a node of that name, which is not simulated");
                }
                (Some(404 | 409), _) => tracing::debug!(path, error, "a write came too late"),
                _ => tracing::warn!(path, error, ?job, "a write failed"),
            }
            code.map_or(Outcome::Lost, Outcome::Refused)
        }
    }
}
