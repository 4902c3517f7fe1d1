//! What there is of a pod is found, made ready, released and taken away.

use super::news::exit_of;
use super::signals::kill_rest;
use super::{Inner, uid_of};
use crate::record::{RunState, time};
use crate::volumes::Volumes;
use k8s_openapi::api::core::v1::Pod;
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use stowplan_nodes::{Found, FoundState, Report};

/// How long what is left of a pod has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether it did.
const LOOK: Duration = Duration::from_millis(20);

/// Says what there is of the pod, and makes its volumes.
pub(super) async fn prepare(inner: Arc<Inner>, pod: Arc<Pod>) {
    let uid = uid_of(&pod);
    let state = inner.pod_state(uid);
    let gate = state.gate.lock().await;
    if *gate {
        return;
    }
    let place = inner.place(&pod);
    let folder = inner.state.volumes(uid);
    let claims = inner.state.claims();
    if let Err(error) = fs::create_dir_all(&folder) {
        return inner.tell(uid, Report::NotPrepared(error.to_string()));
    }
    let volumes = Volumes {
        requests: &inner.settings.requests,
        pod: &pod,
        place: &place,
        folder: &folder,
        claims: &claims,
        allow_host_path: inner.settings.allow_host_path,
    };
    match volumes.make().await {
        Ok(ready) => {
            *state.volumes.lock().unwrap_or_else(PoisonError::into_inner) = ready;
            let found = inner.find(uid);
            inner.tell(uid, Report::Prepared(found));
        }
        Err(why) => inner.tell(uid, Report::NotPrepared(why)),
    }
}

impl Inner {
    /// The runs of a pod's containers that were begun earlier. What was never begun is as if it were not there.
    fn find(&self, uid: &str) -> Vec<Found> {
        let mut all = Vec::new();
        for (run, folder) in self.state.runs(uid) {
            let state = match folder.state() {
                RunState::NotBegun => {
                    let _ = fs::remove_dir_all(&folder.0);
                    continue;
                }
                RunState::Starting => FoundState::Starting,
                RunState::Running(started) => FoundState::Running(time(started.at_ns)),
                RunState::Exited(exited) => FoundState::Exited(exit_of(&folder, &exited)),
                RunState::Lost => {
                    kill_rest(&folder);
                    FoundState::Lost
                }
            };
            if matches!(state, FoundState::Starting | FoundState::Running(_)) {
                self.live().insert((uid.to_owned(), run.clone()));
            }
            all.push(Found { run, state });
        }
        all
    }

    fn is_alive(&self, uid: &str) -> bool {
        let runs = self.state.runs(uid);
        runs.iter()
            .any(|(_, folder)| matches!(folder.state(), RunState::Starting | RunState::Running(_)))
    }

    /// Stops all that runs of a pod: asks first, if there is time.
    async fn end_all(&self, uid: &str, grace: Duration) {
        for (run, folder) in self.state.runs(uid) {
            match folder.state() {
                RunState::Running(started) => {
                    tracing::debug!(uid, ?run, "stopped");
                    self.signal(&started, rustix::process::Signal::TERM);
                }
                RunState::Lost => kill_rest(&folder),
                _ => {}
            }
        }
        let mut left = grace;
        while self.is_alive(uid) && !left.is_zero() {
            self.settings.env.sleep(LOOK).await;
            left = left.saturating_sub(LOOK);
        }
        // Whoever is just being started is known a moment later.
        while self.is_alive(uid) {
            for (_, folder) in self.state.runs(uid) {
                if let RunState::Running(started) = folder.state() {
                    self.signal(&started, rustix::process::Signal::KILL);
                }
            }
            self.settings.env.sleep(LOOK).await;
        }
    }
}

/// The pod is over: only its logs are of interest.
pub(super) async fn release(inner: Arc<Inner>, uid: String) {
    let state = inner.pod_state(&uid);
    let _gate = state.gate.lock().await;
    inner.end_all(&uid, Duration::ZERO).await;
    remove(&inner.state.volumes(&uid));
    for (_, folder) in inner.state.runs(&uid) {
        for name in ["root", "tmp"] {
            remove(&folder.file(name));
        }
        if let Some(cgroup) = folder.spec().ok().and_then(|spec| spec.cgroup) {
            crate::cgroup::remove(&cgroup);
        }
    }
}

/// The pod is gone: nothing of it may be left.
pub(super) async fn forget(inner: Arc<Inner>, uid: String) {
    let state = inner.pod_state(&uid);
    let mut is_gone = state.gate.lock().await;
    *is_gone = true;
    inner.end_all(&uid, GRACE).await;
    for (_, folder) in inner.state.runs(&uid) {
        if let Some(cgroup) = folder.spec().ok().and_then(|spec| spec.cgroup) {
            crate::cgroup::remove(&cgroup);
        }
    }
    remove(&inner.state.pod(&uid));
    inner.live().retain(|(other, _)| *other != uid);
    inner.pods().remove(&uid);
}

/// Takes a folder away, however its owner left it.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
        return;
    }
    open_up(folder);
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(folder = %folder.display(), %error, "a folder cannot be removed");
    }
}

/// Folders that their owner closed to himself.
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
