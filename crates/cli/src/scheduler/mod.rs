//! `stowplan scheduler`: in place of kube-scheduler.

pub(crate) mod args;
mod gates;
mod leftovers;
pub(crate) mod secure;

use crate::Verdict;
use crate::address;
use crate::input::read_config;
use anyhow::{Context, Result, anyhow};
use args::{Election, Scheduler};
use std::path::Path;
use std::sync::Arc;
use stowplan_config::LeaderElection;
use stowplan_env::System;
use stowplan_scheduler::server::{SchedulerServer, ServerOptions};

/// Schedules until the process is told to stop.
pub(crate) fn run(args: &Scheduler) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(schedule(args))?;
    Ok(Verdict::AllPlaced)
}

async fn schedule(args: &Scheduler) -> Result<()> {
    let stop = crate::up::stop_signal()?;
    args.telemetry.begin();
    stowplan_transport::raise_open_files();
    let mut config = read_config(args.config.as_deref())?;
    args.election.apply(&mut config.leader_election);
    if args.config.is_none() {
        let connection = &mut config.client_connection;
        connection.qps = args.kube_api_qps.unwrap_or(connection.qps);
        connection.burst = args.kube_api_burst.unwrap_or(connection.burst);
    }
    config.check()?;
    gates::check(&args.feature_gates).map_err(|error| anyhow!("--feature-gates: {error}"))?;
    if let Some(file) = &args.write_config_to {
        let text = serde_yaml_ng::to_string(&stowplan_scheduler::effective(&config).to_json())?;
        let told = || format!("--write-config-to: cannot write {}", file.display());
        return std::fs::write(file, text).with_context(told);
    }
    let configured = &config.client_connection.kubeconfig;
    let configured = (!configured.is_empty()).then(|| Path::new(configured));
    let file = args.kubeconfig.as_deref().or(configured);
    let kube_config = connection(file, args.master.as_ref()).await?;
    let client = kube::Client::try_from(kube_config).context("cannot make a client")?;
    let options = ServerOptions {
        env: Arc::new(System::new()),
        seed: args.seed,
        host: host_name(),
        throttled: true,
        unschedulable_max: args.leftovers.unschedulable_max(),
        competes: true,
        port: args.secure.port()?,
        authentication: reviewer(args.authentication_kubeconfig.as_deref()).await?,
        authorization: reviewer(args.authorization_kubeconfig.as_deref()).await?,
        informers: None,
        collector: args.telemetry.collector()?,
    };
    let scheduler = SchedulerServer::start(client, config, options).await?;
    Ok(scheduler.run_until(stop).await?)
}

/// The client for reviews, if it is not the one for everything.
async fn reviewer(file: Option<&Path>) -> Result<Option<kube::Client>> {
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else {
        return Ok(None);
    };
    let config = address::checked(address::read(file).await?)?;
    let client = kube::Client::try_from(config);
    client.map(Some).context("cannot make a client")
}

/// How to reach the cluster: by a file, an address, or the pod's service account.
pub(crate) async fn connection(
    file: Option<&Path>,
    master: Option<&http::Uri>,
) -> Result<kube::Config> {
    let mut found = match (file, master) {
        (Some(file), _) => address::read(file).await?,
        (None, Some(master)) => kube::Config::new(master.clone()),
        (None, None) => kube::Config::incluster()
            .context("not in a pod; say how to reach the cluster with --kubeconfig FILE")?,
    };
    if let Some(master) = master {
        found.cluster_url = master.clone();
    }
    address::checked(found)
}

impl Election {
    /// What the command line says counts more than the configuration.
    pub(crate) fn apply(&self, to: &mut LeaderElection) {
        let set = |to: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                to.clone_from(value);
            }
        };
        to.leader_elect = self.leader_elect.unwrap_or(to.leader_elect);
        to.lease_duration = self
            .leader_elect_lease_duration
            .unwrap_or(to.lease_duration);
        to.renew_deadline = self
            .leader_elect_renew_deadline
            .unwrap_or(to.renew_deadline);
        to.retry_period = self.leader_elect_retry_period.unwrap_or(to.retry_period);
        set(&mut to.resource_lock, &self.leader_elect_resource_lock);
        set(&mut to.resource_name, &self.leader_elect_resource_name);
        set(
            &mut to.resource_namespace,
            &self.leader_elect_resource_namespace,
        );
    }
}

/// The name of this host, for events.
pub(crate) fn host_name() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = kernel.or_else(|_| std::env::var("HOSTNAME").map_err(std::io::Error::other));
    let name = name.unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_election_are_checked_as_the_file_is() {
        let mut config = read_config(None).unwrap();
        assert!(config.check().is_ok());
        let flags = Election {
            leader_elect_resource_lock: Some("configmaps".to_owned()),
            ..Election::default()
        };
        flags.apply(&mut config.leader_election);
        let error = config.check().unwrap_err().0[0].to_string();
        assert!(
            error.starts_with("leaderElection.resourceLock: "),
            "{error}"
        );
    }
}
