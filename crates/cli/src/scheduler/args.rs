//! The command line of `stowplan scheduler`: kube-scheduler's, as far as people use it.

use clap::{Args, ValueHint};
use std::path::PathBuf;
use stowplan_api::config::Duration;

const HELP: &str = "\
Takes the place of kube-scheduler: the same configuration file, the same rights (the cluster role \
system:kube-scheduler). Of kube-scheduler's flags it has those above; it serves no port and holds no \
lease yet. Without --kubeconfig it takes the service account of the pod that it runs in.

Examples:
  stowplan scheduler --kubeconfig ~/.kube/config
  stowplan scheduler --config /etc/kubernetes/scheduler.yaml

Exit status:
  0  it was told to stop (SIGINT, SIGTERM)
  1  a file is wrong, or something broke
  2  the command line is wrong";

/// Schedules the pods of a cluster, in place of kube-scheduler.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Scheduler {
    /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// How to reach the cluster [default: clientConnection.kubeconfig of the configuration, else
    /// the pod's service account].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address of the API server, in place of the one in the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(crate) master: Option<String>,

    /// Where several nodes are equally good, this number decides.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) election: Election,
}

/// Which of several schedulers works. What is given here counts more than the configuration.
#[derive(Args, Debug, Default)]
pub(crate) struct Election {
    /// Whether to work only while holding a lease. It cannot yet, and warns.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) leader_elect: Option<bool>,

    /// How long others wait for a sign of the leader: 15s.
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_lease_duration: Option<Duration>,

    /// How long the leader tries to give one before it steps down: 10s.
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_renew_deadline: Option<Duration>,

    /// How long to wait between tries: 2s.
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_retry_period: Option<Duration>,

    /// The kind of the lock; leases is the only one.
    #[arg(long, value_name = "KIND")]
    pub(crate) leader_elect_resource_lock: Option<String>,

    /// The name of the lock.
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_elect_resource_name: Option<String>,

    /// The namespace of the lock.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: Option<String>,
}
