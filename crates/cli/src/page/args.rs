//! The command line of the page.

use crate::address;
use crate::telemetry_args::TelemetryArgs;
use clap::{Args, ValueHint};
use http::Uri;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the page is served, and whether it is opened.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Served {
    /// The address of the page, which has to be on loopback; port 0 takes a free one
    /// [default: 127.0.0.1:7070, or a free port if that is taken].
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Page")]
    pub(super) page_listen: Option<SocketAddr>,

    /// Do not open the page in a browser. It is opened only on a terminal, and where a display is.
    #[arg(long, help_heading = "Page")]
    pub(super) no_open: bool,
}

/// Whether `up` serves the page, and where.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct UpPage {
    /// Serve no page.
    #[arg(long, help_heading = "Page", conflicts_with_all = ["page_listen", "no_open"])]
    pub(crate) no_page: bool,

    #[command(flatten)]
    pub(crate) served: Served,
}

const HELP: &str = "\
Prints `page: LINK`. The link opens the page once, within 15 minutes; whoever opened it has a session until this \
command ends, and for a week at most. The page does whatever this kubeconfig may do, so that one which may only \
read shows everything and changes nothing.

Examples:
  stowplan page
  stowplan page --kubeconfig viewer.conf --page-listen 127.0.0.1:0
  ssh -L 7070:127.0.0.1:7070 HOST stowplan page    # open the link it prints";

/// Serves the page of a cluster on this machine, for a browser.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Page {
    /// The cluster [default: KUBECONFIG, ~/.kube/config].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,

    /// The secure port of the scheduler, where neither the API server nor its Lease says where it is:
    /// https://HOST:10259.
    #[arg(long, value_name = "URL", value_parser = address::secure_url)]
    pub(super) scheduler: Option<Uri>,

    /// The Lease that the scheduler holds, which says where it listens [default:
    /// kube-system/kube-scheduler].
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "scheduler")]
    pub(super) lease: Option<String>,

    #[command(flatten)]
    pub(super) served: Served,

    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
}
