//! Plays events on both paths.

use super::compare::{difference, render, render_explanation};
use super::coverage::Coverage;
use super::event::{Event, World};
use super::plan::Size;
use super::profiles::Profile;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use stowplan_engine::explain;
use stowplan_engine::fast::{Classes, Decision};
use stowplan_engine::framework::{Cx, Framework};
use stowplan_engine::model::Pod;
use stowplan_engine::schedule::{self, Attempt};

/// Every so many decisions are looked at more closely.
const CLOSELY_EVERY: u64 = 8;

/// With so little room classes are forgotten all the time.
const FORGETFUL_BYTES: usize = 100 << 10;

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
    coverage: Coverage,
}

impl Replay {
    pub(super) fn new(world: World, profiles: Vec<Profile>, size: Size) -> Self {
        let classes = || match size {
            Size::ManyTemplates => Classes::with_limit(FORGETFUL_BYTES),
            _ => Classes::default(),
        };
        Self {
            world,
            classes: profiles.iter().map(|_| classes()).collect(),
            profiles,
            coverage: Coverage::default(),
        }
    }

    /// What came up.
    pub(super) fn into_coverage(mut self) -> Coverage {
        for classes in &self.classes {
            self.coverage.classes(classes.stats());
        }
        self.coverage
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
        let comparisons = self.coverage.comparisons();
        let closely = comparisons.is_multiple_of(CLOSELY_EVERY);
        let all_filters = comparisons.is_multiple_of(2 * CLOSELY_EVERY);
        let mut plain_lines = render(&plain, framework, cx, pod);
        if closely {
            let explanation = explain::explain(framework, cx, pod, all_filters);
            self.coverage.scores(&explanation);
            plain_lines.extend(render_explanation(&explanation, cx));
        }
        let classes = &mut self.classes[profile];
        let fast = quietly(|| {
            let fast = classes.schedule_pod(framework, cx, pod);
            let mut lines = render(&fast, framework, cx, pod);
            if let (Attempt::Placed(placement), true) = (&fast, closely) {
                lines.extend(ties(classes, framework, cx, pod, &placement.best));
            }
            if closely {
                let explanation = classes.explain(framework, cx, pod, all_filters);
                lines.extend(render_explanation(&explanation, cx));
            }
            lines
        });
        let text = match fast {
            Ok(fast) => difference(&plain_lines, &fast),
            Err(panic) => Some(format!("+ panics: {panic}")),
        };
        match text {
            None => Ok(plain),
            Some(text) => Err(differs(text)),
        }
    }
}

/// What is wrong with the best nodes when they are asked for one by one.
fn ties(
    classes: &mut Classes,
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    best: &[usize],
) -> Option<String> {
    let Decision::Placed(ties) = classes.decide(framework, cx, pod) else {
        return None;
    };
    let one_by_one: Vec<_> = (0..ties.len()).map_while(|n| ties.nth(n)).collect();
    let right = one_by_one == best && ties.nth(ties.len()).is_none();
    (!right).then(|| format!("one by one: {one_by_one:?} of {}", ties.len()))
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
