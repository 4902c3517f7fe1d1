//! The command line of `stowplan drain`: kubectl's, and what a dry run takes besides.

use crate::args::Input;
use crate::output::Format;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::labels::{self, Selector};
use stowplan_config::Duration;

const HELP: &str = "\
With --dry-run nothing is changed: the drain is simulated on a copy of the cluster, with the \
scheduler that ships. It says where each pod would go, what would block, and how long budgets would \
make it wait. A pod is taken to end when its grace period does, and another one to be ready --startup \
after it was bound. Pods that are pending are placed first, as `simulate` does.

Without --dry-run it does what `kubectl drain` does: it cordons the nodes and evicts their pods, one \
node after the other. An eviction that a budget refuses is tried again every five seconds.

Examples:
  stowplan drain node-a-1 --dry-run
  stowplan drain node-a-1 --dry-run --ignore-daemonsets -o json
  stowplan drain worker-a1 --dry-run --force -f examples/cluster
  stowplan drain -l topology.kubernetes.io/zone=a --dry-run -f dump.json
  stowplan drain node-a-1 --ignore-daemonsets --timeout 5m

Exit status:
  0  every pod goes and its replacement has a place
  1  an input is wrong, or something broke
  2  the command line is wrong
  3  something is left, blocked, or without a place";

/// Drain nodes, or show what a drain would do.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Drain {
    /// The nodes to drain.
    #[arg(
        value_name = "NODE",
        required_unless_present = "selector",
        conflicts_with = "selector"
    )]
    pub(super) nodes: Vec<String>,

    /// Drain all nodes with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = selector)]
    pub(super) selector: Option<Labels>,

    /// Change nothing, and show what would happen.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Continue even if there are pods that do not declare a controller.
    #[arg(long)]
    pub(super) force: bool,

    /// Ignore DaemonSet-managed pods.
    #[arg(long)]
    pub(super) ignore_daemonsets: bool,

    /// Continue even if there are pods using emptyDir (local data that will be deleted when the node
    /// is drained).
    #[arg(long)]
    pub(super) delete_emptydir_data: bool,

    /// How many seconds each pod has to terminate. If negative, the pod's own grace period is used.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = -1,
        allow_hyphen_values = true
    )]
    pub(super) grace_period: i64,

    /// How long to wait before giving up on a node; 0s is infinite.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    pub(super) timeout: Duration,

    /// Do not wait for pods that have been on their way out for more than so many seconds; 0 waits for all.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(super) skip_wait_for_delete_timeout: u64,

    /// Drain only pods with these labels.
    #[arg(long, value_name = "SELECTOR", value_parser = selector)]
    pub(super) pod_selector: Option<Labels>,

    /// Delete pods instead of evicting them, whatever budgets say.
    #[arg(long)]
    pub(super) disable_eviction: bool,

    /// The kubeconfig of the cluster [default: KUBECONFIG, ~/.kube/config].
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "filename"
    )]
    pub(super) kubeconfig: Option<PathBuf>,

    /// With --dry-run: read manifests instead: files, folders (with all .yaml, .yml and .json files
    /// below them), or `-` for standard input. May be given several times.
    #[arg(
        short,
        long = "filename",
        requires = "dry_run",
        value_name = "PATH",
        value_hint = ValueHint::AnyPath
    )]
    pub(super) filename: Vec<PathBuf>,

    /// With --dry-run: how long a new pod takes from its binding until it is ready.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        requires = "dry_run"
    )]
    pub(super) startup: Duration,

    /// With --dry-run: the KubeSchedulerConfiguration to schedule by; without it the default profile.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "dry_run"
    )]
    pub(super) config: Option<PathBuf>,

    /// With --dry-run: how to print the answer.
    #[arg(
        short,
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        requires = "dry_run"
    )]
    pub(super) output: Format,

    /// With --dry-run: the seed for the choice among equally good nodes.
    #[arg(long, default_value_t = 0, value_name = "NUMBER", requires = "dry_run")]
    pub(super) seed: u64,
}

impl Drain {
    /// The manifests that are asked about; `None` for a live cluster.
    pub(super) fn input(&self) -> Option<Input> {
        (!self.filename.is_empty()).then(|| Input {
            filename: self.filename.clone(),
            config: self.config.clone(),
            output: self.output,
            seed: self.seed,
        })
    }

    /// `--grace-period`, if it is meant.
    pub(super) fn grace_seconds(&self) -> Option<i64> {
        (self.grace_period >= 0).then_some(self.grace_period)
    }
}

/// A label selector, and its text.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    pub(super) text: String,
    selector: Selector,
}

impl Labels {
    /// Whether an object with these labels is meant.
    pub(super) fn hold(&self, labels: Option<&std::collections::BTreeMap<String, String>>) -> bool {
        let label = |key: &str| labels?.get(key).map(String::as_str);
        self.selector.holds(label)
    }
}

fn selector(text: &str) -> Result<Labels, String> {
    let selector = labels::parse(text, &Path::ROOT).map_err(|error| {
        format!("{error}; expected a label selector, as in app=web,tier!=cache")
    })?;
    Ok(Labels {
        text: text.to_owned(),
        selector,
    })
}
