//! Plays events on both paths.

use super::compare::{difference, render};
use super::coverage::Coverage;
use super::event::{Event, World};
use super::profiles::Profile;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use stowplan_engine::explain;
use stowplan_engine::fast::Classes;
use stowplan_engine::model::Pod;
use stowplan_engine::schedule::{self, Attempt};

/// Every so many decisions are looked at more closely.
const EXPLAINED_EVERY: u64 = 16;

/// Where the paths part.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) profile: usize,
    pub(super) text: String,
}

/// A cluster on which both paths decide.
pub(super) struct Replay {
    pub(super) world: World,
    pub(super) profiles: Vec<Profile>,
    classes: Vec<Classes>,
    pub(super) coverage: Coverage,
}

impl Replay {
    pub(super) fn new(world: World, profiles: Vec<Profile>) -> Self {
        Self {
            world,
            classes: profiles.iter().map(|_| Classes::default()).collect(),
            profiles,
            coverage: Coverage::default(),
        }
    }

    /// Plays one event. Of a decision, what the plain path came to.
    pub(super) fn play(&mut self, event: &Event) -> Result<Option<Attempt>, Difference> {
        let Event::Decide(pod, profile) = event else {
            self.coverage.event(event);
            self.world.apply(event);
            return Ok(None);
        };
        if self.world.snapshot.nodes().is_empty() {
            return Ok(None);
        }
        self.coverage.event(event);
        let pod = self.world.with_columns(pod);
        self.decide(&pod, *profile).map(Some)
    }

    fn decide(&mut self, pod: &Pod, profile: usize) -> Result<Attempt, Difference> {
        let framework = &self.profiles[profile].framework;
        let cx = self.world.cx();
        let differs = |text| Difference { profile, text };
        let plain = quietly(|| schedule::schedule_pod(framework, cx, pod))
            .map_err(|panic| differs(format!("- panics: {panic}")))?;
        self.coverage.attempt(&plain, cx, pod);
        if self.coverage.comparisons().is_multiple_of(EXPLAINED_EVERY) {
            let explanation = explain::explain(framework, cx, pod, false);
            self.coverage.scores(&explanation);
        }
        let classes = &mut self.classes[profile];
        let fast = quietly(|| classes.schedule_pod(framework, cx, pod));
        let text = match fast {
            Ok(fast) => difference(
                &render(&plain, framework, cx, pod),
                &render(&fast, framework, cx, pod),
            ),
            Err(panic) => Some(format!("+ panics: {panic}")),
        };
        match text {
            None => Ok(plain),
            Some(text) => Err(differs(text)),
        }
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; a panic is a text. While a failing history is cut down, it happens often.
fn quietly<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                LAST.set(info.to_string());
            } else {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(false);
    result.map_err(|_| LAST.take())
}

thread_local! {
    static LAST: Cell<String> = const { Cell::new(String::new()) };
}
