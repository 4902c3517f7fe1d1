//! `stowplan controllers`: in place of kube-controller-manager.

pub(crate) mod args;

use crate::scheduler::{connection, host_name};
use crate::{Verdict, up};
use anyhow::{Context, Result, bail};
use args::Controllers;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
use std::sync::Arc;
use stowplan_auth::token::{Key, RsaKey};
use stowplan_base::Env;
use stowplan_client::election::{Candidate, Leadership, LeaseName, Timings};
use stowplan_client::{Guard, Unguarded};
use stowplan_config::LeaderElection;
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::Signer;
use stowplan_env::System;
use tokio::sync::oneshot;

/// The name of upstream's Lease: one of them works, whichever it is.
const LEASE: &str = "kube-controller-manager";

/// Runs controllers until the process is told to stop.
pub(crate) fn run(args: &Controllers) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(control(args))?;
    Ok(Verdict::AllPlaced)
}

async fn control(args: &Controllers) -> Result<()> {
    let stop = up::stop_signal()?;
    args.telemetry.begin();
    stowplan_transport::raise_open_files();
    let config = connection(args.kubeconfig.as_deref(), args.master.as_ref()).await?;
    let client = kube::Client::try_from(config).context("cannot make a client")?;
    let env: Arc<dyn Env> = Arc::new(System::new());
    let mut options = args.chosen.options();
    if let Some(file) = &args.root_ca_file {
        let text = std::fs::read_to_string(file);
        let text =
            text.with_context(|| format!("--root-ca-file: cannot read {}", file.display()))?;
        options.root_ca = Some(text.into());
    }
    if let Some(file) = &args.service_account_private_key_file {
        let signer = signer(file);
        let signer = signer.context("--service-account-private-key-file")?;
        options.signer = Some(signer);
    }
    let leadership = leadership(args, env.clone())?;
    let guard: Arc<dyn Guard> = match &leadership {
        Some(leadership) => leadership.clone(),
        None => Arc::new(Unguarded),
    };
    let settings = Settings {
        controllers: args.chosen.controllers.clone(),
        options,
        guard,
        env,
        limit: (args.kube_api_qps, args.kube_api_burst),
        host: host_name(),
        informers: None,
    };
    let manager = ControllerManager::start(client.clone(), settings);
    let manager = manager.context("--controllers")?;
    let Some(leadership) = leadership else {
        stop.await;
        return Ok(());
    };
    let (told, stopped) = oneshot::channel::<()>();
    let held = leadership.hold(client, async { drop(stopped.await) }, |_| {});
    let mut held = std::pin::pin!(held);
    tokio::select! {
        () = stop => {}
        _ = &mut held => bail!("the lease is lost: another controller manager may lead by now"),
    }
    // What is under way ends before the next leader begins.
    drop(manager);
    let _ = told.send(());
    held.await;
    Ok(())
}

/// Signs tokens with the key of a file.
fn signer(file: &Path) -> Result<Signer> {
    let key = PrivateKeyDer::from_pem_file(file)
        .with_context(|| format!("no private key could be read from {}", file.display()))?;
    let unusable = || {
        let file = file.display();
        format!("{file} has to hold an RSA key or an ECDSA key on P-256")
    };
    Ok(match key {
        PrivateKeyDer::Pkcs1(key) => {
            let key = RsaKey::from_pkcs1(key.secret_pkcs1_der()).with_context(unusable)?;
            Arc::new(move |claims| key.sign(claims).ok())
        }
        PrivateKeyDer::Pkcs8(key) => {
            let bytes = key.secret_pkcs8_der();
            match Key::from_pkcs8(bytes) {
                Ok(key) => Arc::new(move |claims| key.sign(claims).ok()),
                Err(_) => {
                    let key = RsaKey::from_pkcs8(bytes).with_context(unusable)?;
                    Arc::new(move |claims| key.sign(claims).ok())
                }
            }
        }
        _ => bail!(unusable()),
    })
}

/// Whether this process has to lead before it does anything, and how it comes to.
fn leadership(args: &Controllers, env: Arc<dyn Env>) -> Result<Option<Arc<Leadership>>> {
    let mut config = LeaderElection::default();
    LEASE.clone_into(&mut config.resource_name);
    args.election.apply(&mut config);
    if !config.leader_elect {
        return Ok(None);
    }
    let span =
        |given: stowplan_config::Duration| stowplan_base::Duration::from_nanos(given.as_nanos());
    let timings = Timings {
        lease_duration: span(config.lease_duration),
        renew_deadline: span(config.renew_deadline),
        retry_period: span(config.retry_period),
    };
    let candidate = Candidate {
        lease: LeaseName {
            namespace: config.resource_namespace,
            name: config.resource_name,
        },
        election: LEASE,
        host: host_name(),
        component: LEASE.to_owned(),
        timings: timings.validated().context("--leader-elect")?,
        address: None,
    };
    Ok(Some(Arc::new(Leadership::new(candidate, env))))
}
