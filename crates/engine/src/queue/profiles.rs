//! All profiles, and which of their plugins listens to what. Upstream's `profile.Map` and the
//! queueing-hint map that `pkg/scheduler/scheduler.go` builds.

use super::asked::{Asked, AskedPlugin, Listener};
use super::{InFlightEvent, PluginId, PluginIds, QueuedPod};
use crate::framework::{Action, ClusterEvent, Cx, EventResource, Framework, Hint, Registration};
use crate::model::Pod;
use std::borrow::Cow;
use std::cmp::Ordering;
use stowplan_base::{Lookup, Names, Sym};

/// The profiles by `schedulerName`, with the events that their plugins registered.
pub struct Profiles {
    frameworks: Vec<Framework>,
    /// The `schedulerName` of each. There are few: looking through them is the quickest.
    scheduler_names: Vec<Sym>,
    plugin_names: Vec<&'static str>,
    /// Per profile.
    listeners: Vec<Vec<Listener>>,
    /// The plugins that are asked about ordinary events, by event.
    asked: Lookup<(EventResource, Action), Asked>,
    recorded_hints: Option<RecordedHints>,
    order_follows_cluster: bool,
}

/// Answers to hints, by event, pod and plugin.
pub type RecordedHints = Box<dyn Fn(&ClusterEvent, &Pod, &str) -> Hint>;

impl Profiles {
    /// The profiles, at least one. The first one's QueueSort orders the queue for all.
    pub fn new(frameworks: Vec<Framework>, names: &mut Names) -> Self {
        assert!(!frameworks.is_empty(), "at least one profile is required");
        let mut profiles = Self {
            frameworks: Vec::new(),
            scheduler_names: Vec::new(),
            plugin_names: Vec::new(),
            listeners: Vec::new(),
            asked: Lookup::new(),
            recorded_hints: None,
            order_follows_cluster: frameworks[0].order_follows_cluster(),
        };
        for framework in &frameworks {
            let name = names.intern(&framework.profile_name);
            profiles.scheduler_names.push(name);
            let mut listeners = Vec::new();
            for (number, plugin, registrations) in framework.registrations() {
                let id = profiles.id(plugin);
                let registrations = with_node_taint(registrations);
                listeners.extend(registrations.into_iter().map(|registration| Listener {
                    event: registration.event,
                    plugin: AskedPlugin {
                        id,
                        number,
                        hinted: registration.hinted,
                    },
                }));
            }
            profiles.listeners.push(listeners);
        }
        profiles.frameworks = frameworks;
        for event in ordinary_events() {
            let asked = Asked::new(&profiles.listeners, &event);
            profiles.asked.insert((event.resource, event.action), asked);
        }
        profiles
    }

    /// Extenders have a say: whom they reject is woken by anything that happens, for they cannot
    /// say what they wait for.
    pub fn listen_for_extenders(&mut self) {
        let plugin = AskedPlugin {
            id: self.id(crate::extended::EXTENDER),
            number: 0,
            hinted: false,
        };
        for listeners in &mut self.listeners {
            listeners.extend(
                Registration::everything()
                    .into_iter()
                    .map(|registration| Listener {
                        event: registration.event,
                        plugin,
                    }),
            );
        }
        for event in ordinary_events() {
            let asked = Asked::new(&self.listeners, &event);
            self.asked.insert((event.resource, event.action), asked);
        }
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
        let mut names = self.scheduler_names.iter();
        names.rposition(|name| *name == pod.scheduler_name)
    }

    /// Which of two pods is tried first.
    #[inline]
    pub fn order(&self, cx: Cx<'_>, a: &QueuedPod, b: &QueuedPod) -> Ordering {
        self.frameworks[0].order(cx, (&a.pod, a.timestamp), (&b.pod, b.timestamp))
    }

    /// Whether the order of two pods may change while they wait.
    pub(super) fn order_follows_cluster(&self) -> bool {
        self.order_follows_cluster
    }

    /// The number of a plugin, new if need be.
    pub fn id(&mut self, name: &'static str) -> PluginId {
        self.find(name).unwrap_or_else(|| {
            self.plugin_names.push(name);
            PluginId::new(self.plugin_names.len() - 1)
        })
    }

    /// The numbers of plugins, new if need be.
    pub fn ids<'a>(&mut self, names: impl IntoIterator<Item = &'a &'static str>) -> PluginIds {
        names.into_iter().map(|name| self.id(name)).collect()
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

    /// Asks a plugin of the profile at this position about an event.
    pub(super) fn hint(
        &self,
        cx: Cx<'_>,
        profile: usize,
        plugin: &AskedPlugin,
        pod: &Pod,
        InFlightEvent { event, old, new }: &InFlightEvent,
    ) -> Hint {
        if !plugin.hinted {
            return Hint::Queue;
        }
        match &self.recorded_hints {
            Some(recorded) => recorded(event, pod, self.name(plugin.id)),
            None => {
                let framework = &self.frameworks[profile];
                framework.hint(cx, plugin.number, event, pod, old.as_ref(), new.as_ref())
            }
        }
    }

    /// Everything that some plugin wants to know of one kind of object.
    pub fn actions(&self, resource: EventResource) -> Action {
        let listeners = self.listeners.iter().flatten();
        listeners
            .filter(|listener| listener.event.resource == resource)
            .fold(Action::NONE, |actions, l| actions.or(l.event.action))
    }

    /// The plugins that are asked about the event.
    pub(super) fn asked(&self, event: &ClusterEvent) -> Cow<'_, Asked> {
        match self.asked.get(&(event.resource, event.action)) {
            Some(asked) => Cow::Borrowed(asked),
            None => Cow::Owned(Asked::new(&self.listeners, event)),
        }
    }
}

/// The events that are told all the time.
fn ordinary_events() -> impl Iterator<Item = ClusterEvent> {
    let changes = EventResource::ALL.into_iter().flat_map(|resource| {
        Action::of_events().map(move |action| ClusterEvent::new(resource, action))
    });
    changes.chain([ClusterEvent::FORCE_ACTIVATE])
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
