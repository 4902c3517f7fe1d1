//! Starting and stopping.

use crate::clock::{Clock, nanos};
use crate::effects::{Recorder, Requests, Tools, Work, carry_out};
use crate::engine::{Engine, State};
use crate::extenders::{Asked, Extender};
use crate::fence::Fence;
use crate::message::{Message, Told};
use crate::observer::Observer;
use crate::rights::Rights;
use crate::watch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;
use stowplan_base::{Duration as Span, Rng};
use stowplan_bridge::config;
use stowplan_bridge::convert::Door;
use stowplan_config::{ConfigErrors, KubeSchedulerConfiguration};
use stowplan_engine::Snapshot;
use stowplan_engine::queue::{Profiles, QueueConfig};
use stowplan_engine::scheduler::Scheduler;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What a scheduler is started with.
pub struct Settings {
    /// Profiles, backoffs, limits of the client.
    pub config: KubeSchedulerConfiguration,
    /// Of several best nodes, this number decides.
    pub seed: u64,
    /// The name of this host, for events.
    pub host: String,
    /// Whether it may act.
    pub fence: Arc<dyn Fence>,
    /// Who is told what happens.
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
    inbox: Sender<Message>,
    engine: Option<JoinHandle<()>>,
    watches: JoinSet<()>,
    work: JoinSet<()>,
    events: JoinSet<()>,
}

/// Starts a scheduler within the current tokio runtime.
pub async fn start(client: kube::Client, settings: Settings) -> Result<Running, StartError> {
    let connection = &settings.config.client_connection;
    let (qps, burst) = match settings.throttled {
        true => (connection.qps, connection.burst),
        false => (0.0, 0),
    };
    let fence = settings.fence.clone();
    let requests = || Requests::new(client.clone(), fence.clone(), qps, burst);
    let extenders = extenders(&settings.config).await?;
    let (inbox, messages) = mpsc::channel();
    let (work, works) = tokio::sync::mpsc::unbounded_channel();
    let (recorder, writes) = Recorder::new(settings.host.clone());
    let tools = Tools {
        requests: requests(),
        recorder: recorder.clone(),
        engine: inbox.clone(),
        extenders: extenders.clone(),
    };
    let events = writes.carry_out(Arc::new(requests()), recorder);
    let asked = Asked::new(extenders, Handle::current());
    let seat = Seat {
        asked,
        messages,
        work,
        settings,
    };
    let mut running = Running {
        engine: Some(seat.start().await?),
        watches: watch::all(&client, &inbox),
        work: JoinSet::new(),
        events: JoinSet::new(),
        inbox,
    };
    running.work.spawn(carry_out(Arc::new(tools), works));
    running.events.spawn(events);
    Ok(running)
}

/// What the engine's thread is given; the engine itself never leaves it.
struct Seat {
    asked: Asked,
    messages: Receiver<Message>,
    work: tokio::sync::mpsc::UnboundedSender<Work>,
    settings: Settings,
}

impl Seat {
    /// Starts the thread; waits until it has understood the configuration.
    async fn start(self) -> Result<JoinHandle<()>, StartError> {
        let (ready, started) = oneshot::channel();
        let thread = std::thread::Builder::new().name("engine".to_owned());
        let thread = thread.spawn(move || match self.engine() {
            Ok(engine) => {
                // Whoever started it may have given up; it is told to stop then.
                let _ = ready.send(Ok(()));
                engine.run();
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
        let (scheduler, clock) = scheduler(config, self.settings.unschedulable_max)?;
        Ok(Engine {
            scheduler,
            rng: Rng::new(self.settings.seed),
            extenders: self.asked,
            clock,
            inbox: self.messages,
            work: self.work,
            bind_timeouts: bind_timeouts(config),
            fence: self.settings.fence,
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
    unschedulable_max: Option<Duration>,
) -> Result<(Scheduler, Clock), StartError> {
    let mut cluster = Snapshot::new();
    let mut door = Door {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    };
    let frameworks = config::profiles(config, &mut door).map_err(StartError::Config)?;
    let mut profiles = Profiles::new(frameworks, &mut cluster.names);
    if !config.extenders.is_empty() {
        profiles.listen_for_extenders();
    }
    let clock = Clock::system();
    let queue = queue_config(config, unschedulable_max);
    let mut scheduler = Scheduler::new(cluster, profiles, queue, clock.now());
    scheduler.note_contenders();
    scheduler.lend_clock(nanos);
    Ok((scheduler, clock))
}

/// All extenders, those that may be ignored after all others. Upstream's `buildExtenders`.
async fn extenders(config: &KubeSchedulerConfiguration) -> Result<Arc<[Extender]>, StartError> {
    let mut all = Vec::new();
    for (at, extender) in config.extenders.iter().enumerate() {
        let made = Extender::new(extender.clone()).await;
        all.push(made.map_err(|error| StartError::Extender(format!("extenders[{at}].{error}")))?);
    }
    all.sort_by_key(Extender::is_ignorable);
    Ok(all.into())
}

/// How long volumes may take to be bound, by `schedulerName`.
fn bind_timeouts(config: &KubeSchedulerConfiguration) -> BTreeMap<String, Duration> {
    let profiles = config.profiles.iter();
    profiles
        .filter_map(|profile| {
            let seconds = profile
                .plugin_config
                .iter()
                .find(|plugin| plugin.name == "VolumeBinding")
                .and_then(|plugin| plugin.args["bindTimeoutSeconds"].as_i64())?;
            let span = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            Some((profile.scheduler_name.clone().unwrap_or_default(), span))
        })
        .collect()
}

/// Asks a running scheduler about its decisions.
#[derive(Clone)]
pub struct Asker(Sender<Message>);

impl Asker {
    /// What is remembered of the last attempt of a pod, as the one who has these rights may read it: a
    /// `Decision` of at most 4 KiB.
    pub async fn decision(&self, namespace: &str, name: &str, rights: &dyn Rights) -> Told {
        self.ask(namespace, name, false, rights).await
    }

    /// The whole tournament of a pod, every node and every plugin, as the one who has these rights may
    /// read it: an `Explanation`.
    pub async fn tournament(&self, namespace: &str, name: &str, rights: &dyn Rights) -> Told {
        self.ask(namespace, name, true, rights).await
    }

    async fn ask(&self, namespace: &str, name: &str, whole: bool, rights: &dyn Rights) -> Told {
        let (answer, answered) = oneshot::channel();
        let question = Message::Tell {
            namespace: namespace.into(),
            name: name.into(),
            whole,
            answer,
        };
        if self.0.send(question).is_err() {
            return Told::Unknown;
        }
        match answered.await {
            Ok(Told::Found(found)) => match found.for_reader(rights).await {
                Some(told) => Told::Found(told),
                None => Told::Unknown,
            },
            Ok(Told::Busy) => Told::Busy,
            Ok(Told::Unknown) | Err(_) => Told::Unknown,
        }
    }
}

impl Running {
    /// To ask about decisions.
    pub fn asker(&self) -> Asker {
        Asker(self.inbox.clone())
    }

    /// Lets the engine look again, as [`wake`](Self::wake), from anywhere.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let inbox = self.inbox.clone();
        move || drop(inbox.send(Message::Wake))
    }

    /// Lets the engine look again: the fence may be open now.
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
        if tokio::time::timeout(PATIENCE, done).await.is_err() {
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
