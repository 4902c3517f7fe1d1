//! A real cluster on loopback: etcd and kube-apiserver, with controllers and scheduler on request.

use super::process::{Process, free_ports};
use super::{certificates, wait_for};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What runs besides etcd and kube-apiserver.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// kube-controller-manager.
    pub controller_manager: bool,
    /// Kubelets, or what plays them, report to the cluster: the node lifecycle controller runs, too,
    /// and nobody waits for the clients' rate limits.
    pub living: bool,
    /// kube-scheduler, with its default configuration.
    pub scheduler: bool,
    /// A KubeSchedulerConfiguration, which must name the kubeconfig of the folder.
    pub scheduler_config: Option<PathBuf>,
}

/// A running cluster. All of it is gone when this is dropped; its folder stays.
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    /// etcd, kube-apiserver, and the others.
    processes: Vec<Process>,
    /// The arguments of kube-apiserver.
    apiserver: Vec<String>,
}

const TOKEN: &str = "compare-token";

impl Cluster {
    /// Starts the programs of a folder (see [`build`](super::build)) and waits until the API is
    /// ready. Certificates, logs, data and `kubeconfig` are in `folder`, which must be empty.
    pub fn start(programs: &Path, folder: &Path, options: &Options) -> Result<Self> {
        fs::create_dir_all(folder)?;
        certificates::write(folder)?;
        let [client, peer, secure] = free_ports()?;
        let token = format!("{TOKEN},admin,admin,system:masters\n");
        fs::write(folder.join("tokens.csv"), token)?;
        fs::write(folder.join("kubeconfig"), kubeconfig(folder, secure))?;
        let mut cluster = Self {
            folder: folder.to_owned(),
            programs: programs.to_owned(),
            processes: Vec::new(),
            apiserver: apiserver(folder, client, secure),
        };
        cluster.run("etcd", &etcd(folder, client, peer))?;
        cluster.run("kube-apiserver", &cluster.apiserver.clone())?;
        cluster.wait(&["get", "--raw", "/readyz"])?;
        let namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
        cluster.wait(&[&["get", "namespace"], namespaces.as_slice()].concat())?;
        cluster.wait(&["get", "service", "kubernetes", "--namespace=default"])?;
        if options.controller_manager {
            let [port] = free_ports()?;
            cluster.run(
                "kube-controller-manager",
                &controllers(folder, port, options.living),
            )?;
        }
        if options.scheduler || options.scheduler_config.is_some() {
            let [port] = free_ports()?;
            let config = options.scheduler_config.as_deref();
            cluster.run(
                "kube-scheduler",
                &scheduler(folder, port, config, options.living),
            )?;
        }
        Ok(cluster)
    }

    /// The file that lets clients in, as an admin.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// `kubectl` of the same version, for this cluster.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.programs.join("kubectl"));
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    /// Kills kube-apiserver and starts it again, at the same address with the same data.
    pub fn restart_api(&mut self) -> Result<()> {
        drop(self.processes.remove(1));
        self.run("kube-apiserver", &self.apiserver.clone())?;
        let apiserver = self.processes.pop().context("not started")?;
        self.processes.insert(1, apiserver);
        self.wait(&["get", "--raw", "/readyz"])
    }

    fn run(&mut self, program: &str, arguments: &[String]) -> Result<()> {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments);
        let log = self.folder.join(program).with_extension("log");
        self.processes.push(Process::start(&command, &log)?);
        Ok(())
    }

    /// Waits until a kubectl command succeeds.
    fn wait(&self, arguments: &[&str]) -> Result<()> {
        let ready = || {
            let mut command = self.kubectl();
            command.args(arguments);
            let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
            quiet.status().is_ok_and(|status| status.success())
        };
        wait_for("kube-apiserver", ready).with_context(|| {
            let words: Vec<_> = self.processes.iter().map(Process::last_words).collect();
            words.join("\n")
        })
    }
}

fn kubeconfig(folder: &Path, port: u16) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {ca}
users:
- name: kubernetes-admin
  user:
    token: {TOKEN}
contexts:
- name: kubernetes
  context:
    cluster: kubernetes
    user: kubernetes-admin
current-context: kubernetes
",
        ca = folder.join("ca.crt").display()
    )
}

/// `--name=FILE`, the file being one of the folder.
fn file(folder: &Path, name: &str, file: &str) -> String {
    format!("--{name}={}", folder.join(file).display())
}

fn etcd(folder: &Path, client: u16, peer: u16) -> Vec<String> {
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    vec![
        file(folder, "data-dir", "etcd"),
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

fn apiserver(folder: &Path, etcd: u16, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        file(folder, "tls-cert-file", "server.crt"),
        file(folder, "tls-private-key-file", "server.key"),
        file(folder, "client-ca-file", "ca.crt"),
        file(folder, "token-auth-file", "tokens.csv"),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        file(folder, "service-account-key-file", "service-account.pub"),
        file(
            folder,
            "service-account-signing-key-file",
            "service-account.key",
        ),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--allow-privileged=true".to_owned(),
    ]
}

fn controllers(folder: &Path, port: u16, living: bool) -> Vec<String> {
    let mut arguments = vec![
        file(folder, "kubeconfig", "kubeconfig"),
        file(
            folder,
            "service-account-private-key-file",
            "service-account.key",
        ),
        file(folder, "root-ca-file", "ca.crt"),
        "--leader-elect=false".to_owned(),
        "--use-service-account-credentials".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
    ];
    if living {
        arguments.extend(UNLIMITED.map(str::to_owned));
    } else {
        // Nodes without a kubelet would be tainted.
        arguments.push("--controllers=*,-node-lifecycle-controller".to_owned());
    }
    arguments
}

/// As many requests as the server answers.
const UNLIMITED: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

fn scheduler(folder: &Path, port: u16, config: Option<&Path>, living: bool) -> Vec<String> {
    let mut arguments = vec![
        file(folder, "authentication-kubeconfig", "kubeconfig"),
        file(folder, "authorization-kubeconfig", "kubeconfig"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
    ];
    match config {
        Some(config) => arguments.push(format!("--config={}", config.display())),
        None => {
            arguments.push(file(folder, "kubeconfig", "kubeconfig"));
            arguments.push("--leader-elect=false".to_owned());
            if living {
                arguments.extend(UNLIMITED.map(str::to_owned));
            }
        }
    }
    arguments
}
