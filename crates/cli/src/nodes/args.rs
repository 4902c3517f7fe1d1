//! The command lines of `stowplan nodes` and `stowplan node`.

use crate::telemetry_args::TelemetryArgs;
use clap::{Args, Subcommand, ValueHint};
use std::net::IpAddr;
use std::path::PathBuf;
use stowplan_config::Duration;

const HELP: &str = "\
Nodes without containers: pods that are bound to them start, become ready, run, exit and are deleted as \
on a real node, and the API is told so as a kubelet would tell it. Works on any cluster, as KWOK does; \
nodes with the annotation kwok.x-k8s.io/node: fake are adopted.

A pod says itself what it does by annotations: stowplan.dev/start-after, stowplan.dev/run-for (such as \
1m30s), stowplan.dev/exit-code. Rules say it for pods that do not (--rules FILE):

  - selector: {matchLabels: {app: batch}}
    startAfter: 2s
    runFor: 5m
    exitCode: 0
    usage: {cpu: 250m, memory: 128Mi}    # or {fraction: 0.5}, or {low: 0.1, high: 0.9, period: 10m}

Without a word a Job's pod completes at once, and others run on.

Examples:
  stowplan nodes --kubeconfig ~/.kube/config --count 12 --zones a,b,c --cpu 8 --memory 32Gi
  stowplan nodes --kubeconfig ~/.kube/config -f nodes.yaml --rules rules.yaml
  stowplan nodes --kubeconfig ~/.kube/config --count 3 --kubelet-port 10250    # for kubectl logs";

/// Simulate nodes and the pods on them, on any cluster.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Nodes {
    /// The kubeconfig of the cluster [default: the pod's service account].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address of the API server, in place of the one in the kubeconfig.
    #[arg(long, value_name = "URL", value_parser = crate::address::master)]
    pub(crate) master: Option<http::Uri>,

    /// Node manifests: files, folders, or `-` for standard input. May be given several times.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) filename: Vec<PathBuf>,

    /// How many nodes to make, beside those of --filename.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) count: u32,

    /// The memory of a node.
    #[arg(
        long,
        value_name = "QUANTITY",
        default_value = "32Gi",
        help_heading = "Simulated nodes"
    )]
    pub(crate) memory: String,

    /// Serve the kubelet of all nodes on this port, so that `kubectl logs` works; 0 for any port
    /// [default: not served].
    #[arg(long, value_name = "PORT")]
    pub(crate) kubelet_port: Option<u16>,

    /// The address of that port. Callers are not asked who they are, so it must be a loopback one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = super::port::loopback)]
    pub(crate) kubelet_address: IpAddr,

    #[command(flatten)]
    pub(crate) alike: Alike,

    #[command(flatten)]
    pub(crate) runtime: super::RuntimeArgs,

    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

/// What simulated nodes are like. `stowplan up` takes the same flags.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Simulated nodes")]
pub(crate) struct Alike {
    /// The zones that nodes are spread over, such as a,b,c.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) zones: Vec<String>,

    /// The cpus of a node.
    #[arg(long, value_name = "QUANTITY", default_value = "8")]
    pub(crate) cpu: String,

    /// How many pods a node takes.
    #[arg(long, value_name = "NUMBER", default_value_t = 110)]
    pub(crate) max_pods: u32,

    /// How many nvidia.com/gpu a node has.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) gpus: u32,

    /// A taint of all nodes, as KEY=VALUE:EFFECT or KEY:EFFECT. May be given several times.
    #[arg(long, value_name = "TAINT", value_parser = super::taint)]
    pub(crate) taint: Vec<super::Taint>,

    /// What the names of nodes begin with.
    #[arg(long, value_name = "TEXT", default_value = "node")]
    pub(crate) prefix: String,

    /// What pods do that do not say so themselves: a YAML file, see `stowplan nodes --help`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rules: Option<PathBuf>,

    /// How long a pod takes to start, if nobody says [default: 1s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) start_after: Option<Duration>,
}

/// Make simulated nodes fail and recover.
#[derive(Args, Debug)]
pub(crate) struct Node {
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What happens to a node.
#[derive(Subcommand, Debug)]
pub(crate) enum What {
    /// Stop the kubelet: no heartbeats, and nothing on the node goes on.
    Fail(Which),
    /// Cut the node off: its pods go on, and are reported when it is back.
    Partition(Which),
    /// Slow the node down: everything that it begins takes longer.
    Slow {
        #[command(flatten)]
        which: Which,
        /// How many times longer.
        #[arg(long, value_name = "NUMBER", default_value_t = 10.0)]
        factor: f64,
    },
    /// End all faults of the node.
    Recover(Which),
}

/// Which nodes are meant.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The names of nodes.
    #[arg(
        value_name = "NAME",
        required_unless_present = "zone",
        conflicts_with = "zone"
    )]
    pub(crate) names: Vec<String>,

    /// All nodes of this zone.
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,

    /// The kubeconfig of the cluster [default: KUBECONFIG, or that of `stowplan up`].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
}
