//! The command line of `stowplan controllers`: kube-controller-manager's, as far as people use it.

use crate::scheduler::args::Election;
use crate::telemetry_args::TelemetryArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use stowplan_config::Duration;
use stowplan_controllers::Options;
use stowplan_controllers::node_lifecycle::NodeLifecycleOptions;
use stowplan_controllers::podautoscaler::PodAutoscalerOptions;

const HELP: &str = "\
Takes the place of kube-controller-manager, or runs beside it with other controllers. Without --kubeconfig \
it uses the service account of the pod that it runs in.

Examples:
  stowplan controllers --kubeconfig ~/.kube/config
  stowplan controllers --kubeconfig ~/.kube/config --controllers '*,-cronjob-controller'

Exit status:
  0  it was stopped (SIGINT, SIGTERM)
  1  a file is wrong, the lease is lost, or something broke
  2  the command line is wrong";

/// Run Kubernetes' controllers on a cluster, in place of kube-controller-manager.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Controllers {
    /// The kubeconfig of the cluster [default: the pod's service account].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address of the API server, in place of the one in the kubeconfig.
    #[arg(long, value_name = "URL", value_parser = crate::address::master)]
    pub(crate) master: Option<http::Uri>,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    /// The CA certificates for the ConfigMap kube-root-ca.crt of each namespace, by which pods verify the API
    /// server. Without this flag there is no such ConfigMap.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) root_ca_file: Option<PathBuf>,

    /// The key that signs the tokens in Secrets (PEM: RSA, or ECDSA on P-256). Without it these Secrets stay
    /// empty.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) service_account_private_key_file: Option<PathBuf>,

    /// How many requests to send per second; 0 for no limit.
    #[arg(long, value_name = "NUMBER", default_value_t = 20.0)]
    pub(crate) kube_api_qps: f32,

    /// How many requests to send at once.
    #[arg(long, value_name = "NUMBER", default_value_t = 30)]
    pub(crate) kube_api_burst: i32,

    #[command(flatten)]
    pub(crate) election: Election,

    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

/// Which controllers run, and what they are told. `stowplan up` takes the same flags.
#[derive(Args, Debug, Clone)]
pub(crate) struct Chosen {
    /// Which controllers to run: '*' for all, NAME for one, -NAME for all but one.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub(crate) controllers: Vec<String>,

    /// From how many nodes per second pods are evicted when nodes of a healthy zone fail.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.1)]
    node_eviction_rate: f32,

    /// The same for a large zone that is unhealthy.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.01)]
    secondary_node_eviction_rate: f32,

    /// A zone with more nodes than this is large.
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    large_cluster_size_threshold: usize,

    /// Which share of a zone's nodes has to be not ready for the zone to be unhealthy.
    #[arg(long, value_name = "SHARE", default_value_t = 0.55)]
    unhealthy_zone_threshold: f32,

    /// How often the status of nodes is checked [default: 5s].
    #[arg(long, value_name = "DURATION")]
    node_monitor_period: Option<Duration>,

    /// How long a running node may be unresponsive before it is marked unhealthy [default: 50s].
    #[arg(long, value_name = "DURATION")]
    node_monitor_grace_period: Option<Duration>,

    /// How long a starting node may be unresponsive before it is marked unhealthy [default: 1m].
    #[arg(long, value_name = "DURATION")]
    node_startup_grace_period: Option<Duration>,

    /// How many finished pods are kept before the oldest are deleted; 0 keeps all.
    #[arg(long, value_name = "NUMBER", default_value_t = 12_500)]
    terminated_pod_gc_threshold: i32,

    #[command(flatten)]
    autoscaling: Autoscaling,
}

impl Chosen {
    /// What controllers are told.
    pub(crate) fn options(&self) -> Options {
        let usual = NodeLifecycleOptions::default();
        Options {
            finished_pods_max: self.terminated_pod_gc_threshold,
            node_lifecycle: NodeLifecycleOptions {
                monitor_period: given(self.node_monitor_period, usual.monitor_period),
                monitor_grace: given(self.node_monitor_grace_period, usual.monitor_grace),
                startup_grace: given(self.node_startup_grace_period, usual.startup_grace),
                eviction_rate: self.node_eviction_rate,
                secondary_eviction_rate: self.secondary_node_eviction_rate,
                large_cluster: self.large_cluster_size_threshold,
                unhealthy_zone: self.unhealthy_zone_threshold,
            },
            pod_autoscaler: self.autoscaling.options(),
            ..Options::default()
        }
    }
}

/// How HorizontalPodAutoscalers work.
#[derive(Args, Debug, Clone)]
struct Autoscaling {
    /// How often each HorizontalPodAutoscaler is synced [default: 15s].
    #[arg(long, value_name = "DURATION")]
    horizontal_pod_autoscaler_sync_period: Option<Duration>,

    /// How long an autoscaler looks back, to scale down no further than it recommended in that time [default: 5m].
    #[arg(long, value_name = "DURATION")]
    horizontal_pod_autoscaler_downscale_stabilization: Option<Duration>,

    /// By which share a metric may differ from its target before anything is scaled.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    horizontal_pod_autoscaler_tolerance: f64,

    /// For how long after its start samples of a pod's cpu may be passed over [default: 5m].
    #[arg(long, value_name = "DURATION")]
    horizontal_pod_autoscaler_cpu_initialization_period: Option<Duration>,

    /// For how long after its start a pod that becomes ready counts as ready for the first time [default:
    /// 30s].
    #[arg(long, value_name = "DURATION")]
    horizontal_pod_autoscaler_initial_readiness_delay: Option<Duration>,

    /// How many HorizontalPodAutoscalers are synced concurrently.
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = positive)]
    concurrent_horizontal_pod_autoscaler_syncs: usize,
}

fn positive(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "a number above 0 is expected".to_owned())
}

impl Autoscaling {
    fn options(&self) -> PodAutoscalerOptions {
        let usual = PodAutoscalerOptions::default();
        PodAutoscalerOptions {
            sync_period: given(
                self.horizontal_pod_autoscaler_sync_period,
                usual.sync_period,
            ),
            downscale_stabilization: given(
                self.horizontal_pod_autoscaler_downscale_stabilization,
                usual.downscale_stabilization,
            ),
            tolerance: self.horizontal_pod_autoscaler_tolerance,
            cpu_initialization_period: given(
                self.horizontal_pod_autoscaler_cpu_initialization_period,
                usual.cpu_initialization_period,
            ),
            initial_readiness_delay: given(
                self.horizontal_pod_autoscaler_initial_readiness_delay,
                usual.initial_readiness_delay,
            ),
            workers: self.concurrent_horizontal_pod_autoscaler_syncs,
        }
    }
}

/// The span that was given, or the usual one.
fn given(span: Option<Duration>, usual: std::time::Duration) -> std::time::Duration {
    let nanos = span.and_then(|span| u64::try_from(span.as_nanos()).ok());
    nanos.map_or(usual, std::time::Duration::from_nanos)
}
