//! What shims tell, and what they can no longer tell.

use super::Inner;
use super::signals::kill_rest;
use crate::logs;
use crate::record::{Exited, RunFolder, RunState, time};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use stowplan_nodes::{Exit, Report, RunId, Trouble};
use tokio::net::UnixDatagram;

/// How often it is looked for shims that cannot tell any more.
const SWEEP: Duration = Duration::from_secs(2);
/// How much of what a container said last is told. Upstream's `MaxContainerTerminationMessageLength`,
/// `MaxContainerTerminationMessageLogLength` and `MaxContainerTerminationMessageLogLines`.
const MESSAGE_BYTES: u64 = 4 << 10;
const MESSAGE_LOG_BYTES: usize = 2 << 10;
const MESSAGE_LOG_LINES: usize = 80;

/// Listens to shims.
pub(super) async fn listen(inner: Arc<Inner>) {
    let path = inner.state.socket();
    let _ = std::fs::remove_file(&path);
    let socket = match UnixDatagram::bind(&path) {
        Ok(socket) => socket,
        Err(error) => {
            // What shims do is seen all the same, only later.
            tracing::warn!(path = %path.display(), %error, "containers cannot tell how they are");
            return;
        }
    };
    let mut buffer = [0; 1 << 10];
    loop {
        let Ok(count) = socket.recv(&mut buffer).await else {
            inner.settings.env.sleep(Duration::from_millis(10)).await;
            continue;
        };
        let said = buffer.get(..count).unwrap_or_default();
        if let Some((uid, run)) = std::str::from_utf8(said).ok().and_then(parse) {
            inner.look_at(&uid, &run);
        }
    }
}

/// `UID/CONTAINER/ATTEMPT`.
fn parse(id: &str) -> Option<(String, RunId)> {
    let mut parts = id.split('/');
    let (uid, container, attempt) = (parts.next()?, parts.next()?, parts.next()?);
    let run = RunId {
        container: container.into(),
        attempt: attempt.parse().ok()?,
    };
    Some((uid.to_owned(), run))
}

/// Looks after all that lives, every now and then: a shim that was killed tells nothing.
pub(super) async fn sweep(inner: Arc<Inner>) {
    loop {
        inner.settings.env.sleep(SWEEP).await;
        inner
            .children()
            .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let live: Vec<_> = inner.live().iter().cloned().collect();
        for (uid, run) in live {
            inner.look_at(&uid, &run);
        }
    }
}

impl Inner {
    /// Tells what became of a run.
    pub(super) fn look_at(&self, uid: &str, run: &RunId) {
        let folder = self.state.run(uid, run);
        match folder.state() {
            RunState::Starting => {}
            RunState::Running(started) => {
                self.tell(uid, Report::Started(run.clone(), time(started.at_ns)));
            }
            RunState::Exited(exited) => {
                self.live().remove(&(uid.to_owned(), run.clone()));
                let report = match &exited.start_error {
                    Some(why) => not_started(run, why),
                    None => Report::Exited(run.clone(), exit_of(&folder, &exited)),
                };
                self.tell(uid, report);
            }
            RunState::Lost | RunState::NotBegun => {
                kill_rest(&folder);
                self.live().remove(&(uid.to_owned(), run.clone()));
                self.tell(uid, Report::Lost(run.clone()));
            }
        }
    }
}

fn not_started(run: &RunId, why: &str) -> Report {
    let (reason, message) = (Trouble::START_ERROR, start_error(why));
    Report::NotStarted(run.clone(), Trouble { reason, message })
}

/// The program could not be started, in containerd's words.
fn start_error(why: &str) -> String {
    format!(
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc \
         create failed: unable to start container process: {why}"
    )
}

/// How a run ended, with what it said last.
pub(super) fn exit_of(folder: &RunFolder, exited: &Exited) -> Exit {
    let reason = match (exited.is_oom, &exited.start_error) {
        (true, _) => Some("OOMKilled".into()),
        (_, Some(_)) => Some(Trouble::START_ERROR.into()),
        _ => None,
    };
    Exit {
        since: time(exited.since_ns),
        at: time(exited.at_ns),
        code: exited.code,
        signal: exited.signal,
        reason,
        message: match &exited.start_error {
            Some(why) => start_error(why),
            None => last_words(folder, exited.code),
        },
    }
}

/// The message that the container left; or the end of its log, if that is wanted.
fn last_words(folder: &RunFolder, code: i32) -> String {
    let mut left = Vec::new();
    if let Ok(file) = File::open(folder.file("termination-log")) {
        // The container decides how large it is.
        let _ = file.take(MESSAGE_BYTES).read_to_end(&mut left);
    }
    if !left.is_empty() {
        return String::from_utf8_lossy(&left).into_owned();
    }
    let falls_back = folder.spec().is_ok_and(|spec| spec.logs_are_last_words);
    match falls_back && code != 0 {
        true => logs::tail(folder, MESSAGE_LOG_LINES, MESSAGE_LOG_BYTES),
        false => String::new(),
    }
}
