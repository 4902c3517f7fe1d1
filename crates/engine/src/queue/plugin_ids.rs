//! Plugins as small numbers.

/// A plugin's number among all plugins of all profiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PluginId(u8);

impl PluginId {
    /// How many plugins there can be.
    pub(super) const LIMIT: usize = u128::BITS as usize;

    pub(super) fn new(index: usize) -> Self {
        assert!(index < Self::LIMIT, "at most {} plugins", Self::LIMIT);
        Self(u8::try_from(index).expect("the limit is below 256"))
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A set of plugins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PluginIds(u128);

impl PluginIds {
    /// No plugin.
    pub const NONE: Self = Self(0);

    /// Every plugin that there can be.
    pub const ALL: Self = Self(u128::MAX);

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether `plugin` is one of them.
    pub fn contains(self, plugin: PluginId) -> bool {
        self.0 & (1 << plugin.0) != 0
    }

    /// Whether the sets share a plugin.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a plugin.
    pub fn insert(&mut self, plugin: PluginId) {
        self.0 |= 1 << plugin.0;
    }

    /// The plugins, by number.
    pub fn iter(self) -> impl Iterator<Item = PluginId> {
        (0..Self::bits())
            .map(PluginId)
            .filter(move |plugin| self.contains(*plugin))
    }

    fn bits() -> u8 {
        u8::try_from(PluginId::LIMIT).expect("the limit is below 256")
    }
}

impl FromIterator<PluginId> for PluginIds {
    fn from_iter<I: IntoIterator<Item = PluginId>>(plugins: I) -> Self {
        let mut set = Self::NONE;
        for plugin in plugins {
            set.insert(plugin);
        }
        set
    }
}
