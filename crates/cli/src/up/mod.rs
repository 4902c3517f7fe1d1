//! `stowplan up`: a Kubernetes API of one's own.

mod decisions;
pub(crate) mod demo;
mod folder;
mod identity;
mod living;

use crate::Verdict;
use crate::args::Up;
use crate::input::read_config;
use crate::output;
use crate::page;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use http::header::DATE;
use identity::Identity;
pub(crate) use identity::write_private;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::Informers;
use stowplan_scheduler::server::{SchedulerServer, SecurePort};
use stowplan_server::{Api, AuditLog, Config, User, token};
use stowplan_store::{Options, Store};
use stowplan_transport::{Certificates, Limits, Listener, Pki, raise_open_files};

/// Serves until the process is told to stop.
pub(crate) fn run(args: &Up) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(serve(args))?;
    Ok(Verdict::AllPlaced)
}

async fn serve(args: &Up) -> Result<()> {
    // Before anything else: whoever is told to stop while starting stops as well.
    let stop = stop_signal()?;
    args.telemetry.begin();
    args.runtime.check(Some((args.listen, args.allow_remote)))?;
    let folder = data_folder(args)?;
    let (store, identity) = match args.in_memory() {
        true => (Store::in_memory(Options::default()), Identity::generate()?),
        false => folder::open(&folder)?,
    };
    let limits = Limits::of_api(raise_open_files());
    let certificates = Certificates::from(identity.pki.clone()).only_for_its_hosts();
    let names = args.tls_san.iter();
    let certificates = names.fold(certificates, |made, name| made.reached_by(name));
    let listener = Listener::bind(args.listen, &certificates, limits)
        .await
        .map_err(|error| cannot_listen(args.listen, &error))?;
    let address = listener.address()?;
    let mut admin = User::new("admin", &["system:masters"]);
    "admin".clone_into(&mut admin.uid);
    let env = demo::clock(&args.demo, &store);
    let api = Api::new(Config {
        env: env.clone(),
        store: store.clone(),
        tokens: BTreeMap::from([(identity.admin_token.clone(), admin.clone())]),
        token_key: Some(token::Key::from_pkcs8(&identity.token_key)?),
    })
    .await
    .context("what every cluster has cannot be stored")?;
    // A quota that is new holds at once, and not only when its controller has counted.
    api.count_quotas();
    let told = api.advertise(address).await;
    told.context("where this server is cannot be stored")?;
    if let Some(path) = &args.audit_log {
        let log = AuditLog::open(path);
        let cannot = || format!("cannot open the audit log {}", path.display());
        api.audit_to(log.with_context(cannot)?);
    }
    // A kind is watched once in this process, whoever reads it.
    let informers = living::informers(&api, &env);
    let scheduler = match args.no_scheduler {
        true => None,
        false => {
            let started = scheduler(args, (&api, &env), &identity.pki, informers.clone());
            Some(started.await?)
        }
    };
    if let Some(scheduler) = &scheduler {
        api.decide_by(Box::new(decisions::EmbeddedScheduler(
            scheduler.decisions(),
        )));
    }
    let place = (&*folder, address);
    let living = living::Living::start(args, &api, &env, &identity, informers.clone(), place)?;
    let page = match args.page.no_page {
        true => None,
        false => Some(page(args, &api, admin).await?),
    };
    // Last of all: a start that fails must not take the file of a server that runs.
    let path = args
        .kubeconfig
        .clone()
        .unwrap_or_else(|| folder.join(kubeconfig_name(args)));
    let server = format!("https://{}", reachable(address));
    let text = stowplan_transport::kubeconfig(&server, &identity.pki.ca_pem, &identity.admin_token);
    folder::make(path.parent())?;
    write_private(&path, text.as_bytes())?;
    if let Some(address) = scheduler.as_ref().and_then(SchedulerServer::address) {
        output::print(&format!("scheduler: https://{}\n", reachable(address)))?;
    }
    output::print(&format!("kubeconfig: {}\n", path.display()))?;
    let page = page.map(page::Opened::serve).transpose()?;
    let demo = demo::start(args, &api, &env, &path);
    let told = async {
        stop.await;
        // They would not end by themselves.
        api.end_watches();
    };
    let serving = listener.serve(service(Arc::clone(&api), env), told);
    let served = match scheduler {
        Some(scheduler) => scheduler.run_until(serving).await.map_err(Into::into),
        None => {
            serving.await;
            Ok(())
        }
    };
    drop((demo, living, page));
    // While it can still be read: afterwards every watch would fail.
    informers.stop().await;
    store.close();
    served
}

/// The page, as the admin sees the cluster.
async fn page(args: &Up, api: &Arc<Api>, admin: User) -> Result<page::Opened> {
    let client = stowplan_client::in_process(api.service(admin));
    page::bind(&args.page.served, client, None).await
}

/// Starts the scheduler, which asks the API in process.
async fn scheduler(
    args: &Up,
    (api, env): (&Arc<Api>, &Arc<dyn Env>),
    pki: &Pki,
    informers: Arc<Informers>,
) -> Result<SchedulerServer> {
    let config = read_config(args.scheduler_config.as_deref())?;
    let user = User::new("system:kube-scheduler", &["system:authenticated"]);
    let options = stowplan_scheduler::server::ServerOptions {
        env: env.clone(),
        seed: 0,
        host: crate::scheduler::host_name(),
        // Nobody else is in this process, and there is no network to spare.
        throttled: false,
        unschedulable_max: None,
        competes: false,
        port: args
            .scheduler_listen
            .map(|address| SecurePort::new(address, pki.clone().into())),
        authentication: None,
        authorization: None,
        collector: args.telemetry.collector()?,
        informers: Some(informers),
    };
    let client = stowplan_client::in_process(api.service(user));
    Ok(SchedulerServer::start(client, config, options).await?)
}

/// The kubeconfig of a server that was started without saying where to keep things: that of the one that keeps
/// them, if it is there.
pub(crate) fn usual_kubeconfig() -> Result<PathBuf> {
    let folder = usual_folder()?;
    let files = ["kubeconfig", "kubeconfig-memory"].map(|name| folder.join(name));
    let found = files.iter().find(|file| file.exists());
    found.cloned().with_context(|| {
        format!(
            "no kubeconfig in {}: say how to reach the cluster with --kubeconfig FILE",
            folder.display()
        )
    })
}

/// A server that keeps nothing leaves the file of the one that does alone.
fn kubeconfig_name(args: &Up) -> &'static str {
    match args.in_memory() && args.data_dir.is_none() {
        true => "kubeconfig-memory",
        false => "kubeconfig",
    }
}

/// Where everything is kept if the command line does not say.
fn data_folder(args: &Up) -> Result<PathBuf> {
    match &args.data_dir {
        Some(folder) => Ok(folder.clone()),
        None => usual_folder(),
    }
}

pub(crate) fn usual_folder() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match (variable("XDG_DATA_HOME"), variable("HOME")) {
        (Some(data), _) => Ok(Path::new(&data).join("stowplan")),
        (None, Some(home)) => Ok(Path::new(&home).join(".local/share/stowplan")),
        (None, None) => bail!("HOME is not set: say where to keep things with --data-dir DIR"),
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            ": something else listens there; --listen 127.0.0.1:0 takes a free port"
        }
        ErrorKind::PermissionDenied => ": choose a port above 1023 with --listen",
        _ => "",
    };
    anyhow::anyhow!("cannot listen on {address} ({error}){hint}")
}

/// The address for the kubeconfig: one that listens everywhere is reached on loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut out = address;
    if address.ip().is_unspecified() {
        let loopback: std::net::IpAddr = match address.is_ipv4() {
            true => [127, 0, 0, 1].into(),
            false => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        out.set_ip(loopback);
    }
    out
}

/// The API as a tower service for bodies from the network.
fn service(
    api: Arc<Api>,
    env: Arc<dyn Env>,
) -> impl tower::Service<
    http::Request<hyper::body::Incoming>,
    Response = http::Response<Body>,
    Error = Infallible,
    Future = impl Future<Output = Result<http::Response<Body>, Infallible>> + Send,
> + Clone
+ Send
+ 'static {
    tower::service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (api, env) = (Arc::clone(&api), Arc::clone(&env));
        async move {
            let mut answer = api.call(request.map(Body::new)).await;
            // Else it would be the machine's time, which may not be that of the objects.
            answer.headers_mut().insert(DATE, demo::date(env.now()));
            Ok(answer)
        }
    })
}

/// Ends with the first SIGINT or SIGTERM.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_listens_everywhere_is_reached_on_loopback() {
        let check = |listen: &str, expected: &str| {
            let listen: SocketAddr = listen.parse().unwrap();
            assert_eq!(reachable(listen).to_string(), expected);
        };
        check("0.0.0.0:6443", "127.0.0.1:6443");
        check("[::]:6443", "[::1]:6443");
        check("192.0.2.1:6443", "192.0.2.1:6443");
    }

    #[test]
    fn a_server_in_memory_leaves_the_file_of_the_one_on_disk_alone() {
        use crate::args::{Cli, Command};
        use clap::Parser;
        for (flags, expected) in [
            (vec![], "kubeconfig"),
            (vec!["--memory"], "kubeconfig-memory"),
            (vec!["--memory", "--data-dir", "d"], "kubeconfig"),
            (vec!["--demo"], "kubeconfig-memory"),
            (vec!["--demo", "--data-dir", "d"], "kubeconfig"),
        ] {
            let line = ["stowplan", "up"].into_iter().chain(flags);
            let Command::Up(args) = Cli::try_parse_from(line).unwrap().command else {
                panic!("another command")
            };
            assert_eq!(kubeconfig_name(&args), expected);
        }
    }
}
