//! All controllers that were asked for, at work.

use crate::{Runner, garbage_collector, namespace, resource_quota};
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::{EventRecorder, Guard, Informers, Recorder, Requests, WorkQueue};
use stowplan_controllers::{Controller, Enqueue, Keys, Options, Watches, all, is_chosen};
use tokio::task::JoinSet;

/// The controllers that are more than a function: they look at all resources that a server serves.
const DRIVEN: [&str; 3] = [
    garbage_collector::NAME,
    namespace::NAME,
    resource_quota::NAME,
];

/// How many requests of controllers may be under way.
const REQUESTS_MAX: usize = 96;

/// Who writes, for field managers.
const COMPONENT: &str = "kube-controller-manager";

/// What controllers are started with.
pub struct Settings {
    /// Which ones: `--controllers`.
    pub controllers: Vec<String>,
    /// What they are told.
    pub options: Options,
    /// Whether anything may be changed now.
    pub guard: Arc<dyn Guard>,
    /// The clock.
    pub env: Arc<dyn Env>,
    /// Requests per second and at once; no limit if the first is not above 0.
    pub limit: (f32, i32),
    /// The name of this host, for events.
    pub host: String,
    /// Who else in this process watches the cluster; without them it does so itself.
    pub informers: Option<Arc<Informers>>,
}

/// There is no controller of that name.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is not in the list of known controllers; known are: {}", known().join(", "))]
pub struct UnknownController {
    name: String,
}

/// The names of all controllers.
pub fn known() -> Vec<&'static str> {
    let mut names: Vec<&str> = all().iter().map(|descriptor| descriptor.name).collect();
    names.extend(DRIVEN);
    names.sort_unstable();
    names
}

/// Controllers at work. They end when it is dropped.
pub struct ControllerManager {
    informers: Arc<Informers>,
    requests: Arc<Requests>,
    recorder: Arc<Recorder>,
    env: Arc<dyn Env>,
    tasks: JoinSet<()>,
}

impl ControllerManager {
    /// Starts the controllers that are asked for, within the current tokio runtime.
    pub fn start(client: kube::Client, settings: Settings) -> Result<Self, UnknownController> {
        let Settings {
            controllers,
            options,
            guard,
            env,
            limit,
            host,
            informers,
        } = settings;
        check(&controllers)?;
        let requests = Requests::new(client.clone(), env.clone(), guard);
        let requests = requests
            .limited(limit.0, limit.1)
            .named(COMPONENT)
            .at_a_time(REQUESTS_MAX);
        let requests = Arc::new(requests);
        let (recorder, events) = Recorder::new(env.clone());
        let mut manager = Self {
            informers: informers
                .unwrap_or_else(|| Arc::new(Informers::new(client.clone(), env.clone()))),
            requests: requests.clone(),
            recorder,
            env: env.clone(),
            tasks: JoinSet::new(),
        };
        manager.tasks.spawn(events.carry_out(requests.clone()));
        for descriptor in all() {
            if is_chosen(&controllers, descriptor.name, descriptor.by_default) {
                manager.add(descriptor.name, (descriptor.make)(&options));
            }
        }
        let informers = manager.informers.clone();
        if is_chosen(&controllers, namespace::NAME, true) {
            let run = namespace::run(
                requests.clone(),
                env.clone(),
                informers.clone(),
                namespace::GRACE,
            );
            manager.tasks.spawn(run);
        }
        if is_chosen(&controllers, resource_quota::NAME, true) {
            let (client, requests, env) = (client.clone(), requests.clone(), env.clone());
            let informers = informers.clone();
            let run = resource_quota::run(client, requests, env, informers, resource_quota::RESYNC);
            manager.tasks.spawn(run);
        }
        if is_chosen(&controllers, garbage_collector::NAME, true) {
            let (recorder, events) = EventRecorder::new(env.clone(), &host);
            manager
                .tasks
                .spawn(events.carry_out(requests.clone(), recorder.clone()));
            let run = garbage_collector::run(client, requests, env, recorder, informers);
            manager.tasks.spawn(run);
        }
        Ok(manager)
    }

    /// What is known of the cluster, for others in this process.
    pub fn informers(&self) -> &Arc<Informers> {
        &self.informers
    }

    /// Starts one more controller, once all that it reads is known.
    pub fn add(&mut self, name: &'static str, controller: Box<dyn Controller>) {
        let queue = WorkQueue::new(self.env.clone());
        let queue = Arc::new(match controller.pauses() {
            Some((first, longest)) => queue.with_pauses(first, longest),
            None => queue,
        });
        let controller: Arc<dyn Controller> = controller.into();
        let mut watches = Watches::default();
        controller.watch(&mut watches);
        let kinds = watches.kinds.iter();
        let synced: Vec<_> = kinds.map(|kind| self.informers.watch(*kind)).collect();
        let (keys, paced) = (queue.clone(), controller.clone());
        // It is kept by the handlers of the cluster itself.
        let known = Arc::downgrade(self.informers.cluster());
        let enqueue: Enqueue = Arc::new(move |wanted: Keys| {
            let Some(cluster) = known.upgrade() else {
                return;
            };
            for (key, after) in wanted {
                match after.is_zero() {
                    true => {
                        let pace = paced.pace(&cluster, &key);
                        keys.add_paced(key, pace);
                    }
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
        self.tasks.spawn(async move {
            for synced in synced {
                synced.wait().await;
            }
            watches.install(&runner.cluster, &enqueue);
            runner.run().await;
        });
    }
}

fn check(controllers: &[String]) -> Result<(), UnknownController> {
    let known = known();
    for entry in controllers {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if name != "*" && !known.contains(&name) {
            return Err(UnknownController {
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}
