//! A container is started: all that it is given is gathered, and its shim takes over.

use super::user::{amount, limits, user};
use super::{Inner, uid_of};
use crate::cgroup;
use crate::expand::expand_all;
use crate::fields::Place;
use crate::images::{Image, command_line, lookup};
use crate::isolation::Isolation;
use crate::record::{Limits, Mount, RunFolder, RunSpec, RunState, hold, write};
use crate::shim;
use crate::sources::{Names, Sources};
use crate::variables::{Variables, of_container, of_services};
use crate::volumes::Ready;
use k8s_openapi::api::core::v1::{Container, Pod};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use stowplan_nodes::{Report, RunId, Trouble};

/// Where programs are looked for if nobody says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How often a lock is tried.
const LOOKS_MAX: usize = 100;

pub(super) const CONFIG_ERROR: &str = "CreateContainerConfigError";
const CREATE_ERROR: &str = "CreateContainerError";

pub(super) fn trouble(reason: &'static str, message: impl Into<String>) -> Trouble {
    let message = message.into();
    Trouble { reason, message }
}

/// Starts a container, and tells if that was not possible; its shim tells the rest.
pub(super) async fn start(inner: Arc<Inner>, pod: Arc<Pod>, run: RunId) {
    let uid = uid_of(&pod).to_owned();
    let state = inner.pod_state(&uid);
    let _room = inner.starts.acquire().await;
    let gate = state.gate.lock().await;
    if *gate {
        return;
    }
    let volumes = state
        .volumes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let begun = match inner.plan(&pod, &run, &volumes).await {
        Ok(spec) => {
            let (inner, uid, run) = (inner.clone(), uid.clone(), run.clone());
            let begun = tokio::task::spawn_blocking(move || inner.begin_run(&uid, &run, &spec));
            let failed = |error: io::Error| trouble(CREATE_ERROR, error.to_string());
            begun
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)))
                .map_err(failed)
        }
        Err(trouble) => Err(trouble),
    };
    drop(gate);
    if let Err(trouble) = begun {
        inner.tell(&uid, Report::NotStarted(run, trouble));
    }
}

impl Inner {
    /// All that a container is given.
    async fn plan(&self, pod: &Pod, run: &RunId, volumes: &[Ready]) -> Result<RunSpec, Trouble> {
        let gone = || trouble(CREATE_ERROR, "the pod has no such container");
        let container = container_of(pod, &run.container).ok_or_else(gone)?;
        let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
        let image = self.image(&container, &path)?;
        let place = self.place(pod);
        let mut variables = self.variables(pod, &container, &place).await?;
        for (name, value) in &image.env {
            variables.set_if_missing(name, value);
        }
        let known = |name: &str| variables.get(name).map(str::to_owned);
        let words = |words: &Option<Vec<String>>| {
            let words = expand_all(words.as_deref().unwrap_or_default(), &known);
            words.map_err(|why| trouble(CONFIG_ERROR, why))
        };
        let argv = command_line(
            &words(&container.command)?,
            &words(&container.args)?,
            &image,
        );
        if argv.is_empty() {
            return Err(trouble(CREATE_ERROR, "no command specified"));
        }
        let (uid, gid) = user(pod, &container)?;
        let id = format!("{}/{}/{}", uid_of(pod), run.container, run.attempt);
        let folder = self.state.run(uid_of(pod), run);
        let mounts = self.mounts(&container, volumes, &known, &folder)?;
        let hostname = hostname(pod);
        variables.set_if_missing("PATH", &path);
        variables.set_if_missing("HOSTNAME", &hostname);
        if container.tty == Some(true) {
            variables.set_if_missing("TERM", "xterm");
        }
        self.set_home(&mut variables, &folder, &mounts);
        let cgroup = self.cgroup(&container, &id)?;
        let cwd = container.working_dir.clone().or(image.working_dir);
        let mut hidden = self.settings.hidden.clone();
        hidden.push(self.state.root().to_owned());
        Ok(RunSpec {
            id,
            argv,
            env: variables.into_vec(),
            cwd: PathBuf::from(
                cwd.filter(|cwd| !cwd.is_empty())
                    .unwrap_or_else(|| "/".to_owned()),
            ),
            mounts,
            isolation: self.isolation,
            uid,
            gid,
            hostname,
            hidden,
            socket: self.state.socket(),
            stdin: container.stdin == Some(true),
            stdin_once: container.stdin_once == Some(true),
            tty: container.tty == Some(true),
            limits: match cgroup {
                Some(_) => Limits::default(),
                None => limits(&container),
            },
            cgroup,
            logs_are_last_words: container.termination_message_policy.as_deref()
                == Some("FallbackToLogsOnError"),
            ..RunSpec::empty()
        })
    }

    /// What stands in for the image.
    fn image(&self, container: &Container, path: &str) -> Result<Image, Trouble> {
        let name = container.image.as_deref().unwrap_or_default();
        if let Some(image) = lookup(&self.settings.images, name, path) {
            return Ok(image);
        }
        if container
            .command
            .as_ref()
            .is_some_and(|command| !command.is_empty())
        {
            return Ok(Image::default());
        }
        if container.image_pull_policy.as_deref() == Some("Never") {
            let message =
                format!("Container image {name:?} is not present with pull policy of Never");
            return Err(trouble(Trouble::NEVER_PULL, message));
        }
        let message = "nobody knows what this image would run: give the container a command, or describe \
                       the image in the file of --image-map";
        Err(trouble(Trouble::PULL_ERROR, message))
    }

    async fn variables(
        &self,
        pod: &Pod,
        container: &Container,
        place: &Place,
    ) -> Result<Variables, Trouble> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let names = Names::of_variables(container);
        let sources = Sources::read(&self.settings.requests, namespace, names).await;
        let sources = sources.map_err(|failed| trouble(CONFIG_ERROR, failed.message()))?;
        let links = pod.spec.as_ref().and_then(|spec| spec.enable_service_links);
        let api = self
            .settings
            .api
            .map(|api| (api.ip().to_string(), api.port()));
        let api = api.as_ref().map(|(host, port)| (host.as_str(), *port));
        let services = of_services(&self.services(), namespace, links.unwrap_or(true), api);
        let all = of_container(pod, container, &sources, &services, place);
        all.map_err(|why| trouble(CONFIG_ERROR, why))
    }

    /// Plain processes find what is theirs by variables.
    fn set_home(&self, variables: &mut Variables, folder: &RunFolder, mounts: &[Mount]) {
        if self.isolation == Isolation::Namespaces {
            return variables.set_if_missing("HOME", "/tmp");
        }
        let tmp = folder.file("tmp").display().to_string();
        variables.set_if_missing("HOME", &tmp);
        variables.set_if_missing("TMPDIR", &tmp);
        for mount in mounts {
            let target = mount.target.display().to_string();
            let name: String = target
                .chars()
                .map(|one| {
                    if one.is_ascii_alphanumeric() {
                        one.to_ascii_uppercase()
                    } else {
                        '_'
                    }
                })
                .collect();
            let source = match &mount.sub_path {
                Some(path) => mount.source.join(path),
                None => mount.source.clone(),
            };
            let source = source.display().to_string();
            variables.set_if_missing(&format!("STOWPLAN_MOUNT{name}"), &source);
        }
    }

    fn cgroup(&self, container: &Container, id: &str) -> Result<Option<PathBuf>, Trouble> {
        let Ok(cgroups) = &self.cgroups else {
            return Ok(None);
        };
        let amount = |list: &str, name: &str| amount(container, list, name);
        let limits = cgroup::Limits {
            cpu_m: amount("limits", "cpu"),
            memory: amount("limits", "memory"),
            cpu_request_m: amount("requests", "cpu").unwrap_or(0),
        };
        let made = cgroups.make(id, &limits);
        made.map(Some)
            .map_err(|error| trouble(CREATE_ERROR, error.to_string()))
    }

    /// Makes the folder of a run and starts its shim there.
    fn begin_run(&self, uid: &str, run: &RunId, spec: &RunSpec) -> io::Result<()> {
        let folder = self.state.run(uid, run);
        if !self.state.volumes(uid).exists() {
            // The pod is over, or gone: this order comes too late.
            return Ok(());
        }
        if folder.0.exists() {
            match folder.state() {
                RunState::NotBegun => fs::remove_dir_all(&folder.0)?,
                // It is there already: who waits for it is told.
                _ => {
                    self.live().insert((uid.to_owned(), run.clone()));
                    self.look_at(uid, run);
                    return Ok(());
                }
            }
        }
        fs::create_dir_all(&folder.0)?;
        fs::create_dir(folder.file("tmp"))?;
        fs::write(folder.file("termination-log"), "")?;
        if spec.stdin {
            shim::make_fifo(&folder.file("stdin"))?;
            shim::make_fifo(&folder.file("input"))?;
        }
        write(&folder.file("spec.json"), spec, false)?;
        let lock = hold_for_a_while(&folder.file("lock"))?;
        let lock = lock.ok_or_else(|| io::Error::other("the container's folder is in use"))?;
        self.live().insert((uid.to_owned(), run.clone()));
        let child = shim::command(&folder.0, lock).spawn()?;
        self.children().push(child);
        self.forget_old(uid, run);
        Ok(())
    }

    /// Of runs that are over the last one is kept, for who asks for its log.
    fn forget_old(&self, uid: &str, run: &RunId) {
        for (old, folder) in self.state.runs(uid) {
            if old.container == run.container && old.attempt + 1 < run.attempt {
                if let Some(cgroup) = folder.spec().ok().and_then(|spec| spec.cgroup) {
                    cgroup::remove(&cgroup);
                }
                let _ = fs::remove_dir_all(&folder.0);
            }
        }
    }
}

/// Takes a lock of which others may only look whether it is held; they have it for a moment then.
fn hold_for_a_while(path: &Path) -> io::Result<Option<fs::File>> {
    for _ in 0..LOOKS_MAX {
        if let Some(lock) = hold(path)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(None)
}

/// A container of the pod, of any kind.
pub(super) fn container_of(pod: &Pod, name: &str) -> Option<Container> {
    let spec = pod.spec.as_ref()?;
    let mut all = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers);
    if let Some(found) = all.find(|one| one.name == name) {
        return Some(found.clone());
    }
    let mut ephemeral = spec.ephemeral_containers.iter().flatten();
    let found = ephemeral.find(|one| one.name == name)?;
    // They have the same fields.
    serde_json::from_value(serde_json::to_value(found).ok()?).ok()
}

fn hostname(pod: &Pod) -> String {
    let own = pod.spec.as_ref().and_then(|spec| spec.hostname.clone());
    let name = own
        .filter(|name| !name.is_empty())
        .or(pod.metadata.name.clone());
    let name = name.unwrap_or_default();
    // As kubelets do: the kernel takes no more.
    let cut: String = name.chars().take(63).collect();
    cut.trim_end_matches(['-', '.']).to_owned()
}
