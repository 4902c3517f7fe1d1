//! Two users flood a real `stowplan up` in each of the ways that once locked others out. Meanwhile
//! another user, the admin and a probe ask for little, and must be answered soon.

mod client;
mod floods;
mod victims;

use anyhow::{Context, Result, bail};
use client::{Client, Place};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long each flood lasts.
const FLOOD_TIME: Duration = Duration::from_secs(5);
/// Of a hundred answers to others, all but one come within this time.
const P99_MAX: Duration = Duration::from_millis(200);
/// The same, of those who ask for much themselves.
const HEAVY_P99_MAX: Duration = Duration::from_secs(2);
/// The server takes no more memory than this.
const RESIDENT_MIB_MAX: u64 = 1_536;

/// A server that ends with its owner.
struct Up {
    child: Child,
    folder: PathBuf,
}

impl Up {
    fn start(program: &Path) -> Result<(Self, Place)> {
        let folder = std::env::temp_dir().join(format!("stowplan-flood-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let mut child = Command::new(program)
            .args(["up", "--no-controllers", "--no-nodes", "--memory"])
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let kubeconfig = line.trim_end().strip_prefix("kubeconfig: ");
        let kubeconfig = kubeconfig.with_context(|| format!("no kubeconfig but {line:?}"))?;
        let place = Place::from_kubeconfig(Path::new(kubeconfig))?;
        Ok((Self { child, folder }, place))
    }

    /// Memory that is in use, in MiB.
    fn resident_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or_default() / 1024
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Floods the server of a program; says whether everybody else was answered in time.
pub(crate) fn run(program: &Path, only: &str) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut late = 0;
    let mut count = 0;
    println!(
        "{:36} {:>8} {:>8} {:>8} {:>8} {:>6}",
        "p99 in ms, by who asks", "other", "heavy", "admin", "probe", "MiB"
    );
    for flood in floods::ALL.iter().filter(|flood| flood.name.contains(only)) {
        count += 1;
        let (up, place) = Up::start(program)?;
        let waits = runtime.block_on(async {
            let users = Users::make(&place).await?;
            floods::prepare(&users).await?;
            let attacks = users.attackers.clone().map(|attacker| {
                let flood = (flood.run)(attacker);
                tokio::spawn(tokio::time::timeout(
                    FLOOD_TIME + Duration::from_secs(1),
                    flood,
                ))
            });
            let waits = victims::measure(&users, FLOOD_TIME).await;
            attacks.iter().for_each(tokio::task::JoinHandle::abort);
            waits
        })?;
        let [other, heavy, admin, probe] = waits.each_ref().map(|waits| waits.p99());
        let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
        let mib = up.resident_mib();
        println!(
            "{:36} {:8.1} {:8.1} {:8.1} {:8.1} {mib:6}",
            flood.name,
            ms(other),
            ms(heavy),
            ms(admin),
            ms(probe)
        );
        let soon = [other, admin, probe].iter().all(|p99| *p99 <= P99_MAX);
        let good = soon && heavy <= HEAVY_P99_MAX && mib <= RESIDENT_MIB_MAX;
        late += usize::from(!good);
    }
    if count == 0 {
        bail!("no flood has {only:?} in its name");
    }
    println!("{} passed, {late} failed", count - late);
    Ok(late == 0)
}

/// Who takes part.
struct Users {
    admin: Place,
    /// May do anything in namespaces of their own, and are two flows: nobody who has one namespace and
    /// may ask for another is hindered from that.
    attackers: [Place; 2],
    other: Place,
}

impl Users {
    async fn make(admin: &Place) -> Result<Self> {
        let mut client = Client::connect(admin).await?;
        let attackers = [
            user(&mut client, admin, "attacker").await?,
            user(&mut client, admin, "second").await?,
        ];
        let other = user(&mut client, admin, "other").await?;
        Ok(Self {
            admin: admin.clone(),
            attackers,
            other,
        })
    }
}

/// A service account that is admin of a namespace of its name.
async fn user(client: &mut Client, admin: &Place, name: &str) -> Result<Place> {
    let namespaced = format!("/api/v1/namespaces/{name}");
    let bindings = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{name}/rolebindings");
    let account = json!({"metadata": {"name": "default"}});
    let binding = json!({"metadata": {"name": "admin"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": name}]});
    let namespace = json!({"metadata": {"name": name}});
    client.create("/api/v1/namespaces", &namespace).await?;
    // A controller may have been quicker.
    let _ = client
        .create(&format!("{namespaced}/serviceaccounts"), &account)
        .await;
    client.create(&bindings, &binding).await?;
    if name == "second" {
        // Both flood the same place, so that floods need not know who they are.
        let bindings = bindings.replace("/second/", "/attacker/");
        let mut shared = binding.clone();
        shared["metadata"]["name"] = json!("second");
        client.create(&bindings, &shared).await?;
    }
    let tokens = format!("{namespaced}/serviceaccounts/default/token");
    let review = json!({"spec": {"expirationSeconds": 3600}});
    let token: Value = serde_json::from_slice(&client.create(&tokens, &review).await?)?;
    let token = token["status"]["token"].as_str().context("a token")?;
    Ok(admin.with_token(token))
}
