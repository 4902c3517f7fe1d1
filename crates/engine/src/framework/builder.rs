//! A plugin as a profile runs it: where it takes part, and the code that it has there.

use super::erased::{
    AnyFilter, AnyFilterState, AnyNormalizeScore, AnyPostFilter, AnyPreBind, AnyPreFilter,
    AnyPreFilterExtensions, AnyPreScore, AnyReserve, AnyScore, AnyScoreState,
};
use super::{
    Bind, EnqueueExtensions, Filter, FilterState, NormalizeScore, Permit, Point, PostBind,
    PostFilter, PreBind, PreEnqueue, PreFilter, PreFilterExtensions, PreScore, QueueSort,
    Registration, Reserve, Scope, Score, ScoreState,
};
use crate::packing::Packing;
use std::rc::Rc;

/// A plugin of any type, with its name and the points at which it takes part.
#[derive(Default)]
pub struct AnyPlugin {
    name: &'static str,
    points: Vec<Point>,
    pub(super) pre_enqueue: Option<Rc<dyn PreEnqueue>>,
    pub(super) queue_sort: Option<Rc<dyn QueueSort>>,
    pub(super) enqueue_extensions: Option<Rc<dyn EnqueueExtensions>>,
    pub(super) pre_filter: Option<Rc<dyn AnyPreFilter>>,
    pub(super) pre_filter_extensions: Option<Rc<dyn AnyPreFilterExtensions>>,
    pub(super) filter: Option<Rc<dyn AnyFilter>>,
    pub(super) filter_state: Option<Rc<dyn AnyFilterState>>,
    pub(super) post_filter: Option<Rc<dyn AnyPostFilter>>,
    pub(super) pre_score: Option<Rc<dyn AnyPreScore>>,
    pub(super) score: Option<Rc<dyn AnyScore>>,
    pub(super) normalize_score: Option<Rc<dyn AnyNormalizeScore>>,
    pub(super) score_state: Option<Rc<dyn AnyScoreState>>,
    pub(super) reserve: Option<Rc<dyn AnyReserve>>,
    pub(super) permit: Option<Rc<dyn Permit>>,
    pub(super) pre_bind: Option<Rc<dyn AnyPreBind>>,
    pub(super) bind: Option<Rc<dyn Bind>>,
    pub(super) post_bind: Option<Rc<dyn PostBind>>,
    pub(super) packing: Option<Packing>,
}

impl AnyPlugin {
    /// The name, as configuration files and messages have it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The points at which the plugin takes part when enabled by `multiPoint`.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The same plugin under this name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The events that could make a pod schedulable that this plugin rejected; all, if it does not
    /// say.
    pub(super) fn events(&self) -> Vec<Registration> {
        match &self.enqueue_extensions {
            Some(extensions) => extensions.events(),
            None => Registration::everything(),
        }
    }

    /// How far Filter looks.
    #[inline]
    pub(super) fn filter_scope(&self) -> Scope {
        match &self.filter_state {
            Some(state) => state.scope(),
            None => Scope::Cluster,
        }
    }

    /// How far Score looks.
    pub(super) fn score_scope(&self) -> Scope {
        match &self.score_state {
            Some(state) => state.scope(),
            None => Scope::Cluster,
        }
    }
}

/// The code of a plugin at a point where it is enabled.
#[inline]
pub(super) fn code<T: ?Sized>(at_point: &Option<Rc<T>>) -> &T {
    let code = at_point.as_deref();
    code.expect("a plugin is enabled only where it takes part")
}

/// Says at which points a plugin takes part: each method wants the trait of its point.
///
/// ```text
/// PluginBuilder::new(TaintToleration).filter().pre_score().score().build()
/// ```
#[must_use]
pub struct PluginBuilder<P> {
    plugin: Rc<P>,
    built: AnyPlugin,
}

impl<P: 'static> PluginBuilder<P> {
    /// A plugin that takes part nowhere yet.
    pub fn new(plugin: P) -> Self {
        Self {
            plugin: Rc::new(plugin),
            built: AnyPlugin::default(),
        }
    }

    /// The plugin, as it was said.
    pub fn build(self) -> AnyPlugin {
        self.built
    }

    fn at(mut self, point: Point, set: impl FnOnce(&mut AnyPlugin, Rc<P>)) -> Self {
        set(&mut self.built, self.plugin.clone());
        self.built.points.push(point);
        self
    }

    fn with(mut self, set: impl FnOnce(&mut AnyPlugin, Rc<P>)) -> Self {
        set(&mut self.built, self.plugin.clone());
        self
    }
}

#[allow(missing_docs)] // The extension points' own names.
impl<P: 'static> PluginBuilder<P> {
    pub fn pre_enqueue(self) -> Self
    where
        P: PreEnqueue,
    {
        self.at(Point::PreEnqueue, |to, plugin| {
            to.pre_enqueue = Some(plugin);
        })
    }

    pub fn queue_sort(self) -> Self
    where
        P: QueueSort,
    {
        self.at(Point::QueueSort, |to, plugin| to.queue_sort = Some(plugin))
    }

    pub fn enqueue_extensions(self) -> Self
    where
        P: EnqueueExtensions,
    {
        self.with(|to, plugin| to.enqueue_extensions = Some(plugin))
    }

    pub fn pre_filter(self) -> Self
    where
        P: PreFilter,
    {
        self.at(Point::PreFilter, |to, plugin| to.pre_filter = Some(plugin))
    }

    pub fn pre_filter_extensions(self) -> Self
    where
        P: PreFilterExtensions,
    {
        self.with(|to, plugin| to.pre_filter_extensions = Some(plugin))
    }

    pub fn filter(self) -> Self
    where
        P: Filter,
    {
        self.at(Point::Filter, |to, plugin| to.filter = Some(plugin))
    }

    /// What PreFilter leaves is kept for pods that are alike.
    pub fn filter_state(self) -> Self
    where
        P: Filter,
        P::FilterState: FilterState<P>,
    {
        self.with(|to, plugin| to.filter_state = Some(plugin))
    }

    pub fn post_filter(self) -> Self
    where
        P: PostFilter,
    {
        self.at(Point::PostFilter, |to, plugin| {
            to.post_filter = Some(plugin);
        })
    }

    pub fn pre_score(self) -> Self
    where
        P: PreScore,
    {
        self.at(Point::PreScore, |to, plugin| to.pre_score = Some(plugin))
    }

    pub fn score(self) -> Self
    where
        P: Score,
    {
        self.at(Point::Score, |to, plugin| to.score = Some(plugin))
    }

    pub fn normalize_score(self) -> Self
    where
        P: NormalizeScore,
    {
        self.with(|to, plugin| to.normalize_score = Some(plugin))
    }

    /// What PreScore leaves is kept for pods that are alike.
    pub fn score_state(self) -> Self
    where
        P: Score,
        P::ScoreState: ScoreState<P>,
    {
        self.with(|to, plugin| to.score_state = Some(plugin))
    }

    /// At Score, this policy takes the place of all scores of the profile.
    pub fn packing(self, policy: Packing) -> Self {
        self.at(Point::Score, |to, _| to.packing = Some(policy))
    }

    pub fn reserve(self) -> Self
    where
        P: Reserve,
    {
        self.at(Point::Reserve, |to, plugin| to.reserve = Some(plugin))
    }

    pub fn permit(self) -> Self
    where
        P: Permit,
    {
        self.at(Point::Permit, |to, plugin| to.permit = Some(plugin))
    }

    pub fn pre_bind(self) -> Self
    where
        P: PreBind,
    {
        self.at(Point::PreBind, |to, plugin| to.pre_bind = Some(plugin))
    }

    pub fn bind(self) -> Self
    where
        P: Bind,
    {
        self.at(Point::Bind, |to, plugin| to.bind = Some(plugin))
    }

    pub fn post_bind(self) -> Self
    where
        P: PostBind,
    {
        self.at(Point::PostBind, |to, plugin| to.post_bind = Some(plugin))
    }
}
