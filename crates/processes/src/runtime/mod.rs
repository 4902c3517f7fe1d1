//! Orders in, reports out.

mod adopt;
mod exec;
mod hooks;
mod mounts;
mod news;
mod probe;
mod signals;
mod start;
mod user;

pub use exec::{Execution, Streams};

use crate::cgroup::Cgroups;
use crate::fields::Place;
use crate::images::ImageMap;
use crate::isolation::Isolation;
use crate::record::RunSpec;
use crate::shim;
use crate::state::StateFolder;
use crate::usage::Samples;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use stowplan_base::Env;
use stowplan_client::{Cluster, Requests};
use stowplan_nodes::{NodeFact, Order, PodOrder, Report, Reports, RunId, Runtime};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// How many containers are being started at a time.
const STARTS_MAX: usize = 16;

/// What processes need to run.
pub struct Settings {
    /// Where everything is kept that has to outlive this process.
    pub state: PathBuf,
    /// More folders and files of the host that containers must not see, whether or not they are there yet.
    pub hidden: Vec<PathBuf>,
    /// How to reach the API.
    pub requests: Arc<Requests>,
    /// What is known of nodes and services.
    pub cluster: Arc<Cluster>,
    /// The clock.
    pub env: Arc<dyn Env>,
    /// Images that somebody described.
    pub images: ImageMap,
    /// Whether pods may use folders of the host.
    pub allow_host_path: bool,
    /// Where processes of this machine reach the API.
    pub api: Option<SocketAddr>,
    /// The terms on which containers are kept apart, if not by what this machine can do.
    pub isolation: Option<Isolation>,
}

/// Runs containers as processes: a handle, for as many as want one.
#[derive(Clone)]
pub struct Processes(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) state: StateFolder,
    pub(crate) settings: Settings,
    pub(crate) isolation: Isolation,
    /// Why containers are not kept apart.
    refusal: String,
    pub(crate) cgroups: Result<Cgroups, String>,
    handle: Handle,
    reports: OnceLock<Reports>,
    /// What is known of pods, by uid.
    pods: Mutex<BTreeMap<String, Arc<PodState>>>,
    /// Runs of which the end has not been told.
    live: Mutex<BTreeSet<(String, RunId)>>,
    /// Shims that this process started, so that it has to wait for them.
    children: Mutex<Vec<Child>>,
    starts: Semaphore,
    pub(crate) samples: Samples,
}

/// What is known of a pod.
#[derive(Default)]
pub(crate) struct PodState {
    /// One thing at a time; says whether the pod is gone, so that nothing may be started any more.
    gate: tokio::sync::Mutex<bool>,
    volumes: Mutex<Vec<crate::volumes::Ready>>,
}

impl Processes {
    /// Within a tokio runtime. An error says what to do.
    pub fn new(mut settings: Settings) -> Result<Self, String> {
        let state = StateFolder::open(&settings.state)?;
        // Containers know no other paths, and look at them from elsewhere.
        for place in &mut settings.hidden {
            *place = real_path(place);
        }
        let (isolation, refusal) = match settings.isolation {
            Some(Isolation::Plain) => (Isolation::Plain, "it was not wanted".to_owned()),
            wanted => match (try_isolation(&state), wanted) {
                (Ok(()), _) => (Isolation::Namespaces, String::new()),
                (Err(why), Some(_)) => {
                    return Err(format!("containers cannot be kept apart: {why}"));
                }
                (Err(why), None) => (Isolation::Plain, why),
            },
        };
        Ok(Self(Arc::new(Inner {
            cgroups: Cgroups::find("stowplan"),
            state,
            settings,
            isolation,
            refusal,
            handle: Handle::current(),
            reports: OnceLock::new(),
            pods: Mutex::default(),
            live: Mutex::default(),
            children: Mutex::default(),
            starts: Semaphore::new(STARTS_MAX),
            samples: Samples::default(),
        })))
    }

    /// What nodes say of themselves.
    pub fn conditions(&self) -> Vec<NodeFact> {
        let inner = &self.0;
        let isolated = match inner.isolation {
            Isolation::Namespaces => NodeFact {
                name: "stowplan.dev/Isolated",
                holds: true,
                reason: "Namespaces",
                message: "containers have user, mount and process namespaces of their own"
                    .to_owned(),
            },
            Isolation::Plain => NodeFact {
                name: "stowplan.dev/Isolated",
                holds: false,
                reason: "PlainProcesses",
                message: format!(
                    "containers are plain processes and see all of the host: {}",
                    inner.refusal
                ),
            },
        };
        let limited = match &inner.cgroups {
            Ok(_) => NodeFact {
                name: "stowplan.dev/Limited",
                holds: true,
                reason: "CgroupV2",
                message: "limits of cpu and memory are kept by cgroup v2".to_owned(),
            },
            Err(why) => NodeFact {
                name: "stowplan.dev/Limited",
                holds: false,
                reason: "ResourceLimits",
                message: format!(
                    "limits of memory hold for each process (RLIMIT_DATA), limits of cpu are not kept: {why}"
                ),
            },
        };
        vec![isolated, limited]
    }
}

/// A path without links, as far as it is there.
fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return real.join(rest).components().collect();
        }
    }
    path
}

/// Whether containers can be kept apart; or why not.
fn try_isolation(state: &StateFolder) -> Result<(), String> {
    let folder = state.root().join("check");
    let text = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(&folder).map_err(text)?;
    let spec = RunSpec {
        id: "check".to_owned(),
        hostname: "check".to_owned(),
        hidden: vec![state.root().to_owned()],
        ..RunSpec::empty()
    };
    crate::record::write(&folder.join("spec.json"), &spec, false).map_err(text)?;
    let done = shim::check_command(&folder).output().map_err(text)?;
    let _ = std::fs::remove_dir_all(&folder);
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}

impl Runtime for Processes {
    fn begin(&self, reports: Reports, known: BTreeSet<String>) {
        let _ = self.0.reports.set(reports);
        let inner = &self.0;
        inner.handle.spawn(news::listen(inner.clone()));
        inner.handle.spawn(news::sweep(inner.clone()));
        for uid in inner.state.pods() {
            if !known.contains(&uid) {
                tracing::info!(uid, "a pod is gone: what is left of it is stopped");
                inner.handle.spawn(adopt::forget(inner.clone(), uid));
            }
        }
    }

    fn order(&self, order: PodOrder) {
        let inner = self.0.clone();
        let uid = order.uid.to_string();
        let Some(pod) = order.pod else {
            if order.what == Order::Forget {
                inner.handle.clone().spawn(adopt::forget(inner, uid));
            }
            return;
        };
        let handle = inner.handle.clone();
        match order.what {
            Order::Prepare => drop(handle.spawn(adopt::prepare(inner, pod))),
            Order::Start(run) => drop(handle.spawn(start::start(inner, pod, run))),
            Order::Stop(run) => inner.stop(&pod, &run),
            Order::Kill(run) => inner.kill(&uid, &run),
            Order::Hook(run, hook, longest_s) => {
                handle.spawn(hooks::run(inner, pod, run, hook, longest_s));
            }
            Order::Probe(run, kind) => drop(handle.spawn(probe::ask(inner, pod, run, kind))),
            Order::Release => drop(handle.spawn(adopt::release(inner, uid))),
            Order::Forget => drop(handle.spawn(adopt::forget(inner, uid))),
        }
    }
}

impl Inner {
    pub(crate) fn tell(&self, uid: &str, report: Report) {
        if let Some(reports) = self.reports.get() {
            reports.tell(uid, report);
        }
    }

    fn pods(&self) -> MutexGuard<'_, BTreeMap<String, Arc<PodState>>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pod_state(&self, uid: &str) -> Arc<PodState> {
        self.pods().entry(uid.to_owned()).or_default().clone()
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<(String, RunId)>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn live_runs(&self) -> Vec<(String, RunId)> {
        self.live().iter().cloned().collect()
    }

    fn children(&self) -> MutexGuard<'_, Vec<Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the pod runs, as it may know it.
    fn place(&self, pod: &Pod) -> Place {
        let name = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let node = name.and_then(|name| self.settings.cluster.get::<Node>("", name));
        let status = node.as_ref().and_then(|node| node.status.as_ref());
        let addresses = status.and_then(|status| status.addresses.as_deref());
        let internal = addresses
            .unwrap_or_default()
            .iter()
            .find(|one| one.type_ == "InternalIP");
        let ip = internal.map_or("127.0.0.1", |one| one.address.as_str());
        Place {
            host_ip: ip.to_owned(),
            pod_ip: ip.to_owned(),
            allocatable: status
                .and_then(|status| status.allocatable.clone())
                .unwrap_or_default(),
        }
    }

    fn services(&self) -> Vec<Arc<Service>> {
        self.settings.cluster.all::<Service>()
    }
}

fn uid_of(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_path_is_real_as_far_as_it_is_there() {
        let folder = Folder::new("real-path");
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("there")).unwrap();
        std::os::unix::fs::symlink("there", root.join("link")).unwrap();
        let real = |path: &str| real_path(&root.join(path));
        assert_eq!(real("link"), root.join("there"));
        assert_eq!(real("link/new/file"), root.join("there/new/file"));
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(real_path(Path::new("./data")), here.join("data"));
    }
}
