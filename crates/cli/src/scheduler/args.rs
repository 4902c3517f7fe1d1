//! The command line of `stowplan scheduler`: kube-scheduler's, as far as people use it.

use super::leftovers::Leftovers;
use super::secure::Secure;
use crate::telemetry_args::TelemetryArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use stowplan_config::Duration;

const HELP: &str = "\
Takes the place of kube-scheduler, with the same configuration file and the same permissions (the cluster \
role system:kube-scheduler). Without --kubeconfig it uses the service account of the pod that it runs in.

On the secure port it serves /healthz, /livez, /readyz, /configz, /metrics, /metrics/resources and \
/metrics/slis. The first three are public. For the others the API server authenticates callers \
(TokenReview) and authorizes them (SubjectAccessReview).

Examples:
  stowplan scheduler --kubeconfig ~/.kube/config
  stowplan scheduler --config /etc/kubernetes/scheduler.yaml

Exit status:
  0  it was stopped (SIGINT, SIGTERM)
  1  a file is wrong, the lease is lost, or something broke
  2  the command line is wrong";

/// Schedule the pods of a cluster, in place of kube-scheduler.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Scheduler {
    /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// The kubeconfig of the cluster [default: clientConnection.kubeconfig of the configuration, else
    /// the pod's service account].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address of the API server, in place of the one in the kubeconfig.
    #[arg(long, value_name = "URL", value_parser = crate::address::master)]
    pub(crate) master: Option<http::Uri>,

    /// The seed for the choice among equally good nodes.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) secure: Secure,

    /// The kubeconfig of the API server that reviews the tokens of callers of the secure port (TokenReview)
    /// [default: the cluster's].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) authentication_kubeconfig: Option<PathBuf>,

    /// The kubeconfig of the API server that authorizes callers of the secure port (SubjectAccessReview)
    /// [default: the cluster's].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,

    /// How many requests to send per second. With --config, its clientConnection.qps is used.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) kube_api_qps: Option<f32>,

    /// How many requests to send at once. With --config, its clientConnection.burst is used.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) kube_api_burst: Option<i32>,

    /// Accepted without effect: there is no profiling.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) profiling: Option<bool>,

    /// Feature gates, as A=true,B=false. Only the default values of kube-scheduler v1.36.4 are accepted.
    #[arg(long, value_name = "GATES")]
    pub(crate) feature_gates: Vec<String>,

    /// Write the configuration with all defaults to this file, and exit.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write_config_to: Option<PathBuf>,

    /// Accepted without effect: no metric is hidden. Only 1.35, the previous version, is valid.
    #[arg(long, value_name = "VERSION", value_parser = ["", "1.35"])]
    pub(crate) show_hidden_metrics_for_version: Option<String>,

    /// Accepted without effect: pattern=N,...
    #[arg(long, value_name = "PATTERNS")]
    pub(crate) vmodule: Option<String>,

    #[command(flatten)]
    pub(crate) leftovers: Leftovers,

    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,

    #[command(flatten)]
    pub(crate) election: Election,
}

/// Which of several schedulers works. What is given here counts more than the configuration.
#[derive(Args, Debug, Default)]
pub(crate) struct Election {
    /// Work only while holding a Lease [default: true].
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) leader_elect: Option<bool>,

    /// How long other replicas wait before they try to take over from a leader that does not renew its
    /// Lease [default: 15s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_lease_duration: Option<Duration>,

    /// How long the leader tries to renew its Lease before it gives up [default: 10s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_renew_deadline: Option<Duration>,

    /// How long to wait between tries to acquire or renew the Lease [default: 2s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) leader_elect_retry_period: Option<Duration>,

    /// The kind of the lock. Only leases is supported.
    #[arg(long, value_name = "KIND")]
    pub(crate) leader_elect_resource_lock: Option<String>,

    /// The name of the Lease.
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_elect_resource_name: Option<String>,

    /// The namespace of the Lease.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: Option<String>,
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;
    use stowplan_config::KubeSchedulerConfiguration;

    fn read(path: &str) -> String {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        std::fs::read_to_string(folder.join(path)).unwrap()
    }

    /// The values of the only list under `args:`, as they are written.
    fn arguments(text: &str) -> Vec<String> {
        let (_, args) = text.split_once("args:\n").unwrap();
        let lines = args
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("{{-"));
        let values = lines.map_while(|line| line.strip_prefix("- "));
        let values = values.filter(|value| !value.starts_with("{{"));
        values
            .map(|value| value.replace("{{ .Values.securePort }}", "10259"))
            .collect()
    }

    #[test]
    fn the_arguments_in_deploy_are_understood() {
        for file in [
            "manifests/deployment.yaml",
            "chart/templates/deployment.yaml",
        ] {
            let mut line = vec!["stowplan".to_owned()];
            line.extend(arguments(&read(file)));
            // As values.yaml suggests.
            line.push("-v=4".to_owned());
            let parsed = Cli::try_parse_from(&line);
            let parsed = parsed.unwrap_or_else(|error| panic!("{file}: {line:?}: {error}"));
            let Command::Scheduler(args) = parsed.command else {
                panic!("{file} starts another command");
            };
            assert_eq!(args.secure.secure_port, 10259, "{file}");
            assert!(args.config.is_some(), "{file}");
        }
    }

    /// What kubeadm 1.36 writes into its manifest, with what hardening guides add.
    #[test]
    fn the_command_line_of_kubeadm_is_understood() {
        let line = [
            "stowplan",
            "scheduler",
            "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
            "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
            "--bind-address=127.0.0.1",
            "--kubeconfig=/etc/kubernetes/scheduler.conf",
            "--leader-elect=true",
            "--profiling=false",
        ];
        let Command::Scheduler(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(args.authentication_kubeconfig, args.kubeconfig);
        assert_eq!(args.authorization_kubeconfig, args.kubeconfig);
        assert_eq!(args.profiling, Some(false));
    }

    #[test]
    fn the_configuration_in_deploy_is_understood() {
        let text = read("manifests/config.yaml");
        let (_, inner) = text.split_once("config.yaml: |\n").unwrap();
        let lines = inner
            .lines()
            .map(|line| line.strip_prefix("    ").unwrap_or(line));
        let inner: Vec<_> = lines.collect();
        let config = KubeSchedulerConfiguration::from_text(&inner.join("\n")).unwrap();
        assert!(config.leader_election.leader_elect);
        assert_eq!(config.leader_election.resource_name, "stowplan-scheduler");
    }
}
