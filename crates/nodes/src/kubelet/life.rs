//! How the containers of a pod start, end and start again.

use super::container::{ContainerSim, Ended, Run, Running, Why};
use super::probes::killed_at;
use super::spec::{Role, restarts_all};
use super::{Cause, Cx, PodSim, Stage, hash, mix, pod_spec, ready_at, should_restart, started_at};
use crate::behaviour;
use crate::status;
use stowplan_base::{Duration, Time};

/// More steps than any pod takes while nobody looks.
const STEPS_MAX: usize = 100_000;

impl PodSim {
    /// Lets time pass up to `now`, each thing at its time. Says whether anything can be seen of it.
    pub(crate) fn advance(&mut self, cx: &mut Cx<'_>, now: Time) -> bool {
        for _ in 0..STEPS_MAX {
            match self.next(cx) {
                Some(due) if due <= now => self.tick(cx, due),
                _ => break,
            }
        }
        self.tick(cx, now.max(self.at));
        let signature = self.seen(cx);
        std::mem::replace(&mut self.signature, signature) != signature
    }

    /// When something will happen by itself.
    pub(crate) fn next(&self, cx: &Cx<'_>) -> Option<Time> {
        let mut next: Option<Time> = None;
        let mut consider = |at: Option<Time>| {
            let at = at.filter(|at| *at > self.at);
            next = [next, at].into_iter().flatten().min();
        };
        match self.stage {
            Stage::Finished => return None,
            Stage::Setup if self.real.is_none() => consider(Some(self.setup_at)),
            Stage::Setup => {}
            Stage::Living | Stage::Ending => {}
        }
        if matches!(self.stage, Stage::Setup | Stage::Living) {
            consider(self.deadline(cx));
        }
        for (spec, container) in self.with_specs(cx.specs) {
            match &container.run {
                Run::Backoff(until) if self.stage == Stage::Living => consider(Some(*until)),
                Run::Running(running) => {
                    consider(running.ends.map(|(at, _)| at));
                    if self.real.is_some() {
                        continue;
                    }
                    consider(started_at(cx.pod, spec, running.since));
                    consider(ready_at(cx.pod, spec, running.since));
                    if !running.is_stopping {
                        let fatal = killed_at(cx.pod, spec, running.since);
                        consider(fatal.map(|fatal| fatal.at));
                    }
                }
                _ => {}
            }
        }
        self.next_real(cx, &mut consider);
        next
    }

    fn deadline(&self, cx: &Cx<'_>) -> Option<Time> {
        let seconds = pod_spec(cx.pod).active_deadline_seconds?;
        Some(self.begun + Duration::from_secs(seconds))
    }

    /// All that happens at this moment.
    fn tick(&mut self, cx: &mut Cx<'_>, now: Time) {
        self.at = now;
        self.grow(cx);
        self.prepare_again(now);
        let is_alive = matches!(self.stage, Stage::Setup | Stage::Living);
        if is_alive && self.deadline(cx).is_some_and(|at| at <= now) {
            self.end(cx, Cause::Deadline, now);
        }
        if self.stage == Stage::Setup && self.is_set_up(now) {
            self.stage = Stage::Living;
            self.has_sandbox = true;
        }
        if self.stage == Stage::Living {
            self.live(cx, now);
        }
        if self.real.is_some() {
            self.ask_probes(cx, now);
            self.go_on_stopping(cx, now);
        }
        if self.stage == Stage::Ending {
            self.wind_down(cx, now);
        }
        status::update_conditions(self, cx, now);
    }

    /// Makes room for ephemeral containers that were added.
    pub(super) fn grow(&mut self, cx: &Cx<'_>) {
        if self.containers.len() < cx.specs.len() {
            let mut all = std::mem::take(&mut self.containers).into_vec();
            all.resize_with(cx.specs.len(), ContainerSim::new);
            self.containers = all.into_boxed_slice();
        }
        if let Some(real) = &mut self.real {
            real.grow(cx.specs.len());
        }
    }

    fn live(&mut self, cx: &mut Cx<'_>, now: Time) {
        if self.awaits_restart_of_all(cx, now) || self.stage != Stage::Living {
            return;
        }
        let count = cx.specs.len().min(self.containers.len());
        let of = |cx: &Cx<'_>, wanted: Role| -> Vec<usize> {
            (0..count)
                .filter(|i| cx.specs.get(*i).is_some_and(|spec| spec.role == wanted))
                .collect()
        };
        for i in of(cx, Role::Ephemeral) {
            self.run(cx, i, now);
        }
        let was_initialized = self.has_active_main(cx.specs);
        for i in 0..count {
            match cx.specs.get(i).map(|spec| spec.role) {
                Some(Role::Sidecar) => {
                    self.run(cx, i, now);
                    if !was_initialized && !self.has_started(cx, i) {
                        return;
                    }
                }
                Some(Role::Init) if !was_initialized => {
                    self.run(cx, i, now);
                    match self.ended_for_now(i) {
                        Some(ended) if ended.code == 0 => {}
                        // It will not be tried again.
                        Some(_) => return self.end(cx, Cause::Completed, now),
                        None => return,
                    }
                }
                _ => {}
            }
            if self.stage != Stage::Living {
                return;
            }
        }
        let mains = of(cx, Role::Main);
        for i in &mains {
            self.run(cx, *i, now);
            if self.stage != Stage::Living || self.holds_others(cx, *i) {
                return;
            }
        }
        let is_done = |i: &usize| self.ended_for_now(*i).is_some();
        if mains.iter().all(is_done) {
            self.end(cx, Cause::Completed, now);
        }
    }

    fn has_started(&self, cx: &Cx<'_>, i: usize) -> bool {
        let (Some(spec), Some(container)) = (cx.specs.get(i), self.containers.get(i)) else {
            return false;
        };
        self.is_started(cx.pod, spec, container)
    }

    /// Starts a container that has to run, ends one whose time has come.
    fn run(&mut self, cx: &mut Cx<'_>, i: usize, now: Time) {
        // It may end as soon as it starts; from the second time on it has to wait in between.
        for _ in 0..8 {
            if self.is_held(i, now) {
                return;
            }
            let must_restart = self.must_restart(i);
            let is_real = self.real.is_some();
            let (Some(spec), Some(container)) = (cx.specs.get(i), self.containers.get_mut(i))
            else {
                return;
            };
            match container.run {
                Run::Waiting => self.start(cx, i, now),
                Run::Backoff(until) if until <= now => {
                    container.lengthen(now);
                    self.start(cx, i, now);
                }
                Run::Backoff(_) => return,
                Run::Running(running) => {
                    if let Some((at, code)) = running.ends
                        && at <= now
                    {
                        // What was foreseen may have had to wait.
                        container.end(if is_real { at } else { now }, code);
                        if restarts_all(spec, code) && !self.stop_for_restart(cx, now) {
                            self.restart_all(cx, now);
                        }
                        if restarts_all(spec, code) {
                            return;
                        }
                    } else if !self.kill_if_needed(cx, i, running, now) {
                        return;
                    }
                }
                Run::Ended(ended) => {
                    if !should_restart(pod_spec(cx.pod), spec, ended.code) && !must_restart {
                        return;
                    }
                    if !container.may_restart(&ended, now) {
                        let name = super::full_name(cx.pod);
                        let container = spec.name;
                        let message = format!(
                            "Back-off restarting failed container {container} in pod {name}"
                        );
                        return cx.tell(i, "BackOff", message);
                    }
                    self.start(cx, i, now);
                }
            }
        }
    }

    fn start(&mut self, cx: &mut Cx<'_>, i: usize, now: Time) {
        if self.order_start(cx, i) {
            return;
        }
        let (Some(spec), Some(container)) = (cx.specs.get(i), self.containers.get_mut(i)) else {
            return;
        };
        if let Run::Ended(ended) = container.run {
            container.last = Some(ended);
        }
        if matches!(container.run, Run::Ended(_) | Run::Backoff(_)) {
            container.restarts += 1;
        }
        let exit = match (spec.role, spec.container) {
            (Role::Main, Some(wanted)) => behaviour::exit(cx.rules, cx.pod, wanted),
            (Role::Init, Some(wanted)) => behaviour::init_exit(wanted),
            (Role::Sidecar, Some(wanted)) => behaviour::sidecar_exit(wanted),
            _ => None,
        };
        container.image = hash(&[spec.image]) as u32;
        container.run = Run::Running(Running {
            since: now,
            ends: exit.map(|exit| (now + cx.slowed(exit.after), exit.code)),
            is_stopping: false,
        });
        self.tell_started(cx, i);
    }

    /// Tells that a container was created and started.
    pub(super) fn tell_started(&self, cx: &mut Cx<'_>, i: usize) {
        let Some(spec) = cx.specs.get(i) else { return };
        let image = spec.image;
        let always = spec
            .container
            .and_then(|one| one.image_pull_policy.as_deref());
        if always == Some("Always") && self.real.is_none() {
            let took = "0s";
            cx.tell(i, "Pulling", format!("Pulling image {image:?}"));
            let size = hash(&[image]) % 500_000_000;
            let message = format!(
                "Successfully pulled image {image:?} in {took} ({took} including waiting). Image size: {size} bytes."
            );
            cx.tell(i, "Pulled", message);
        } else {
            let message = format!(
                "Container image {image:?} already present on machine and can be accessed by the pod"
            );
            cx.tell(i, "Pulled", message);
        }
        cx.tell(i, "Created", "Container created".to_owned());
        cx.tell(i, "Started", "Container started".to_owned());
    }

    /// Kills a running container whose probe failed, or whose image is another one now. Says whether it
    /// has to be looked at again.
    fn kill_if_needed(&mut self, cx: &mut Cx<'_>, i: usize, running: Running, now: Time) -> bool {
        let (Some(spec), Some(container)) = (cx.specs.get(i), self.containers.get_mut(i)) else {
            return false;
        };
        if running.is_stopping {
            return false;
        }
        if container.image != hash(&[spec.image]) as u32 {
            let name = spec.name;
            let message = format!("Container {name} definition changed, will be restarted");
            if self.real.is_some() {
                cx.tell(i, "Killing", message);
                self.stop_to_restart(cx, i, now);
                return false;
            }
            container.end(now, super::ending::TERMINATED);
            cx.tell(i, "Killing", message);
            self.start(cx, i, now);
            return true;
        }
        if self.real.is_some() {
            return false;
        }
        let Some(fatal) = killed_at(cx.pod, spec, running.since).filter(|fatal| fatal.at <= now)
        else {
            return false;
        };
        let capital = match fatal.kind {
            "startup" => "Startup",
            _ => "Liveness",
        };
        cx.tell(
            i,
            "Unhealthy",
            format!("{capital} probe failed: it was told to fail"),
        );
        self.kill_unhealthy(cx, i, fatal.kind, fatal.grace_s, now);
        true
    }

    /// Tells a container to stop whose probe failed for too long.
    pub(super) fn kill_unhealthy(
        &mut self,
        cx: &mut Cx<'_>,
        i: usize,
        kind: &str,
        grace_s: Option<i64>,
        now: Time,
    ) {
        let Some(spec) = cx.specs.get(i) else { return };
        let name = spec.name;
        let policy = spec.container.and_then(|one| one.restart_policy.as_deref());
        let policy = policy.or(pod_spec(cx.pod).restart_policy.as_deref());
        let more = match policy {
            Some("Never") => "",
            _ => ", will be restarted",
        };
        cx.tell(
            i,
            "Killing",
            format!("Container {name} failed {kind} probe{more}"),
        );
        let grace_s = grace_s.or(pod_spec(cx.pod).termination_grace_period_seconds);
        self.stop(cx, i, grace_s.unwrap_or(30), now, now);
    }

    /// A container's exit restarts all of them, from the first init container on.
    pub(super) fn restart_all(&mut self, cx: &Cx<'_>, now: Time) {
        for (i, container) in self.containers.iter_mut().enumerate() {
            let is_ephemeral = cx
                .specs
                .get(i)
                .is_none_or(|one| one.role == Role::Ephemeral);
            if is_ephemeral || !container.has_run() {
                continue;
            }
            container.last = Some(Ended {
                since: now,
                at: now,
                code: 137,
                why: Why::RestartingAll,
            });
            container.restarts += 1;
            container.run = Run::Waiting;
            container.backoff_s = 0;
        }
        self.stage = Stage::Setup;
        let pause = cx.start_after.max(Duration::from_secs(1));
        self.setup_at = now + cx.slowed(pause);
    }

    /// What can be seen of it, hashed.
    pub(super) fn seen(&self, cx: &Cx<'_>) -> u64 {
        let mut seen = mix(self.generation.cast_unsigned() ^ (self.stage as u64) << 48);
        let mut note = |word: u64| seen = mix(seen.rotate_left(5) ^ word);
        for (spec, container) in self.with_specs(cx.specs) {
            let run = match &container.run {
                Run::Waiting => 0,
                Run::Backoff(until) => until.as_nanos().cast_unsigned(),
                Run::Running(running) => running.since.as_nanos().cast_unsigned() ^ 1,
                Run::Ended(ended) => ended.at.as_nanos().cast_unsigned() ^ 2,
            };
            note(run);
            let started = self.is_started(cx.pod, spec, container);
            let ready = self.is_ready(cx.pod, spec, container);
            let restarts = u64::from(container.restarts);
            note(restarts << 2 | u64::from(started) << 1 | u64::from(ready));
        }
        for trouble in self.troubles() {
            note(hash(&[trouble.reason, &trouble.message]));
        }
        for condition in self.conditions {
            note(u64::from(condition.secs) << 1 | u64::from(condition.holds));
        }
        note(status::gates_hash(cx.pod));
        seen
    }
}
