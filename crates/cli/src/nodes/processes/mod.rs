//! Pods that really run: `--runtime process`.

mod provider;
mod sessions;

pub(crate) use provider::ProcessesOfThisMachine;

use crate::output;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum, ValueHint};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::{Informers, Requests};
use stowplan_processes::{ImageMap, Isolation, Processes, Settings};

/// What becomes of the containers of pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum RuntimeKind {
    /// Nothing runs; all is reported as if it did.
    #[default]
    Simulated,
    /// Their commands run on this machine, as this user.
    Process,
}

/// How far containers are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Apart {
    /// As far as this machine allows.
    #[default]
    Auto,
    /// In namespaces; where that is refused, the start fails.
    Namespaces,
    /// Not at all: plain processes.
    Plain,
}

/// How pods run for real.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Pods that really run")]
pub(crate) struct RuntimeArgs {
    /// What becomes of the containers of pods. With `process` whoever may create pods runs commands on
    /// this machine, as this user.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) runtime: RuntimeKind,

    /// What images would run, where a pod does not say: YAML, from patterns such as team/web:* to
    /// {entrypoint, cmd, env, workingDir}.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) image_map: Option<PathBuf>,

    /// Let pods use folders of this machine (hostPath).
    #[arg(long)]
    pub(crate) allow_host_path: bool,

    /// Let pods run as root, if this process does.
    #[arg(long)]
    pub(crate) allow_root: bool,

    /// Where containers, their logs and volumes are kept; made if it is missing [default: processes in
    /// the data folder].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,

    /// How far containers are kept apart.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) isolation: Apart,
}

const WARNING: &str =
    "--runtime process: whoever may create pods here runs commands on this machine, as this user";

impl RuntimeArgs {
    pub(crate) fn is_process(&self) -> bool {
        self.runtime == RuntimeKind::Process
    }

    /// Refuses what would be dangerous, and says what it is about.
    pub(crate) fn check(&self, listen: Option<(SocketAddr, bool)>) -> Result<()> {
        if !self.is_process() {
            return Ok(());
        }
        if is_root() && !self.allow_root {
            bail!(
                "--runtime process would run pods as root: start it as another user, or say --allow-root"
            );
        }
        if let Some((listen, may_be_remote)) = listen
            && !listen.ip().is_loopback()
            && !may_be_remote
        {
            bail!(
                "--listen {listen}: with --runtime process others could run commands here: listen on \
                 127.0.0.1, or say --allow-remote"
            );
        }
        output::warn(WARNING.to_owned());
        Ok(())
    }

    /// Who runs pods; `None` if they are simulated.
    pub(crate) fn start(
        &self,
        env: &Arc<dyn Env>,
        informers: &Informers,
        requests: &Arc<Requests>,
        (folder, kubeconfig): (&Path, Option<&Path>),
        api: Option<SocketAddr>,
    ) -> Result<Option<Processes>> {
        if !self.is_process() {
            return Ok(None);
        }
        // Containers are told of services.
        informers.of::<stowplan_api::k8s::api::core::v1::Service>();
        let state = self
            .state_dir
            .clone()
            .unwrap_or_else(|| folder.join("processes"));
        let settings = Settings {
            state,
            // Who reads it is an admin.
            hidden: kubeconfig
                .into_iter()
                .chain([folder])
                .map(Path::to_owned)
                .collect(),
            requests: requests.clone(),
            cluster: informers.cluster().clone(),
            env: env.clone(),
            images: self.images()?,
            allow_host_path: self.allow_host_path,
            api,
            isolation: match self.isolation {
                Apart::Auto => None,
                Apart::Namespaces => Some(Isolation::Namespaces),
                Apart::Plain => Some(Isolation::Plain),
            },
        };
        let processes = Processes::new(settings).map_err(anyhow::Error::msg)?;
        Ok(Some(processes))
    }

    fn images(&self) -> Result<ImageMap> {
        let Some(file) = &self.image_map else {
            return Ok(ImageMap::new());
        };
        let place = || format!("--image-map {}", file.display());
        let text = std::fs::read_to_string(file).with_context(place)?;
        let reader = serde_yaml_ng::Deserializer::from_str(&text);
        serde_path_to_error::deserialize(reader).with_context(place)
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}
