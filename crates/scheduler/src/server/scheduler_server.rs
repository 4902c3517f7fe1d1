//! A live scheduler with all that belongs to it.

use crate::server::callers::LookupError;
use crate::server::instrumentation::Instrumentation;
use crate::server::port::{Port, SecurePort};
use crate::server::reviews::Reviews;
use crate::server::spans::{Collector, Tracer};
use crate::{DecisionReader, Running, Settings, StartError};
use kube::Client;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use stowplan_base::{Duration, Env};
use stowplan_client::Informers;
use stowplan_client::election::{
    Candidate, End, LeaderAddress, Leadership, LeaseName, Timings, TimingsError,
};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_telemetry::Ports;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What the election is called in metrics and health checks, whatever its Lease is called: upstream's
/// `makeLeaderElectionConfig`.
const ELECTION: &str = "kube-scheduler";

/// What a server is started with, besides the configuration.
pub struct ServerOptions {
    /// The clock.
    pub env: Arc<dyn Env>,
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
    /// The API that reviews tokens there, if it is not the one that pods come from.
    pub authentication: Option<Client>,
    /// The API that authorizes callers there, if it is not the one that pods come from.
    pub authorization: Option<Client>,
    /// Where to send traces.
    pub collector: Option<Collector>,
    /// The informers of this process, if others keep the objects of the cluster as well.
    pub informers: Option<Arc<Informers>>,
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The scheduler cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The times of the election do not go together.
    #[error("leaderElection")]
    Election(#[from] TimingsError),
    /// The cluster does not say which CAs the port should trust.
    #[error(transparent)]
    AuthenticationLookup(#[from] LookupError),
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

/// Why a server cannot go on.
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
pub struct SchedulerServer {
    instrumentation: Arc<Instrumentation>,
    scheduler: Running,
    election: Option<Election>,
    port: Option<Port>,
}

struct Election {
    stop: oneshot::Sender<()>,
    held: JoinHandle<End>,
}

impl SchedulerServer {
    /// Starts everything within the current tokio runtime.
    pub async fn start(
        client: Client,
        config: KubeSchedulerConfiguration,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let env = options.env;
        let authentication = options.authentication.unwrap_or_else(|| client.clone());
        let (open_paths, bound) = match options.port {
            Some(mut port) => {
                let open_paths = std::mem::take(&mut port.open_paths);
                (
                    open_paths,
                    Some(port.bind(authentication.clone(), env.clone()).await?),
                )
            }
            None => (Vec::new(), None),
        };
        let address = bound.as_ref().map(|bound| bound.leader_address.clone());
        let competes = options.competes && config.leader_election.leader_elect;
        let leadership = match competes {
            true => Some(leadership(&config, &options.host, address, env.clone())?),
            false => None,
        };
        let tracer = options.collector.as_ref();
        let tracer = tracer.map(|collector| Tracer::new(collector, env.clone()));
        let tracer = tracer.transpose().map_err(ServerError::Collector)?;
        let instrumentation = Instrumentation::new(env.clone(), leadership.clone(), tracer);
        let ports = Ports {
            health: instrumentation.health(),
            metrics: instrumentation.metrics.clone(),
            pods: instrumentation.pods.clone(),
            source: instrumentation.clone(),
            gate: Arc::new(Reviews::new(
                authentication,
                options.authorization.unwrap_or_else(|| client.clone()),
                env.clone(),
            )),
            configuration: crate::effective(&config).to_json(),
            open_paths,
        };
        let settings = Settings {
            config,
            informers: options.informers,
            plugins: in_tree,
            seed: options.seed,
            host: options.host,
            env,
            guard: instrumentation.clone(),
            observer: instrumentation.clone(),
            throttled: options.throttled,
            unschedulable_max: options.unschedulable_max,
        };
        let scheduler = crate::start(client.clone(), settings).await?;
        instrumentation.connect(scheduler.waker(), scheduler.decisions());
        Ok(Self {
            election: leadership.map(|l| elect(client, l, instrumentation.clone())),
            port: bound.map(|bound| bound.open(ports)),
            instrumentation,
            scheduler,
        })
    }

    /// To read decisions.
    pub fn decisions(&self) -> DecisionReader {
        self.scheduler.decisions()
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
        self.instrumentation.stopping();
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
        self.instrumentation.flush().await;
    }
}

fn leadership(
    config: &KubeSchedulerConfiguration,
    host: &str,
    address: Option<LeaderAddress>,
    env: Arc<dyn Env>,
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
    let candidate = Candidate {
        lease,
        election: ELECTION,
        host: host.to_owned(),
        component: component.to_owned(),
        timings: timings.validated()?,
        address,
    };
    Ok(Arc::new(Leadership::new(candidate, env)))
}

fn elect(
    client: Client,
    leadership: Arc<Leadership>,
    instrumentation: Arc<Instrumentation>,
) -> Election {
    let (stop, stopped) = oneshot::channel::<()>();
    instrumentation.metrics.leading(ELECTION, false);
    let held = tokio::spawn(async move {
        let stopped = async move { drop(stopped.await) };
        let changed = |leads| {
            instrumentation.metrics.leading(ELECTION, leads);
            instrumentation.wake();
        };
        leadership.hold(client, stopped, changed).await
    });
    Election { stop, held }
}
