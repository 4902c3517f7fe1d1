//! The command line of `stowplan jobs`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Serves a durable job queue that clients of Faktory speak with, or works with one.
///
/// Without a command it serves: prints `listening on ADDRESS` when it is ready, and runs until it is told to stop
/// (SIGINT, SIGTERM). What it answered with OK is on disk. See docs/jobs.md.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Jobs {
    #[command(flatten)]
    pub(super) serve: Serve,

    #[command(subcommand)]
    pub(super) what: Option<What>,
}

#[derive(Args, Debug)]
pub(super) struct Serve {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7419")]
    pub(super) listen: SocketAddr,

    /// Where the jobs are kept; made if it is missing
    /// [default: stowplan/jobs in $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) data_dir: Option<PathBuf>,

    /// A file whose first line is the password that clients must know.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) password_file: Option<PathBuf>,

    /// The certificate to show, in PEM, with those that lead to its CA: connections speak TLS then.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file", value_hint = ValueHint::FilePath)]
    pub(super) tls_cert_file: Option<PathBuf>,

    /// The key of the certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file", value_hint = ValueHint::FilePath)]
    pub(super) tls_private_key_file: Option<PathBuf>,

    /// Serves /metrics and /healthz at this address, without TLS.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(super) metrics_listen: Option<SocketAddr>,

    /// How long a worker that lost its last connection may take to come back to its jobs.
    #[arg(long, value_name = "SPAN", default_value = "15s")]
    pub(super) reclaim_after: String,

    /// A FETCH is answered when its lease is on disk, too. It is slower; see docs/jobs.md.
    #[arg(long)]
    pub(super) durable_leases: bool,

    /// How many retries of each queue may begin per second; 0 is any number.
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub(super) retry_rate: f64,
}

/// Which server is meant.
#[derive(Args, Debug)]
pub(super) struct Server {
    /// The address of the server.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7419")]
    pub(super) server: String,

    /// A file whose first line is its password.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) password_file: Option<PathBuf>,

    /// How to print.
    #[arg(short, long, value_enum, default_value_t)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Output {
    /// A table, or a line.
    #[default]
    Table,
    /// JSON.
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum State {
    Queued,
    Scheduled,
    Working,
    Retries,
    Dead,
}

/// Which jobs are meant.
#[derive(Args, Debug)]
pub(super) struct Which {
    /// Their names.
    #[arg(value_name = "JID")]
    pub(super) jids: Vec<String>,
    /// Where they stand.
    #[arg(long, value_enum)]
    pub(super) state: Option<State>,
    /// Their queue.
    #[arg(long)]
    pub(super) queue: Option<String>,
    /// Their type.
    #[arg(long = "type", value_name = "JOBTYPE")]
    pub(super) kind: Option<String>,
    /// Whose they are.
    #[arg(long)]
    pub(super) tenant: Option<String>,
    /// How they failed, as `list` and `errors` show it.
    #[arg(long)]
    pub(super) fingerprint: Option<String>,
    /// Only says how many it would be.
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum What {
    /// Pushes a job.
    Push {
        /// Its type.
        jobtype: String,
        /// Its arguments: JSON, or else a text.
        args: Vec<String>,
        /// Its queue.
        #[arg(long, default_value = "default")]
        queue: String,
        /// Not before that (RFC 3339).
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        /// How often it is retried.
        #[arg(long, allow_negative_numbers = true, default_value_t = 25)]
        retry: i32,
        /// From 1 to 9, which is served first.
        #[arg(long)]
        priority: Option<u8>,
        /// Whose it is.
        #[arg(long)]
        tenant: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Lists queues, or the jobs that are meant.
    List {
        #[command(flatten)]
        which: Which,
        /// At most so many.
        #[arg(long, default_value_t = 100)]
        limit: u64,
        #[command(flatten)]
        server: Server,
    },
    /// Shows a job with all its errors.
    Show {
        /// Its name.
        jid: String,
        #[command(flatten)]
        server: Server,
    },
    /// Lists dead jobs by what went wrong.
    Errors {
        #[command(flatten)]
        server: Server,
    },
    /// Lists workers.
    Workers {
        #[command(flatten)]
        server: Server,
    },
    /// Runs jobs now that are scheduled, failed or dead.
    Retry {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        server: Server,
    },
    /// Makes jobs dead that do not run.
    Kill {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        server: Server,
    },
    /// Brings dead jobs back.
    Redrive {
        #[command(flatten)]
        which: Which,
        /// So many per second; 0 is all at once.
        #[arg(long, default_value_t = 0.0)]
        rate: f64,
        #[command(flatten)]
        server: Server,
    },
    /// Jobs of these queues wait until they are resumed; `*` is all.
    Pause(Queues),
    /// Jobs of these queues go on.
    Resume(Queues),
    /// These queues take no new jobs.
    Drain(Queues),
    /// Loads a server with jobs of the queue `bench`, and says how fast it is.
    Bench {
        /// What the connections do.
        #[arg(value_enum)]
        load: Load,
        /// How many there are.
        #[arg(long, default_value_t = 64)]
        connections: usize,
        /// How many jobs.
        #[arg(long, default_value_t = 100_000)]
        jobs: u64,
        /// How many jobs a push has.
        #[arg(long, default_value_t = 1)]
        batch: u64,
        /// How many commands of a connection are on their way at once.
        #[arg(long, default_value_t = 1)]
        pipeline: usize,
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Args, Debug)]
pub(super) struct Queues {
    /// Their names.
    #[arg(required = true)]
    pub(super) queues: Vec<String>,
    #[command(flatten)]
    pub(super) server: Server,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Load {
    /// Push.
    Push,
    /// Fetch and acknowledge.
    Work,
    /// Half of them push, half work.
    Both,
}
