//! The command line.

use crate::controllers::args::{Chosen, Controllers};
use crate::drain::args::Drain;
use crate::jobs::args::Jobs;
use crate::man::Man;
use crate::nodes::RuntimeArgs;
use crate::nodes::args::{Alike, Node, Nodes};
use crate::output::Format;
use crate::page::args::{Page, UpPage};
use crate::scheduler::args::Scheduler;
use crate::telemetry_args::TelemetryArgs;
use crate::top::Top;
use crate::up::demo::DemoArgs;
use crate::version::Version;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  # Where would everything in this folder go?
  stowplan simulate -f examples/cluster

  # And what is pending in a live cluster?
  kubectl get nodes,pods,pdb -A -o json | stowplan simulate -f -

  # Why does this pod not fit?
  stowplan explain shop/web-0 -f cluster.json

Exit status:
  0  every pod has a place
  1  an input is wrong, or something broke
  2  the command line is wrong
  3  some pod stays pending";

/// Decides what runs where, as kube-scheduler v1.36.4 does, and says why.
#[derive(Parser, Debug)]
#[command(name = "stowplan", version, about, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        display_order = 900
    )]
    pub(crate) color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Up(Box<Up>),
    Scheduler(Box<Scheduler>),
    Controllers(Box<Controllers>),
    Nodes(Box<Nodes>),
    Node(Node),
    Simulate(Simulate),
    Explain(Explain),
    Drain(Drain),
    Page(Page),
    Top(Top),
    Jobs(Box<Jobs>),
    Bench(Bench),
    Completions(Completions),
    Man(Man),
    Version(Version),
}

/// Run a Kubernetes cluster in one process: an API server, a scheduler, controllers, and nodes that simulate
/// what runs on them.
///
/// Prints `kubeconfig: PATH` when it is ready, and runs until it is stopped (SIGINT, SIGTERM).
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// The folder for objects, certificates and the kubeconfig; created if it is missing
    /// [default: stowplan in $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,

    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    pub(crate) listen: std::net::SocketAddr,

    /// Another name or address by which clients reach the server; its certificate includes it. Requests
    /// for other names are refused. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_san: Vec<String>,

    /// Keep objects in memory only. They are lost when the process ends.
    #[arg(long)]
    pub(crate) memory: bool,

    /// Where to write the kubeconfig [default: kubeconfig in the data folder; with --memory
    /// kubeconfig-memory, unless --data-dir is given].
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Append one line of JSON per request to this file, or to standard output if it is `-`
    /// (audit.k8s.io/v1 Events of level Metadata).
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) audit_log: Option<PathBuf>,

    /// Run no scheduler.
    #[arg(long)]
    pub(crate) no_scheduler: bool,

    /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) for the scheduler.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "no_scheduler"
    )]
    pub(crate) scheduler_config: Option<PathBuf>,

    /// Serve the scheduler's health checks and metrics on this address, over TLS; port 0 takes a free
    /// one. kube-scheduler uses port 10259.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "no_scheduler")]
    pub(crate) scheduler_listen: Option<std::net::SocketAddr>,

    /// Run no controllers.
    #[arg(long)]
    pub(crate) no_controllers: bool,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    /// How many nodes to simulate. Nodes that are created with the annotation kwok.x-k8s.io/node: fake are
    /// simulated, too.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) nodes: u32,

    /// Simulate no nodes.
    #[arg(long, conflicts_with = "nodes")]
    pub(crate) no_nodes: bool,

    /// The memory of a node.
    #[arg(
        long,
        value_name = "QUANTITY",
        default_value = "32Gi",
        help_heading = "Simulated nodes"
    )]
    pub(crate) node_memory: String,

    #[command(flatten)]
    pub(crate) alike: Alike,

    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,

    /// Listen where others reach it, although they could run commands here then.
    #[arg(long, help_heading = "Pods that really run")]
    pub(crate) allow_remote: bool,

    #[command(flatten)]
    pub(crate) demo: DemoArgs,

    #[command(flatten)]
    pub(crate) page: UpPage,

    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

impl Up {
    /// Whether nothing is kept when the process ends.
    pub(crate) fn in_memory(&self) -> bool {
        self.memory || (self.demo.demo && self.data_dir.is_none())
    }
}

/// What a cluster is read from, and how the answer is printed.
#[derive(Args, Debug)]
pub(crate) struct Input {
    /// Manifests: files, folders (with all .yaml, .yml and .json files below them), or `-` for
    /// standard input. May be given several times.
    #[arg(
        short,
        long = "filename",
        required = true,
        num_args = 1..,
        value_name = "PATH",
        value_hint = ValueHint::AnyPath
    )]
    pub(crate) filename: Vec<PathBuf>,

    /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); without it the default
    /// profile is used.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// How to print the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,

    /// The seed for the choice among equally good nodes: the same seed makes the same choice.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) seed: u64,
}

const SIMULATE_HELP: &str = "\
Reads Nodes, Pods, Namespaces, PodDisruptionBudgets, PriorityClasses, PersistentVolumes and their \
claims, StorageClasses, CSI objects, Services, and the workloads Deployment, ReplicaSet, \
StatefulSet, DaemonSet, Job and ReplicationController, which become the pods that they lack: \
web-0, web-1 and so on for a workload web, agent-NODE for a DaemonSet agent. Other kinds are ignored.

Pods are tried in the order of kube-scheduler's queue, on a virtual clock. Preempted pods leave at \
once; those that a workload owns come back under their old name and queue up again.

A node is in use while it holds a pod that is neither static nor of a DaemonSet. The lower bound is \
a number of nodes below which no policy can place the same pods beside those that ran before. It \
considers only amounts of resources.

Examples:
  stowplan simulate -f examples/cluster
  stowplan simulate -f cluster.json -f change.yaml -o wide
  stowplan simulate -f nodes/ apps/ --config scheduler.yaml
  stowplan simulate -f cluster.json --pack best-fit
  stowplan simulate -f cluster.json --pack all
  kubectl get nodes,pods,pdb -A -o json | stowplan simulate -f - -o json

Exit status:
  0  every pod has a place, with --pack all under every policy
  1  an input is wrong, or something broke
  2  the command line is wrong
  3  some pod stays pending";

/// Place the pending pods of a cluster that is read from files, and show the result.
#[derive(Args, Debug)]
#[command(after_help = SIMULATE_HELP)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Choose nodes by this policy, whatever the profiles say, and count the nodes in use.
    #[arg(long, value_enum, ignore_case = true, value_name = "POLICY")]
    pub(crate) pack: Option<Pack>,
}

/// How nodes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Pack {
    /// The first node with room, in the order of the input.
    #[value(alias = "FirstFit")]
    FirstFit,
    /// The node with the least left over.
    #[value(alias = "BestFit")]
    BestFit,
    /// The node with the most left over.
    #[value(alias = "WorstFit")]
    WorstFit,
    /// First fit, with the largest pods first.
    #[value(alias = "FirstFitDecreasing")]
    FirstFitDecreasing,
    /// Scores, among which fuller nodes get more.
    #[value(alias = "MostAllocated")]
    MostAllocated,
    /// Scores, among which emptier nodes get more: the default.
    #[value(alias = "LeastAllocated")]
    LeastAllocated,
    /// Each of these in turn, to compare them.
    All,
}

const EXPLAIN_HELP: &str = "\
POD is the name of a pod, pending or bound. A bound pod is explained as if it were not there yet. In a live \
cluster the scheduler answers: it goes back to the moment of the decision, or says that it cannot. For a \
pending pod it shows what would make it fit.

In manifests, POD may also be one that a workload lacks, and KIND/NAME of a workload (deployment/web, \
job/migrate) stands for one more pod of it.

Examples:
  stowplan explain pod web-0 -n shop
  stowplan explain shop/web-0 --kubeconfig admin.conf -o json
  stowplan explain web-0 -n shop -f cluster.yaml
  stowplan explain shop/web-0 -f cluster.yaml --node a1
  stowplan explain deployment/web -n shop -f cluster.yaml
  stowplan explain shop/report-0 -f cluster.yaml --after-simulation

Exit status:
  0  the pod has a place
  1  an input is wrong, there is no such pod, or something broke
  2  the command line is wrong
  3  the pod fits nowhere, at least not before others are preempted";

/// Explain where a pod can run and why: every node, every plugin, every score.
#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct Explain {
    /// The pod: NAME, NAMESPACE/NAME, `pod NAME`, or, with --filename, KIND/NAME of a workload.
    #[arg(value_name = "POD", num_args = 1..=2, required_unless_present = "filename")]
    words: Vec<String>,

    /// The pod's namespace.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Show only this node, in detail.
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,

    /// The kubeconfig of the cluster [default: KUBECONFIG, ~/.kube/config].
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "filename"
    )]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The secure port of the scheduler, if neither the API server nor its Lease leads to it:
    /// https://HOST:10259. Its certificate (the scheduler's --tls-cert-file) must come from the CA in the
    /// kubeconfig. A caller without a token needs a client certificate that it knows (--client-ca-file).
    #[arg(
        long,
        value_name = "URL",
        value_parser = crate::address::secure_url,
        conflicts_with_all = ["filename", "config"]
    )]
    pub(crate) scheduler: Option<http::Uri>,

    /// The Lease whose holder is asked, and trusted, if the API server does not answer itself [default:
    /// kube-system/kube-scheduler].
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        conflicts_with_all = ["filename", "config", "scheduler"]
    )]
    pub(crate) lease: Option<String>,

    /// Do not check the certificate of --scheduler. Whoever listens there gets your token.
    #[arg(long, requires = "scheduler")]
    pub(crate) insecure_skip_tls_verify: bool,

    /// Read manifests instead: files, folders (with all .yaml, .yml and .json files below
    /// them), or `-` for standard input. May be given several times.
    #[arg(
        short,
        long = "filename",
        num_args = 1..,
        value_name = "PATH",
        value_hint = ValueHint::AnyPath
    )]
    filename: Vec<PathBuf>,

    /// With --filename: place the other pending pods first, as `simulate` does.
    #[arg(long, requires = "filename")]
    pub(crate) after_simulation: bool,

    /// Use this KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). Without it, manifests are
    /// explained with the default profile, and in a live cluster the scheduler is asked.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// How to print the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,

    /// With --after-simulation: the seed for the choice among equally good nodes.
    #[arg(
        long,
        default_value_t = 0,
        value_name = "NUMBER",
        requires = "after_simulation"
    )]
    pub(crate) seed: u64,
}

impl Explain {
    /// Finds the pod where it stands behind the files: `explain -f FILE POD`.
    pub(crate) fn complete(mut self) -> Result<Self, clap::Error> {
        let is_pod = |path: &PathBuf| path.as_os_str() != "-" && !path.exists();
        if self.words.is_empty() && self.filename.len() > 1 {
            let last = self.filename.pop_if(|last| is_pod(last));
            self.words
                .extend(last.and_then(|last| last.into_os_string().into_string().ok()));
        }
        match self.words.is_empty() {
            false => Ok(self),
            true => Err(Cli::command().error(
                clap::error::ErrorKind::MissingRequiredArgument,
                "which pod? Expected for example: stowplan explain POD -f PATH",
            )),
        }
    }

    /// The pod that is meant: NAME, NAMESPACE/NAME or KIND/NAME.
    pub(crate) fn pod(&self) -> String {
        match self.words.as_slice() {
            // `pod NAMESPACE/NAME`.
            [kind, name]
                if matches!(kind.as_str(), "pod" | "pods" | "po") && name.contains('/') =>
            {
                name.clone()
            }
            words => words.join("/"),
        }
    }

    /// The manifests that are asked about; `None` for a live cluster.
    pub(crate) fn input(&self) -> Option<Input> {
        (!self.filename.is_empty()).then(|| Input {
            filename: self.filename.clone(),
            config: self.config.clone(),
            output: self.output,
            seed: self.seed,
        })
    }
}

const BENCH_HELP: &str = "\
Runs the engine alone: there is no API server. A decision is a measured pod that is bound, and all \
that the engine does counts: taking in the pod, catching up with the cluster, choosing, preempting, \
taking in the bound pod.

Examples:
  stowplan bench --list
  stowplan bench SchedulingBasic
  stowplan bench 'Topology*' --scale 0.1
  stowplan bench --json > results.jsonl
  stowplan bench --markdown > docs/performance.md

Exit status:
  0  every measured pod has a place
  1  there is no such workload, or something broke
  2  the command line is wrong
  3  some measured pod stays pending";

/// Measure scheduling decisions per second, on scheduler_perf's workloads and on some of our own.
#[derive(Args, Debug)]
#[command(after_help = BENCH_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    /// What to measure, if not the engine.
    #[command(subcommand)]
    pub(crate) part: Option<BenchPart>,

    /// Workloads: parts of names, or whole names with `*` and `?`. Without any, all are run.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// List the workloads, and run none.
    #[arg(long)]
    pub(crate) list: bool,

    /// Print one JSON object per workload and line.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print a page of Markdown, such as docs/performance.md.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// The date on that page [default: today].
    #[arg(long, value_name = "DATE", requires = "markdown")]
    pub(crate) date: Option<String>,

    /// Run this share of every workload: 0.1 is a tenth of the nodes and of the pods.
    #[arg(long, default_value_t = 1.0, value_name = "SHARE", value_parser = share)]
    pub(crate) scale: f64,

    /// Leave out the sample of the plain path, and with it the ratio.
    #[arg(long)]
    pub(crate) no_plain: bool,

    /// Record the best nodes of each attempt and time its parts, as the live scheduler does.
    #[arg(long)]
    pub(crate) records: bool,

    /// Run all workloads in this process, for profilers, instead of one process each.
    #[arg(long)]
    pub(crate) in_process: bool,

    /// Be such a process.
    #[arg(long, hide = true)]
    pub(crate) child: bool,

    /// Be a process that writes to so many bytes of memory.
    #[arg(long, hide = true, value_name = "BYTES")]
    pub(crate) touch: Option<u64>,
}

/// What else can be measured.
#[derive(Subcommand, Debug)]
pub(crate) enum BenchPart {
    Server(BenchServer),
}

const BENCH_SERVER_HELP: &str = "\
Starts `stowplan up` in a process of its own, on a folder of its own, and asks it over TLS from this \
process, on the same cores: 64 clients with a connection each create and bind pods, one lists 10,000 of \
them, 1,000 watches on 50 connections wait for events. At last pods are created in this process, in \
memory. CPU columns are the time on a core per operation.

Examples:
  stowplan bench server
  stowplan bench server --json --scale 0.1
  stowplan bench server --data-dir /var/tmp";

/// Measure the API server: start, memory, creates, binds, lists, watches.
#[derive(Args, Debug)]
#[command(after_help = BENCH_SERVER_HELP)]
pub(crate) struct BenchServer {
    /// Print one JSON object per figure and line.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print a table in Markdown, such as in docs/performance.md.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// Make this share of the requests and watches; names of figures stay those of the whole.
    #[arg(long, default_value_t = 1.0, value_name = "SHARE", value_parser = share)]
    pub(crate) scale: f64,

    /// Where to make folders for the server's files [default: that for temporary files]. On a
    /// disk, if durable writes shall be measured.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number above 0 and up to 1".to_owned()),
    }
}

/// Print a script that completes commands and options in a shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(stowplan completions bash)
  stowplan completions zsh > \"${fpath[1]}/_stowplan\"
  stowplan completions fish > ~/.config/fish/completions/stowplan.fish
  stowplan completions nushell > ~/.config/nushell/autoload/stowplan.nu")]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// A shell that completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    #[value(name = "powershell")]
    Power,
    Zsh,
}

impl Completions {
    /// The script.
    pub(crate) fn script(&self) -> String {
        use clap_complete::{generate, shells};
        let mut out = Vec::new();
        let (command, name) = (&mut Cli::command(), "stowplan");
        match self.shell {
            Shell::Bash => generate(shells::Bash, command, name, &mut out),
            Shell::Elvish => generate(shells::Elvish, command, name, &mut out),
            Shell::Fish => generate(shells::Fish, command, name, &mut out),
            Shell::Nushell => generate(clap_complete_nushell::Nushell, command, name, &mut out),
            Shell::Power => generate(shells::PowerShell, command, name, &mut out),
            Shell::Zsh => generate(shells::Zsh, command, name, &mut out),
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_makes_sense() {
        Cli::command().debug_assert();
    }
}
