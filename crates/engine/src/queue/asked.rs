//! Which plugins are asked about an event.

use super::{PluginId, PluginIds};
use crate::framework::ClusterEvent;

/// A plugin of a profile, as far as hints go.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedPlugin {
    /// Its number among all plugins of all profiles.
    pub(super) id: PluginId,
    /// Its number within the profile.
    pub(super) number: usize,
    /// Whether it has a hint of its own; otherwise the answer is always Queue.
    pub(super) hinted: bool,
}

/// A plugin and one event that it registered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    pub(super) plugin: AskedPlugin,
    pub(super) event: ClusterEvent,
}

/// The plugins whose registrations cover one event, per profile.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    per_profile: Vec<Vec<AskedPlugin>>,
    plugins: PluginIds,
}

impl Asked {
    pub(super) fn new(listeners: &[Vec<Listener>], event: &ClusterEvent) -> Self {
        let of_profile = |listeners: &Vec<Listener>| {
            let listening = listeners.iter().filter(|l| l.event.covers(event));
            listening.map(|l| l.plugin).collect()
        };
        let per_profile: Vec<Vec<AskedPlugin>> = listeners.iter().map(of_profile).collect();
        Self {
            plugins: per_profile.iter().flatten().map(|p| p.id).collect(),
            per_profile,
        }
    }

    /// The plugins of the profile at this position.
    pub(super) fn of_profile(&self, at: usize) -> &[AskedPlugin] {
        &self.per_profile[at]
    }

    /// The plugins of all profiles together.
    pub(super) fn plugins(&self) -> PluginIds {
        self.plugins
    }
}
