//! Workers: who is there, and who is not any more.

use super::*;

/// What a worker is told to do. It only ever moves on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WorkerState {
    /// To take jobs.
    Running,
    /// To take no more.
    Quiet,
    /// To end.
    Terminate,
}

impl WorkerState {
    /// As the protocol names it; nothing for one that runs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "",
            Self::Quiet => "quiet",
            Self::Terminate => "terminate",
        }
    }
}

/// A worker: it may have many connections.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) wid: Box<str>,
    pub(super) conns: u32,
    state: WorkerState,
    beat: Time,
    pub(super) since: Time,
    pub(super) leases: BTreeSet<u32>,
    /// Since when it has no connection.
    pub(super) gone: Option<Time>,
    pub(super) back_until: Time,
    pub(super) about: Box<str>,
}

impl Worker {
    pub(super) fn is_quiet(&self) -> bool {
        self.state != WorkerState::Running
    }

    pub(super) fn state(&self) -> WorkerState {
        self.state
    }

    fn vacant(&self) -> bool {
        self.conns == 0 && self.leases.is_empty()
    }
}

impl Machine {
    /// The worker of this name; a new one has no connections.
    pub(super) fn worker(&mut self, wid: &str, now: Time) -> u32 {
        if let Some(at) = self.worker_by_wid.get(wid) {
            return *at;
        }
        let worker = Worker {
            wid: wid.into(),
            conns: 0,
            state: WorkerState::Running,
            beat: now,
            since: now,
            leases: BTreeSet::new(),
            gone: Some(now),
            back_until: now,
            about: "".into(),
        };
        let at = match self.workers_free.pop() {
            Some(at) => {
                self.workers[at as usize] = worker;
                at
            }
            None => {
                self.workers.push(worker);
                self.workers.len() as u32 - 1
            }
        };
        self.worker_by_wid.insert(wid.into(), at);
        at
    }

    /// A connection says that it belongs to a worker.
    pub fn connect(&mut self, now: Time, wid: &str, about: &str) -> u32 {
        let at = self.worker(wid, now);
        let worker = &mut self.workers[at as usize];
        worker.conns += 1;
        if worker.gone.take().is_some() {
            worker.beat = now;
            worker.since = now;
            worker.about = about.into();
            let check = now + self.settings.beat;
            self.wheel.set(check, Timer::Worker(at));
        }
        at
    }

    /// A connection is gone.
    pub fn disconnect(&mut self, now: Time, who: Who) {
        self.end_wait(who.conn as u32);
        let Some(at) = who.worker else {
            return;
        };
        let worker = &mut self.workers[at as usize];
        worker.conns = worker.conns.saturating_sub(1);
        if worker.conns > 0 {
            return;
        }
        worker.state = WorkerState::Running;
        worker.gone = Some(now);
        worker.back_until = now + self.settings.reclaim;
        if worker.leases.is_empty() {
            self.let_go(at);
        } else {
            self.wheel.set(worker.back_until, Timer::Worker(at));
        }
    }

    /// Forgets a worker that is gone and has nothing.
    pub(super) fn let_go(&mut self, at: u32) {
        let worker = &self.workers[at as usize];
        if self.live && worker.vacant() && self.worker_by_wid.get(&worker.wid) == Some(&at) {
            self.worker_by_wid.remove(&worker.wid.clone());
            self.workers_free.push(at);
        }
    }

    pub(super) fn is_alive(&self, at: u32, now: Time) -> bool {
        let worker = &self.workers[at as usize];
        worker.conns > 0 && worker.beat + self.settings.beat > now
    }

    /// A worker says that it lives. Gives what it is told to do.
    pub fn beat(
        &mut self,
        now: Time,
        wid: &str,
        state: Option<WorkerState>,
    ) -> Option<WorkerState> {
        let at = *self.worker_by_wid.get(wid)?;
        let worker = &mut self.workers[at as usize];
        if worker.conns == 0 {
            return None;
        }
        worker.beat = now;
        worker.state = worker.state.max(state.unwrap_or(WorkerState::Running));
        Some(worker.state)
    }

    /// Tells a worker, or all (`*`), to become quiet or to end; gives how many were told.
    pub fn signal(&mut self, wid: &str, state: WorkerState) -> usize {
        let mut told = 0;
        for worker in self.workers.iter_mut().filter(|worker| worker.conns > 0) {
            if wid == "*" || *worker.wid == *wid {
                worker.state = worker.state.max(state);
                told += 1;
            }
        }
        told
    }

    pub(super) fn look_after(&mut self, out: &mut Out, now: Time, at: u32) {
        let Some(worker) = self.workers.get(at as usize) else {
            return;
        };
        if worker.conns > 0 {
            let check = worker.beat + self.settings.beat;
            if check <= now {
                out.reaped.push(at);
            } else {
                self.wheel.set(check, Timer::Worker(at));
            }
            return;
        }
        if worker.gone.is_some() && worker.back_until <= now {
            for slot in worker.leases.clone() {
                self.reclaim(out, now, slot);
            }
        }
    }
}
