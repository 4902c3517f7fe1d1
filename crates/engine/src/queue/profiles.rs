//! All profiles, and which of their plugins listens to what. Upstream's `profile.Map` and the
//! queueing-hint map that `pkg/scheduler/scheduler.go` builds.

use super::Happening;
use super::{PluginId, PluginIds, QueuedPod};
use crate::framework::{Action, ClusterEvent, Cx, EventResource, Framework, Hint, Registration};
use crate::model::Pod;
use std::cmp::Ordering;
use stowplan_base::{Lookup, Names, Sym};

/// The profiles by `schedulerName`, with the events that their plugins registered.
pub struct Profiles {
    frameworks: Vec<Framework>,
    by_scheduler_name: Lookup<Sym, usize>,
    plugin_names: Vec<&'static str>,
    /// Per profile.
    listeners: Vec<Vec<Listener>>,
    recorded_hints: Option<RecordedHints>,
}

/// Answers to hints, by event, pod and plugin.
pub type RecordedHints = Box<dyn Fn(&ClusterEvent, &Pod, &str) -> Hint>;

/// A plugin and one event that it registered.
#[derive(Clone, Copy, Debug)]
struct Listener {
    plugin: PluginId,
    event: ClusterEvent,
    hinted: bool,
}

/// Who is asked about one event: per profile the plugins, with or without a hint of their own.
pub(super) struct Asked {
    per_profile: Vec<Vec<(PluginId, bool)>>,
}

impl Profiles {
    /// The profiles, at least one. The first one's QueueSort orders the queue for all.
    pub fn new(frameworks: Vec<Framework>, names: &mut Names) -> Self {
        assert!(!frameworks.is_empty(), "at least one profile is required");
        let mut profiles = Self {
            frameworks: Vec::new(),
            by_scheduler_name: Lookup::new(),
            plugin_names: Vec::new(),
            listeners: Vec::new(),
            recorded_hints: None,
        };
        for (at, framework) in frameworks.iter().enumerate() {
            profiles
                .by_scheduler_name
                .insert(names.intern(&framework.profile_name), at);
            let mut listeners = Vec::new();
            for (plugin, registrations) in framework.registrations() {
                let plugin = profiles.id(plugin);
                let registrations = with_node_taint(registrations);
                listeners.extend(registrations.into_iter().map(|registration| Listener {
                    plugin,
                    event: registration.event,
                    hinted: registration.hinted,
                }));
            }
            profiles.listeners.push(listeners);
        }
        profiles.frameworks = frameworks;
        profiles
    }

    /// The frameworks, in the order of the configuration.
    pub fn frameworks(&self) -> &[Framework] {
        &self.frameworks
    }

    /// The profile that is responsible for a pod.
    pub fn of(&self, pod: &Pod) -> Option<&Framework> {
        self.position(pod).map(|at| &self.frameworks[at])
    }

    /// Whether any profile is responsible for a pod.
    pub fn handles(&self, pod: &Pod) -> bool {
        self.position(pod).is_some()
    }

    pub(crate) fn position(&self, pod: &Pod) -> Option<usize> {
        self.by_scheduler_name.get(&pod.scheduler_name).copied()
    }

    /// Which of two pods is tried first.
    pub fn order(&self, a: &QueuedPod, b: &QueuedPod) -> Ordering {
        self.frameworks[0].order((&a.pod, a.timestamp), (&b.pod, b.timestamp))
    }

    /// The number of a plugin, new if need be.
    pub fn id(&mut self, name: &'static str) -> PluginId {
        self.find(name).unwrap_or_else(|| {
            self.plugin_names.push(name);
            PluginId::new(self.plugin_names.len() - 1)
        })
    }

    /// The number of a plugin that some profile has.
    pub fn find(&self, name: &str) -> Option<PluginId> {
        let at = self.plugin_names.iter().position(|known| *known == name)?;
        Some(PluginId::new(at))
    }

    /// The name of a plugin.
    pub fn name(&self, plugin: PluginId) -> &'static str {
        self.plugin_names[plugin.index()]
    }

    /// The names of plugins, sorted.
    pub fn names(&self, plugins: PluginIds) -> Vec<&'static str> {
        let mut names: Vec<_> = plugins.iter().map(|plugin| self.name(plugin)).collect();
        names.sort_unstable();
        names
    }

    /// Takes all hints from a recording instead of asking the plugins: what remains is the queue's
    /// own doing.
    pub fn replay_hints(&mut self, recorded: RecordedHints) {
        self.recorded_hints = Some(recorded);
    }

    /// Asks a plugin of a profile about an event.
    pub(super) fn hint(
        &self,
        cx: Cx<'_>,
        (profile, plugin): (usize, PluginId),
        pod: &Pod,
        Happening { event, old, new }: &Happening,
    ) -> Hint {
        let name = self.name(plugin);
        match &self.recorded_hints {
            Some(recorded) => recorded(event, pod, name),
            None => {
                let framework = &self.frameworks[profile];
                framework.hint(cx, name, event, pod, old.as_ref(), new.as_ref())
            }
        }
    }

    /// Whether any plugin of any profile listens to the event.
    pub fn is_of_interest(&self, event: &ClusterEvent) -> bool {
        event.is_wildcard() || self.all_listeners().any(|l| l.event.covers(event))
    }

    /// Whether the plugin listens to the event, in whatever profile.
    pub(super) fn listens(&self, plugin: PluginId, event: &ClusterEvent) -> bool {
        self.all_listeners()
            .any(|l| l.plugin == plugin && l.event.covers(event))
    }

    /// Everything that some plugin wants to know of one kind of object.
    pub fn actions(&self, resource: EventResource) -> Action {
        self.all_listeners()
            .filter(|listener| listener.event.resource == resource)
            .fold(Action::NONE, |actions, l| actions.or(l.event.action))
    }

    /// Who is asked about the event.
    pub(super) fn asked(&self, event: &ClusterEvent) -> Asked {
        let of_profile = |listeners: &Vec<Listener>| {
            let listening = listeners.iter().filter(|l| l.event.covers(event));
            listening.map(|l| (l.plugin, l.hinted)).collect()
        };
        Asked {
            per_profile: self.listeners.iter().map(of_profile).collect(),
        }
    }

    fn all_listeners(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().flatten()
    }
}

impl Asked {
    /// The plugins of the profile at this position; `true` if their hint is to be asked.
    pub(super) fn of_profile(&self, at: usize) -> &[(PluginId, bool)] {
        &self.per_profile[at]
    }

    /// The plugins of all profiles together.
    pub(super) fn plugins(&self) -> PluginIds {
        self.per_profile
            .iter()
            .flatten()
            .map(|(plugin, _)| *plugin)
            .collect()
    }
}

/// Whoever listens to new nodes but not to taints is woken by taints as well: upstream's answer to
/// nodes that are not ready yet when they appear (kubernetes#109437).
fn with_node_taint(mut registrations: Vec<Registration>) -> Vec<Registration> {
    let listens = |action: Action| {
        registrations
            .iter()
            .any(|r| r.event.resource == EventResource::Node && r.event.action.intersects(action))
    };
    if listens(Action::ADD) && !listens(Action::UPDATE_NODE_TAINT) {
        registrations.push(Registration::always(
            EventResource::Node,
            Action::UPDATE_NODE_TAINT,
        ));
    }
    registrations
}
