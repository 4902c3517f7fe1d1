//! A profile's plugins, run at their extension points. Upstream's `pkg/scheduler/framework/runtime`.
//!
//! What the points share is here; each group of points has a file of its own.

mod binding;
mod dry_run;
mod evaluated;
mod filters;
mod kept;
mod pre_filter;
mod scores;

pub(crate) use dry_run::has_nominated;
pub use dry_run::{DryRun, DryRunOp, DryRunSpace};
pub(crate) use evaluated::Evaluated;
pub(crate) use kept::{InPlay, OUT_OF_RANGE, PRE_FILTER_ONLY, Plan, Rule, UNKNOWN};
pub use pre_filter::PreFilterOutcome;
pub use scores::{MAX_NODE_SCORE, PluginScores, ScoreTable};

use super::builder::code;
use super::{AnyPlugin, ClusterEvent, Cx, Hint, PluginStatus, Point, Registration};
use crate::framework::QueueSort;
use crate::model::{Object, Pod};
use crate::packing::Packing;
use std::cmp::Ordering;
use std::rc::Rc;
use stowplan_base::Time;

/// A profile, ready to run.
pub struct Framework {
    /// The profile's `schedulerName`.
    pub profile_name: String,
    plugins: Vec<AnyPlugin>,
    /// Per [`Point`], the plugins' indices in the order in which they run.
    enabled: [Vec<usize>; Point::ALL.len()],
    /// Per plugin, what its score is multiplied by.
    weights: Vec<i64>,
    /// What takes the place of the scores, and the plugin that brought it.
    packing: Option<(&'static str, Packing)>,
    /// The plugin that orders the queue. Kept apart because it is asked several times per pod.
    queue_sort: Option<Rc<dyn QueueSort>>,
    /// The kinds of objects that what plugins keep may be invalidated by, as `Kind::bit`s.
    invalidating_kinds: u32,
}

impl Framework {
    /// A profile from its plugins, each once, and who runs where.
    ///
    /// `enabled` holds indices into `plugins`; `weights` is parallel to `plugins`.
    pub fn new(
        profile_name: String,
        plugins: Vec<AnyPlugin>,
        enabled: [Vec<usize>; Point::ALL.len()],
        weights: Vec<i64>,
    ) -> Self {
        assert_eq!(plugins.len(), weights.len(), "one weight per plugin");
        for point in Point::ALL {
            let mut here = enabled[point as usize].iter();
            let takes_part = here.all(|&i| plugins[i].points().contains(&point));
            assert!(takes_part, "a plugin is enabled at {point:?} without code");
        }
        let mut scoring = enabled[Point::Score as usize].iter();
        let packing = scoring.find_map(|&i| Some((plugins[i].name(), plugins[i].packing?)));
        let mut sorting = enabled[Point::QueueSort as usize].iter();
        let queue_sort = sorting.next().and_then(|&i| plugins[i].queue_sort.clone());
        Self {
            profile_name,
            invalidating_kinds: kept::invalidating_kinds(&plugins),
            plugins,
            enabled,
            weights,
            packing,
            queue_sort,
        }
    }

    fn at(&self, point: Point) -> impl DoubleEndedIterator<Item = (usize, &AnyPlugin)> {
        self.enabled[point as usize]
            .iter()
            .map(|&i| (i, &self.plugins[i]))
    }

    /// The names of the plugins that run at `point`, in order.
    pub fn enabled_at(&self, point: Point) -> Vec<&'static str> {
        self.at(point).map(|(_, plugin)| plugin.name()).collect()
    }

    /// What the score of each plugin that scores is multiplied by.
    pub fn score_weights(&self) -> Vec<(&'static str, i64)> {
        self.at(Point::Score)
            .map(|(i, plugin)| (plugin.name(), self.weights[i]))
            .collect()
    }

    /// The packing policy that takes the place of the scores, if the profile has one.
    pub fn packing(&self) -> Option<Packing> {
        self.packing.map(|(_, policy)| policy)
    }

    /// The first PreEnqueue plugin that holds the pod back; `gated_by`, which held it back before,
    /// is asked first.
    pub fn run_pre_enqueue(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        gated_by: Option<&str>,
    ) -> Option<PluginStatus> {
        let ask = |(_, plugin): (usize, &AnyPlugin)| {
            let status = code(&plugin.pre_enqueue).pre_enqueue(cx, pod).err()?;
            Some(PluginStatus {
                plugin: plugin.name(),
                status,
            })
        };
        let Some(gated_by) = gated_by else {
            return self.at(Point::PreEnqueue).find_map(ask);
        };
        let held_before = |(_, plugin): &(usize, &AnyPlugin)| plugin.name() == gated_by;
        self.at(Point::PreEnqueue)
            .filter(held_before)
            .chain(self.at(Point::PreEnqueue).filter(|p| !held_before(p)))
            .find_map(ask)
    }

    /// Which of two pods is to be tried first.
    #[inline]
    pub fn order(&self, cx: Cx<'_>, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        match &self.queue_sort {
            Some(sort) => sort.order(cx, a, b),
            None => Ordering::Equal,
        }
    }

    /// Whether the order of two pods may change while they wait.
    pub fn order_follows_cluster(&self) -> bool {
        self.queue_sort
            .as_ref()
            .is_some_and(|sort| sort.follows_cluster())
    }

    /// Every plugin that can reject a pod: its number within the profile, its name and the events
    /// it listens to, whatever the points it is enabled at.
    pub fn registrations(&self) -> Vec<(usize, &'static str, Vec<Registration>)> {
        const REJECTING: [Point; 5] = [
            Point::PreEnqueue,
            Point::PreFilter,
            Point::Filter,
            Point::Reserve,
            Point::Permit,
        ];
        let rejects = |plugin: &AnyPlugin| {
            let points = plugin.points();
            points.iter().any(|point| REJECTING.contains(point))
        };
        self.plugins
            .iter()
            .enumerate()
            .filter(|(_, plugin)| rejects(plugin))
            .map(|(i, plugin)| (i, plugin.name(), plugin.events()))
            .collect()
    }

    /// Asks the plugin of this number whether an event could make `pod` schedulable.
    pub fn hint(
        &self,
        cx: Cx<'_>,
        plugin: usize,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        match &self.plugins[plugin].enqueue_extensions {
            Some(extensions) => extensions.hint(cx, event, pod, old, new),
            None => Hint::Queue,
        }
    }
}
