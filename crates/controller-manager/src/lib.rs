//! Runs controllers: what they watch, their queues, what they want written.
//!
//! ```text
//! API ──informers──▶ cache::Cluster ──handlers──▶ WorkQueue ──▶ Controller::sync ──▶ Plan
//!                        ▲                                                            │
//!                        └────────── answers ◀── API ◀── writes ◀── runner ◀──────────┘
//! ```
//!
//! A [`ControllerManager`] stands on one set of informers, so that a kind is watched once however many
//! controllers read it.

pub mod garbage_collector;
mod runner;

use runner::Runner;
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::WorkQueue;
use stowplan_client::{Informers, Recorder, RecorderWrites, Requests};
use stowplan_controllers::{Controller, Enqueue, Keys, Watches};
use tokio::task::JoinSet;

/// What controllers stand on.
pub struct ControllerManager {
    /// What is known of the cluster.
    pub informers: Arc<Informers>,
    /// How it is changed.
    pub requests: Arc<Requests>,
    /// Who is told what happens.
    pub recorder: Arc<Recorder>,
    /// The clock.
    pub env: Arc<dyn Env>,
}

impl ControllerManager {
    /// Stands on this client. The writes of events have to be [carried out](RecorderWrites::carry_out).
    pub fn new(
        informers: Arc<Informers>,
        requests: Arc<Requests>,
        env: Arc<dyn Env>,
    ) -> (Self, RecorderWrites) {
        let (recorder, writes) = Recorder::new(env.clone());
        let manager = Self {
            informers,
            requests,
            recorder,
            env,
        };
        (manager, writes)
    }

    /// Starts a controller within the current tokio runtime, once all that it reads is known. It ends when
    /// the tasks are dropped.
    pub fn start(
        &self,
        name: &'static str,
        controller: Box<dyn Controller>,
        tasks: &mut JoinSet<()>,
    ) {
        let queue = Arc::new(WorkQueue::new(self.env.clone()));
        let mut watches = Watches::default();
        controller.watch(&mut watches);
        let synced: Vec<_> = watches
            .kinds
            .iter()
            .map(|kind| self.informers.watch(*kind))
            .collect();
        let keys = queue.clone();
        let enqueue: Enqueue = Arc::new(move |wanted: Keys| {
            for (key, after) in wanted {
                match after.is_zero() {
                    true => keys.add(key),
                    false => keys.add_after(key, after),
                }
            }
        });
        let runner = Runner {
            name,
            cluster: self.informers.cluster().clone(),
            requests: self.requests.clone(),
            recorder: self.recorder.clone(),
            env: self.env.clone(),
            queue,
            controller,
        };
        tasks.spawn(async move {
            for synced in synced {
                synced.wait().await;
            }
            watches.install(&runner.cluster, &enqueue);
            runner.run().await;
        });
    }
}
