//! A live scheduler with all that belongs to it.

use crate::callers::LookupError;
use crate::console::Console;
use crate::leadership::{ELECTION, Leadership, LeaseName};
use crate::port::{Port, SecurePort};
use crate::reviews::Reviews;
use crate::spans::{Collector, Tracer};
use crate::whereabouts::Whereabouts;
use kube::Client;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_base::Duration;
use stowplan_election::{End, Timings, TimingsError};
use stowplan_live::{Asker, Running, Settings, StartError};
use stowplan_telemetry::Ports;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What a station is started with, besides the configuration.
pub struct Options {
    /// Of several best nodes, this number decides.
    pub seed: u64,
    /// The name of this host.
    pub host: String,
    /// Whether `clientConnection.qps` and `burst` count.
    pub throttled: bool,
    /// How long a pod that fits nowhere waits at most before it is tried again; five minutes unless
    /// set.
    pub unschedulable_max: Option<std::time::Duration>,
    /// Whether `leaderElection` counts: not where the API server is in the same process.
    pub competes: bool,
    /// Where to serve health and metrics.
    pub port: Option<SecurePort>,
    /// Who is asked there whose a token is, if not the API that pods come from.
    pub authentication: Option<Client>,
    /// Who is asked there what a caller may, if not the API that pods come from.
    pub authorization: Option<Client>,
    /// Where to send traces.
    pub collector: Option<Collector>,
}

/// Why a station cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StationError {
    /// The scheduler cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The times of the election do not go together.
    #[error("leaderElection")]
    Election(#[from] TimingsError),
    /// The cluster does not say whom the port should know.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// What the port should show cannot be used.
    #[error("the certificates of the secure port: {0}")]
    Certificates(String),
    /// Traces cannot be sent there.
    #[error("the collector of traces: {0}")]
    Collector(String),
    /// The port cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Why a station cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Broken {
    /// The engine broke.
    #[error("the scheduler broke: this is a bug, see above")]
    Engine,
    /// The lease could not be renewed, or another one holds it.
    #[error("the lease is lost: another scheduler may lead by now")]
    LeaseLost,
}

/// A scheduler at work, with its lease and its port.
pub struct Station {
    console: Arc<Console>,
    scheduler: Running,
    election: Option<Election>,
    port: Option<Port>,
}

struct Election {
    stop: oneshot::Sender<()>,
    held: JoinHandle<End>,
}

impl Station {
    /// Starts everything within the current tokio runtime.
    pub async fn start(
        client: Client,
        config: KubeSchedulerConfiguration,
        options: Options,
    ) -> Result<Self, StationError> {
        let authentication = options.authentication.unwrap_or_else(|| client.clone());
        let (open_paths, bound) = match options.port {
            Some(mut port) => {
                let open_paths = std::mem::take(&mut port.open_paths);
                (open_paths, Some(port.bind(authentication.clone()).await?))
            }
            None => (Vec::new(), None),
        };
        let whereabouts = bound.as_ref().map(|bound| bound.whereabouts.clone());
        let competes = options.competes && config.leader_election.leader_elect;
        let leadership = match competes {
            true => Some(leadership(&config, &options.host, whereabouts)?),
            false => None,
        };
        let tracer = options.collector.as_ref().map(Tracer::new);
        let tracer = tracer.transpose().map_err(StationError::Collector)?;
        let console = Console::new(leadership.clone(), tracer);
        let ports = Ports {
            health: console.health(),
            metrics: console.metrics.clone(),
            pods: console.pods.clone(),
            source: console.clone(),
            gate: Arc::new(Reviews::new(
                authentication,
                options.authorization.unwrap_or_else(|| client.clone()),
            )),
            configuration: stowplan_live::effective(&config).to_json(),
            open_paths,
        };
        let settings = Settings {
            config,
            seed: options.seed,
            host: options.host,
            fence: console.clone(),
            observer: console.clone(),
            throttled: options.throttled,
            unschedulable_max: options.unschedulable_max,
        };
        let scheduler = stowplan_live::start(client.clone(), settings).await?;
        console.connect(scheduler.waker(), scheduler.asker());
        Ok(Self {
            election: leadership.map(|l| elect(client, l, console.clone())),
            port: bound.map(|bound| bound.open(ports)),
            console,
            scheduler,
        })
    }

    /// To ask about decisions.
    pub fn asker(&self) -> Asker {
        self.scheduler.asker()
    }

    /// Where health and metrics are served.
    pub fn address(&self) -> Option<SocketAddr> {
        self.port.as_ref().map(|port| port.address)
    }

    /// Ends when the scheduler cannot go on. Never, if all is well.
    pub async fn broken(&mut self) -> Broken {
        let lost = async {
            match &mut self.election {
                // It was not told to stop, so it lost the lease.
                Some(election) => drop((&mut election.held).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.scheduler.broken() => Broken::Engine,
            () = lost => Broken::LeaseLost,
        }
    }

    /// Works until `stop` ends or it cannot go on; then stops.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), Broken> {
        let broken = tokio::select! {
            () = stop => None,
            why = self.broken() => Some(why),
        };
        self.stop().await;
        broken.map_or(Ok(()), Err)
    }

    /// Stops: what was decided is carried out, the lease is given back, the port is closed, traces
    /// are sent.
    pub async fn stop(self) {
        self.console.stopping();
        self.scheduler.stop().await;
        if let Some(election) = self.election {
            let _ = election.stop.send(());
            if !election.held.is_finished() {
                let _ = election.held.await;
            }
        }
        if let Some(port) = self.port {
            port.close().await;
        }
        self.console.flush().await;
    }
}

fn leadership(
    config: &KubeSchedulerConfiguration,
    host: &str,
    whereabouts: Option<Whereabouts>,
) -> Result<Arc<Leadership>, TimingsError> {
    let profile = config.profiles.first();
    let component = profile.and_then(|profile| profile.scheduler_name.as_deref());
    let component = component.unwrap_or("default-scheduler");
    let config = &config.leader_election;
    let timings = Timings {
        lease_duration: Duration::from_nanos(config.lease_duration.as_nanos()),
        renew_deadline: Duration::from_nanos(config.renew_deadline.as_nanos()),
        retry_period: Duration::from_nanos(config.retry_period.as_nanos()),
    };
    let lease = LeaseName {
        namespace: config.resource_namespace.clone(),
        name: config.resource_name.clone(),
    };
    let timings = timings.validated()?;
    let leadership = Leadership::new(lease, host, component, timings);
    Ok(Arc::new(leadership.at(whereabouts)))
}

fn elect(client: Client, leadership: Arc<Leadership>, console: Arc<Console>) -> Election {
    let (stop, stopped) = oneshot::channel::<()>();
    console.metrics.leading(ELECTION, false);
    let held = tokio::spawn(async move {
        let stopped = async move { drop(stopped.await) };
        let changed = |leads| {
            console.metrics.leading(ELECTION, leads);
            console.wake();
        };
        leadership.hold(client, stopped, changed).await
    });
    Election { stop, held }
}
