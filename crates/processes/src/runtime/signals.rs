//! Containers are told to stop, and killed.

use super::{Inner, uid_of};
use crate::isolation::Isolation;
use crate::record::{RunFolder, RunState, Started, is_taken, ticks_of};
use k8s_openapi::api::core::v1::Pod;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use stowplan_nodes::RunId;

impl Inner {
    /// Tells a container to stop.
    pub(super) fn stop(&self, pod: &Pod, run: &RunId) {
        let spec = pod.spec.as_ref();
        let containers = spec.map(|spec| {
            spec.containers
                .iter()
                .chain(spec.init_containers.iter().flatten())
        });
        let mut containers = containers.into_iter().flatten();
        let container = containers.find(|one| *one.name == *run.container);
        let lifecycle = container.and_then(|one| one.lifecycle.as_ref());
        let wanted = lifecycle.and_then(|one| one.stop_signal.as_deref());
        let signal = wanted.and_then(named).unwrap_or(Signal::TERM);
        self.signal_run(uid_of(pod), run, signal);
    }

    /// Kills all that runs in a container.
    pub(super) fn kill(&self, uid: &str, run: &RunId) {
        self.signal_run(uid, run, Signal::KILL);
    }

    fn signal_run(&self, uid: &str, run: &RunId, signal: Signal) {
        let folder = self.state.run(uid, run);
        match folder.state() {
            RunState::Running(started) => self.signal(&started, signal),
            // Who waits for its end is told once more.
            _ => self.look_at(uid, run),
        }
    }

    /// Sends a signal to a container's first process; to all of its group where it has no process space.
    pub(super) fn signal(&self, started: &Started, signal: Signal) {
        let Some(pid) = Pid::from_raw(started.pid) else {
            return;
        };
        // The number may be somebody else's by now: once it is held, it stays whose it is.
        let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        if ticks_of(started.pid) != Some(started.ticks) {
            return;
        }
        let sent = match self.isolation {
            Isolation::Namespaces => pidfd_send_signal(&held, signal),
            Isolation::Plain => kill_process_group(pid, signal),
        };
        if let Err(error) = sent {
            tracing::debug!(pid = started.pid, %error, "a signal was not taken");
        }
    }
}

/// Kills what a plain container left behind whose shim was killed: only its first process died with that.
pub(super) fn kill_rest(folder: &RunFolder) {
    let is_plain = folder
        .spec()
        .is_ok_and(|spec| spec.isolation == Isolation::Plain);
    let Some(started) = folder.started().filter(|_| is_plain) else {
        return;
    };
    // While one of its group lives nobody else is given the number. Once somebody was, no group of ours is left.
    let is_taken = is_taken(started.pid, started.ticks);
    if let Some(group) = Pid::from_raw(started.pid).filter(|_| !is_taken) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// `SIGUSR1`.
fn named(name: &str) -> Option<Signal> {
    Some(match name {
        "SIGABRT" => Signal::ABORT,
        "SIGALRM" => Signal::ALARM,
        "SIGCONT" => Signal::CONT,
        "SIGHUP" => Signal::HUP,
        "SIGINT" => Signal::INT,
        "SIGKILL" => Signal::KILL,
        "SIGPIPE" => Signal::PIPE,
        "SIGQUIT" => Signal::QUIT,
        "SIGTERM" => Signal::TERM,
        "SIGTSTP" => Signal::TSTP,
        "SIGTTIN" => Signal::TTIN,
        "SIGTTOU" => Signal::TTOU,
        "SIGURG" => Signal::URG,
        "SIGUSR1" => Signal::USR1,
        "SIGUSR2" => Signal::USR2,
        "SIGVTALRM" => Signal::VTALARM,
        "SIGWINCH" => Signal::WINCH,
        _ => return None,
    })
}
