//! The cluster that specs run on.

use super::{Home, Options, Who, nodes};
use crate::home::let_scheduler_in;
use crate::scheduler::Scheduler;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::kubernetes::{self, Cluster, Process, Stowplan};

/// All that runs. It ends when this is dropped.
pub(super) struct Running {
    kubeconfig: PathBuf,
    /// In the order in which it ends.
    _scheduler: Option<Scheduler>,
    _processes: Vec<Process>,
    _cluster: Option<Cluster>,
    _stowplan: Option<Stowplan>,
}

impl Running {
    /// Starts it, and waits until there are nodes.
    pub(super) fn start(
        options: &Options,
        programs: &Path,
        binary: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let running = match options.home {
            Home::Real => Self::real(options, programs, binary, folder)?,
            Home::Embedded => Self::embedded(binary, folder)?,
        };
        let kubectl = || {
            let mut kubectl = Command::new(programs.join("kubectl"));
            kubectl.arg("--kubeconfig").arg(&running.kubeconfig);
            kubectl
        };
        if options.home == Home::Embedded {
            nodes::adopted(kubectl(), folder)?;
        }
        nodes::daemons(kubectl, folder)?;
        Ok(running)
    }

    fn real(options: &Options, programs: &Path, binary: &Path, folder: &Path) -> Result<Self> {
        let home = folder.join("cluster");
        let cluster = Cluster::start(
            programs,
            &home,
            &kubernetes::Options {
                controller_manager: options.controllers == Who::Real,
                scheduler: options.scheduler == Who::Real,
                living: options.nodes == Who::Stowplan,
                ..kubernetes::Options::default()
            },
        )?;
        let kubeconfig = cluster.kubeconfig();
        let mut processes = Vec::new();
        if options.controllers == Who::Stowplan {
            let mut controllers = Command::new(binary);
            controllers.args(["controllers", "--leader-elect=false", "--kubeconfig"]);
            controllers.arg(&kubeconfig);
            controllers.arg("--root-ca-file").arg(home.join("ca.crt"));
            controllers.args(["--kube-api-qps=200", "--kube-api-burst=400"]);
            processes.push(Process::start(
                &controllers,
                &folder.join("controllers.log"),
            )?);
        }
        processes.push(match options.nodes {
            Who::Real => nodes::kwok(&kubernetes::build_kwok()?, &cluster, folder)?,
            Who::Stowplan => nodes::stowplan(binary, &kubeconfig, folder)?,
        });
        let scheduler = match options.scheduler {
            Who::Real => None,
            Who::Stowplan => {
                let kubeconfig = let_scheduler_in(&kubeconfig, folder)?;
                let scheduler = Scheduler::start(binary, &kubeconfig, folder, "specs", &[])?;
                Some(scheduler)
            }
        };
        Ok(Self {
            kubeconfig,
            _scheduler: scheduler,
            _processes: processes,
            _cluster: Some(cluster),
            _stowplan: None,
        })
    }

    fn embedded(binary: &Path, folder: &Path) -> Result<Self> {
        let stowplan = Stowplan::start_living(binary, &folder.join("data"), &["--nodes=0"])?;
        Ok(Self {
            kubeconfig: stowplan.kubeconfig().to_owned(),
            _scheduler: None,
            _processes: Vec::new(),
            _cluster: None,
            _stowplan: Some(stowplan),
        })
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
