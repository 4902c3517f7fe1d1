//! The homes of the scheduler: a real Kubernetes, and `stowplan up`, beside it or within.

use crate::scheduler::Scheduler;
use crate::stand_ins::StandIns;
use crate::world::World;
use anyhow::{Context, Result, bail};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use xtask::kubernetes::{self, Cluster, Options, Stowplan};

/// Which home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Kind {
    /// etcd, kube-apiserver and kube-controller-manager.
    Real,
    /// `stowplan up`, with the scheduler in a process of its own.
    Embedded,
    /// `stowplan up`, with the scheduler in it, as users have it.
    Inside,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Embedded => "embedded",
            Self::Inside => "inside",
        })
    }
}

enum Server {
    Real(Cluster),
    Embedded(Stowplan),
}

/// A running cluster without a scheduler of its own.
pub(crate) struct Home {
    kind: Kind,
    server: Option<Server>,
    folder: Folder,
    stowplan: PathBuf,
    kubeconfig: PathBuf,
    /// The same for the scheduler, which may do less.
    scheduler_kubeconfig: PathBuf,
    stand_ins: StandIns,
    /// What the scenario creates and reads.
    pub(crate) world: World,
}

impl Home {
    /// Starts it, and waits until it is ready.
    pub(crate) async fn start(kind: Kind) -> Result<Self> {
        let folder = Folder::new(&kind.to_string())?;
        let stowplan = Stowplan::build_released()?;
        let server = match kind {
            Kind::Real => Server::Real(Cluster::start(
                &kubernetes::build()?,
                &folder.0.join("cluster"),
                &Options {
                    controller_manager: true,
                    ..Options::default()
                },
            )?),
            Kind::Embedded | Kind::Inside => {
                Server::Embedded(embedded(kind, &stowplan, &folder.0, "127.0.0.1:0")?)
            }
        };
        let kubeconfig = match &server {
            Server::Real(cluster) => cluster.kubeconfig(),
            Server::Embedded(stowplan) => stowplan.kubeconfig().to_owned(),
        };
        let client = client(&kubeconfig).await?;
        let scheduler_kubeconfig = let_scheduler_in(&kubeconfig, &folder.0)?;
        Ok(Self {
            kind,
            server: Some(server),
            folder,
            stowplan,
            kubeconfig,
            scheduler_kubeconfig,
            stand_ins: StandIns::start(&client, kind),
            world: World::new(client),
        })
    }

    /// Which home this is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The file that lets clients in.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where a scenario may write.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The end of what the schedulers of a scenario said.
    pub(crate) fn last_words(&self, scenario: &str) -> String {
        let start = format!("scheduler-{scenario}");
        let files = std::fs::read_dir(&self.folder.0).into_iter().flatten();
        let mut words = String::new();
        for path in files.filter_map(|file| Some(file.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&start) && name.ends_with(".log") {
                let said = std::fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<_> = said.lines().collect();
                let from = lines.len().saturating_sub(20);
                words += &format!("{name}:\n{}\n", lines[from..].join("\n"));
            }
        }
        words
    }

    /// Makes room for a scenario: nothing of the one before is left.
    pub(crate) async fn reset(&mut self, name: &str) -> Result<()> {
        self.world.reset(name).await
    }

    /// Runs `stowplan scheduler` on it, as the only scheduler. One that is inside runs already, with
    /// arguments of its own.
    pub(crate) fn scheduler(&self, name: &str, arguments: &[&str]) -> Result<Scheduler> {
        if self.kind == Kind::Inside {
            return Ok(Scheduler::inside());
        }
        Scheduler::start(
            &self.stowplan,
            &self.scheduler_kubeconfig,
            &self.folder.0,
            name,
            arguments,
        )
    }

    /// The same file for an admin who shows a certificate of the cluster's CA; only a real one has
    /// him.
    pub(crate) fn certified_admin(&self) -> Result<Option<PathBuf>> {
        if self.kind == Kind::Embedded {
            return Ok(None);
        }
        let own = |name: &str| self.folder.0.join("cluster").join(name);
        let text = |name: &str| own(name).to_string_lossy().into_owned();
        let mut file = Kubeconfig::read_from(&self.kubeconfig)?;
        for user in &mut file.auth_infos {
            user.auth_info = Some(AuthInfo {
                client_certificate: Some(text("admin.crt")),
                client_key: Some(text("admin.key")),
                ..AuthInfo::default()
            });
        }
        let path = self.folder.0.join("certified.kubeconfig");
        std::fs::write(&path, serde_json::to_vec(&file)?)?;
        Ok(Some(path))
    }

    /// Runs `stowplan explain pod NAME` as the user of a kubeconfig; returns what it says on both
    /// outputs.
    pub(crate) fn explain(&self, name: &str, kubeconfig: &Path) -> Result<(String, String)> {
        let mut command = Command::new(&self.stowplan);
        command.args(["explain", "pod", name, "--output=json"]);
        command.args(["--namespace", self.world.namespace()]);
        command.args(["--lease", "stowplan-scheduler"]);
        let output = command.arg("--kubeconfig").arg(kubeconfig).output()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    /// Ends a scheduler and starts the next, which knows all that is there before it decides.
    pub(crate) async fn next_scheduler(
        &mut self,
        before: Scheduler,
        name: &str,
    ) -> Result<Scheduler> {
        drop(before);
        if self.kind == Kind::Inside {
            self.restart_api().await?;
        }
        self.scheduler(name, &[])
    }

    /// Kills the API server, and starts it again at the same address with the same data.
    pub(crate) async fn restart_api(&mut self) -> Result<()> {
        self.server = match self.server.take().context("no server")? {
            Server::Real(mut cluster) => {
                cluster.restart_api()?;
                Some(Server::Real(cluster))
            }
            Server::Embedded(stowplan) => {
                let address = address(&self.kubeconfig)?;
                drop(stowplan);
                Some(Server::Embedded(embedded(
                    self.kind,
                    &self.stowplan,
                    &self.folder.0,
                    &address,
                )?))
            }
        };
        // The connections of before are broken.
        let client = client(&self.kubeconfig).await?;
        self.stand_ins = StandIns::start(&client, self.kind);
        self.world.set_client(client);
        Ok(())
    }
}

fn embedded(kind: Kind, binary: &Path, folder: &Path, listen: &str) -> Result<Stowplan> {
    let folder = folder.join("up");
    match kind {
        Kind::Inside => Stowplan::start_with_scheduler(binary, &folder, listen),
        _ => Stowplan::start_at(binary, &folder, listen, &[]),
    }
}

/// Gives the scheduler the rights that `deploy/` asks for, and no others; returns its kubeconfig.
pub(crate) fn let_scheduler_in(kubeconfig: &Path, folder: &Path) -> Result<PathBuf> {
    let program = kubernetes::build()?.join("kubectl");
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--kubeconfig").arg(kubeconfig).args(arguments);
        let output = command.output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => bail!("kubectl: {}", String::from_utf8_lossy(&output.stderr)),
        }
    };
    let rights = xtask::tidy::workspace().join("deploy/manifests/rbac.yaml");
    kubectl(&["apply", "--filename", &rights.to_string_lossy()])?;
    let account = ["stowplan-scheduler", "--namespace=kube-system"];
    let token = kubectl(&[&["create", "token", "--duration=4h"], &account[..]].concat())?;
    let mut file = Kubeconfig::read_from(kubeconfig)?;
    for user in &mut file.auth_infos {
        user.auth_info = Some(AuthInfo {
            token: Some(token.trim().to_owned().into()),
            ..AuthInfo::default()
        });
    }
    let path = folder.join("scheduler.kubeconfig");
    std::fs::write(&path, serde_json::to_vec(&file)?)?;
    Ok(path)
}

/// A client for the admin of a kubeconfig.
pub(crate) async fn client(kubeconfig: &Path) -> Result<kube::Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await?;
    config.read_timeout = Some(Duration::from_secs(300));
    Ok(kube::Client::try_from(config)?)
}

/// Host and port of the server in a kubeconfig.
fn address(kubeconfig: &Path) -> Result<String> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let cluster = file
        .clusters
        .first()
        .and_then(|named| named.cluster.as_ref());
    let server = cluster.and_then(|cluster| cluster.server.clone());
    let server = server.context("no server in the kubeconfig")?;
    Ok(server.trim_start_matches("https://").to_owned())
}

/// A folder that is gone in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let name = format!("stowplan-e2e-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Logs are worth more than a clean disk when something went wrong.
        if std::env::var_os("STOWPLAN_KEEP").is_none() {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }
}
