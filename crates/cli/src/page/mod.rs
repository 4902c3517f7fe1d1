//! The page, beside `stowplan up` or by itself.

pub(crate) mod args;
mod leader;
mod open;

use crate::Verdict;
use crate::explain::live;
use crate::output;
use crate::up;
use anyhow::{Context, Result};
use args::Served;
use kube::Client;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use stowplan_env::System;
use stowplan_page::{Leader, Page, PageListener};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Where the page is, unless something else is there.
const USUAL: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7070);

/// A bound address and the page that will be served there.
pub(crate) struct Opened {
    listener: PageListener,
    page: Arc<Page>,
    no_open: bool,
}

/// A page that is served, until it is dropped.
pub(crate) struct Serving {
    _stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Waits for the end, which nobody brings about.
    pub(crate) async fn last(self) {
        let _ = self.task.await;
    }
}

/// Binds the address for the page of the cluster that this client asks.
pub(crate) async fn bind(
    args: &Served,
    client: Client,
    leader: Option<Arc<dyn Leader>>,
) -> Result<Opened> {
    let listener = match args.page_listen {
        Some(address) => PageListener::bind(address)
            .await
            .with_context(|| format!("--page-listen: cannot listen on {address}"))?,
        None => usual().await.context("the page cannot be served")?,
    };
    let page = Page::new(listener.address()?, client, leader, Arc::new(System::new()));
    Ok(Opened {
        listener,
        page,
        no_open: args.no_open,
    })
}

/// The usual port, or a free one if somebody has it.
async fn usual() -> std::io::Result<PageListener> {
    match PageListener::bind(USUAL).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            PageListener::bind(SocketAddr::new(USUAL.ip(), 0)).await
        }
        bound => bound,
    }
}

impl Opened {
    /// Serves, and prints the link.
    pub(crate) fn serve(self) -> Result<Serving> {
        let link = self.page.link().context("the system gives no randomness")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let task = tokio::spawn(self.listener.serve(self.page, stopped));
        output::print(&format!("page: {link}\n"))?;
        if !self.no_open {
            open::browser(&link);
        }
        Ok(Serving { _stop: stop, task })
    }
}

/// `stowplan page`.
pub(crate) fn run(args: &args::Page) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(serve(args))?;
    Ok(Verdict::AllPlaced)
}

async fn serve(args: &args::Page) -> Result<()> {
    let stop = up::stop_signal()?;
    args.telemetry.begin();
    let mut config = live::connection(args.kubeconfig.as_deref()).await?;
    // A watch may have nothing to say for long.
    config.read_timeout = None;
    let client = Client::try_from(config.clone()).context("cannot make a client")?;
    let leader =
        leader::LeaderOfCluster::new(args, config, client.clone(), Arc::new(System::new()));
    let serving = bind(&args.served, client, Some(Arc::new(leader)))
        .await?
        .serve()?;
    tokio::select! {
        () = stop => {}
        () = serving.last() => {}
    }
    Ok(())
}
