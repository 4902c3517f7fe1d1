//! Starting and stopping.

use crate::clock::Clock;
use crate::effects::{Recorder, Requests, Tools, Work, carry_out};
use crate::engine::{Engine, State};
use crate::extenders::{Extender, HttpExtenders};
use crate::message::Message;
use crate::observer::Observer;
use crate::permissions::{Found, Permissions};
use crate::watch;
use std::future::Future;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::Pod as ApiPod;
use stowplan_base::{Duration as Span, Env, Rng};
use stowplan_bridge::config;
use stowplan_bridge::convert::Interner;
use stowplan_client::{EventRecorder, Guard, Informers};
use stowplan_config::{ConfigErrors, KubeSchedulerConfiguration};
use stowplan_engine::Snapshot;
use stowplan_engine::framework::Registry;
use stowplan_engine::queue::{Profiles, QueueConfig};
use stowplan_engine::scheduler::Scheduler;
use stowplan_env::{stopwatch_ns, timeout};
use stowplan_telemetry::DecisionAnswer;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What a scheduler is started with.
pub struct Settings {
    /// Profiles, backoffs, limits of the client.
    pub config: KubeSchedulerConfiguration,
    /// The informers of this process, if it has any; without them the scheduler watches the cluster itself.
    pub informers: Option<Arc<Informers>>,
    /// The plugins that its profiles can enable; called once, on the engine's thread.
    pub plugins: fn() -> Registry,
    /// Of several best nodes, this number decides.
    pub seed: u64,
    /// The name of this host, for events.
    pub host: String,
    /// The clock.
    pub env: Arc<dyn Env>,
    /// Whether it may act: asked before each decision and before each request that changes something.
    /// Whoever lets it act tells it by [`Running::wake`].
    pub guard: Arc<dyn Guard>,
    /// Hears what happens.
    pub observer: Arc<dyn Observer>,
    /// Whether `clientConnection.qps` and `burst` count.
    pub throttled: bool,
    /// How long a pod that fits nowhere waits before it is tried again though nothing happened; five
    /// minutes unless set.
    pub unschedulable_max: Option<Duration>,
}

/// How long a scheduler that stops waits for what it began.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a scheduler cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error("{}", joined(.0))]
    Config(ConfigErrors),
    /// An extender cannot be reached the way it is configured.
    #[error("{0}")]
    Extender(String),
    /// Extenders are waited for on a thread of the engine's own.
    #[error("extenders need a scheduler with a thread of its own")]
    ExtendersOnTask,
    /// There is no thread for the engine.
    #[error("cannot start the engine's thread")]
    Thread(#[source] std::io::Error),
    /// The engine's thread broke.
    #[error("the engine's thread broke")]
    Broken,
}

fn joined(errors: &ConfigErrors) -> String {
    let lines: Vec<_> = errors.0.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A scheduler at work. It stops when this is dropped: at once, with whatever it was about to do.
pub struct Running {
    inbox: UnboundedSender<Message>,
    env: Arc<dyn Env>,
    /// Its thread, if it has one.
    engine: Option<JoinHandle<()>>,
    watches: JoinSet<()>,
    work: JoinSet<()>,
    events: JoinSet<()>,
}

/// Starts a scheduler within the current tokio runtime, and a thread for its engine.
pub async fn start(client: kube::Client, settings: Settings) -> Result<Running, StartError> {
    let (mut running, seat) = prepare(&client, settings).await?;
    running.engine = Some(seat.start().await?);
    Ok(running)
}

/// Starts a scheduler within the current tokio runtime, whose engine works while the future is polled: so
/// everything can be on one thread, and on a virtual clock. The future ends when the scheduler stops.
pub async fn start_as_task(
    client: kube::Client,
    settings: Settings,
) -> Result<(Running, impl Future<Output = ()>), StartError> {
    if !settings.config.extenders.is_empty() {
        return Err(StartError::ExtendersOnTask);
    }
    let (running, seat) = prepare(&client, settings).await?;
    Ok((running, seat.engine()?.run()))
}

/// Starts all but the engine.
async fn prepare(client: &kube::Client, settings: Settings) -> Result<(Running, Seat), StartError> {
    let env = settings.env.clone();
    let connection = &settings.config.client_connection;
    let (qps, burst) = match settings.throttled {
        true => (connection.qps, connection.burst),
        false => (0.0, 0),
    };
    let guard = settings.guard.clone();
    let requests = || Requests::new(client.clone(), env.clone(), guard.clone()).limited(qps, burst);
    let extenders = extenders(&settings.config, &env).await?;
    let (inbox, messages) = mpsc::unbounded_channel();
    let (work, works) = mpsc::unbounded_channel();
    let (recorder, writes) = EventRecorder::new(env.clone(), &settings.host);
    let tools = Tools {
        requests: requests(),
        recorder: Recorder(recorder.clone()),
        engine: inbox.clone(),
        extenders: extenders.clone(),
    };
    let events = writes.carry_out(Arc::new(requests()), recorder);
    let mut running = Running {
        engine: None,
        watches: watch::all(client, &env, &inbox, settings.informers.as_deref()),
        work: JoinSet::new(),
        events: JoinSet::new(),
        inbox,
        env,
    };
    running.work.spawn(carry_out(Arc::new(tools), works));
    running.events.spawn(events);
    let seat = Seat {
        asked: HttpExtenders::new(extenders, Handle::current()),
        messages,
        work,
        settings,
    };
    Ok((running, seat))
}

/// What the engine's loop is given; the engine itself never leaves its thread.
struct Seat {
    asked: HttpExtenders,
    messages: UnboundedReceiver<Message>,
    work: UnboundedSender<Work>,
    settings: Settings,
}

impl Seat {
    /// Starts the thread; waits until it has understood the configuration.
    async fn start(self) -> Result<JoinHandle<()>, StartError> {
        let (ready, started) = oneshot::channel();
        let runtime = Handle::current();
        let thread = std::thread::Builder::new().name("engine".to_owned());
        let thread = thread.spawn(move || match self.engine() {
            Ok(engine) => {
                // Whoever started it may have given up; it is told to stop then.
                let _ = ready.send(Ok(()));
                engine.run_on_thread(&runtime);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        });
        let thread = thread.map_err(StartError::Thread)?;
        started.await.unwrap_or(Err(StartError::Broken))?;
        Ok(thread)
    }

    fn engine(self) -> Result<Engine, StartError> {
        let config = &self.settings.config;
        let clock = Clock(self.settings.env.clone());
        let plugins = (self.settings.plugins)();
        Ok(Engine {
            scheduler: scheduler(config, &plugins, self.settings.unschedulable_max, &clock)?,
            rng: Rng::new(self.settings.seed),
            extenders: self.asked,
            clock,
            inbox: self.messages,
            next: None,
            work: self.work,
            guard: self.settings.guard,
            observer: self.settings.observer,
            state: State::default(),
        })
    }
}

fn queue_config(config: &KubeSchedulerConfiguration, max: Option<Duration>) -> QueueConfig {
    let mut queue = config::queue_config(config);
    if let Some(max) = max {
        let nanos = i64::try_from(max.as_nanos()).unwrap_or(i64::MAX);
        queue.max_in_unschedulable_pods = Span::from_nanos(nanos);
    }
    queue
}

fn scheduler(
    config: &KubeSchedulerConfiguration,
    plugins: &Registry,
    unschedulable_max: Option<Duration>,
    clock: &Clock,
) -> Result<Scheduler, StartError> {
    let mut cluster = Snapshot::new();
    let mut interner = Interner {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    };
    let frameworks =
        config::profiles_with(config, plugins, &mut interner).map_err(StartError::Config)?;
    let mut profiles = Profiles::new(frameworks, &mut cluster.names);
    if !config.extenders.is_empty() {
        profiles.listen_for_extenders();
    }
    let queue = queue_config(config, unschedulable_max);
    let mut scheduler = Scheduler::new(cluster, profiles, queue, clock.now());
    scheduler.note_top_nodes();
    scheduler.lend_clock(stopwatch_ns);
    Ok(scheduler)
}

/// All extenders, those that may be ignored after all others. Upstream's `buildExtenders`.
async fn extenders(
    config: &KubeSchedulerConfiguration,
    env: &Arc<dyn Env>,
) -> Result<Arc<[Extender]>, StartError> {
    let mut all = Vec::new();
    for (at, extender) in config.extenders.iter().enumerate() {
        let made = Extender::new(extender.clone(), env.clone()).await;
        all.push(made.map_err(|error| StartError::Extender(format!("extenders[{at}].{error}")))?);
    }
    all.sort_by_key(Extender::is_ignorable);
    Ok(all.into())
}

/// Reads the decisions of a running scheduler.
#[derive(Clone)]
pub struct DecisionReader(UnboundedSender<Message>);

impl DecisionReader {
    /// What is remembered of the last attempt of a pod, as a reader with these permissions may read it: a
    /// `Decision` of at most 4 KiB.
    pub async fn decision(
        &self,
        namespace: &str,
        name: &str,
        permissions: &dyn Permissions,
    ) -> DecisionAnswer {
        self.ask(namespace, name, false, permissions).await
    }

    /// The whole tournament of a pod, every node and every plugin, as a reader with these permissions may
    /// read it: an `Explanation`.
    pub async fn tournament(
        &self,
        namespace: &str,
        name: &str,
        permissions: &dyn Permissions,
    ) -> DecisionAnswer {
        self.ask(namespace, name, true, permissions).await
    }

    /// The whole tournament of a pod that does not exist, as things are now, as the one who has these
    /// permissions may read it.
    pub async fn what_if(&self, pod: ApiPod, permissions: &dyn Permissions) -> DecisionAnswer {
        let (answer, answered) = oneshot::channel();
        let pod = Arc::new(pod).into();
        self.told(Message::WhatIf { pod, answer }, answered, permissions)
            .await
    }

    async fn ask(
        &self,
        namespace: &str,
        name: &str,
        whole: bool,
        permissions: &dyn Permissions,
    ) -> DecisionAnswer {
        let (answer, answered) = oneshot::channel();
        let question = Message::Tell {
            namespace: namespace.into(),
            name: name.into(),
            whole,
            answer,
        };
        self.told(question, answered, permissions).await
    }

    async fn told(
        &self,
        question: Message,
        answered: oneshot::Receiver<DecisionAnswer<Found>>,
        permissions: &dyn Permissions,
    ) -> DecisionAnswer {
        if self.0.send(question).is_err() {
            return DecisionAnswer::Unknown;
        }
        match answered.await {
            Ok(DecisionAnswer::Found(found)) => match found.for_reader(permissions).await {
                Some(told) => DecisionAnswer::Found(told),
                None => DecisionAnswer::Unknown,
            },
            Ok(DecisionAnswer::Busy) => DecisionAnswer::Busy,
            Ok(DecisionAnswer::Unknown) | Err(_) => DecisionAnswer::Unknown,
        }
    }
}

impl Running {
    /// To read decisions.
    pub fn decisions(&self) -> DecisionReader {
        DecisionReader(self.inbox.clone())
    }

    /// Lets the engine look again, as [`wake`](Self::wake), from anywhere.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let inbox = self.inbox.clone();
        move || drop(inbox.send(Message::Wake))
    }

    /// Lets the engine look again: the guard may let it act now.
    pub fn wake(&self) {
        let _ = self.inbox.send(Message::Wake);
    }

    /// Ends when the scheduler cannot go on: its engine broke. Never, if all is well.
    pub async fn broken(&mut self) {
        if self.work.join_next().await.is_none() {
            std::future::pending().await
        }
    }

    /// Stops: no more decisions; what was decided is carried out.
    pub async fn stop(mut self) {
        self.watches.shutdown().await;
        let _ = self.inbox.send(Message::Stop);
        // With the engine goes the only one who hands out work.
        let done = async { while self.work.join_next().await.is_some() {} };
        if timeout(&*self.env, PATIENCE, done).await.is_err() {
            tracing::warn!("some work was left undone");
        }
        self.events.shutdown().await;
        if let Some(engine) = self.engine.take() {
            let joined = tokio::task::spawn_blocking(move || engine.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the engine's thread broke");
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.inbox.send(Message::Stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_pod_waits_in_vain_is_up_to_the_command_line() {
        let config = KubeSchedulerConfiguration::default();
        let wait = |max| queue_config(&config, max).max_in_unschedulable_pods;
        assert_eq!(wait(None), Span::from_secs(300));
        assert_eq!(wait(Some(Duration::from_secs(90))), Span::from_secs(90));
    }
}
