//! What one scheduling attempt remembers between extension points.

use super::Status;
use std::any::Any;

/// What PreFilter or PreScore left for one plugin.
#[derive(Clone, Debug)]
pub enum Slot<S> {
    /// It did not run.
    Absent,
    /// It ran and had nothing to check.
    Skipped,
    /// As [`Skipped`](Self::Skipped); this is kept for when there is something to check. The fast
    /// path takes a rule that accepts every node for such, too.
    Resting(S),
    /// It ran and rejected the pod.
    Rejected,
    /// It ran and left this.
    Ready(S),
    /// It is disabled and the plugin cannot do without it.
    Broken(Status),
}

impl<S> Slot<S> {
    /// Whether there was nothing to check.
    pub fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped | Self::Resting(_))
    }

    /// Puts kept state to rest or wakes it; returns whether that is a change.
    pub(super) fn rest(&mut self, rests: bool) -> bool {
        if rests == matches!(self, Self::Resting(_)) {
            return false;
        }
        *self = match std::mem::replace(self, Self::Absent) {
            Self::Ready(state) => Self::Resting(state),
            Self::Resting(state) => Self::Ready(state),
            other => {
                *self = other;
                return false;
            }
        };
        true
    }

    /// The state, be it at rest.
    pub(super) fn state(&self) -> Option<&S> {
        match self {
            Self::Ready(state) | Self::Resting(state) => Some(state),
            _ => None,
        }
    }

    /// The state, be it at rest, to be changed.
    pub(super) fn kept(&mut self) -> Option<&mut S> {
        match self {
            Self::Ready(state) | Self::Resting(state) => Some(state),
            _ => None,
        }
    }
}

/// A plugin's state, its type erased. The plugin's index says what the type is.
pub(super) trait State: Any {
    fn boxed_clone(&self) -> Box<dyn State>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Clone + 'static> State for T {
    fn boxed_clone(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn State> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// Typed state per plugin of the profile, in the profile's order of plugins. Upstream's
/// `CycleState`, without its map of untyped values.
#[derive(Clone)]
pub struct CycleState {
    pub(super) filter: Vec<Slot<Box<dyn State>>>,
    pub(super) score: Vec<Slot<Box<dyn State>>>,
}

impl CycleState {
    pub(crate) fn new(plugins: usize) -> Self {
        let absent = |_| Slot::Absent;
        Self {
            filter: (0..plugins).map(absent).collect(),
            score: (0..plugins).map(absent).collect(),
        }
    }

    /// How many bytes the slots take up, without what is in them.
    pub(super) fn bytes(&self) -> usize {
        (self.filter.capacity() + self.score.capacity()) * size_of::<Slot<Box<dyn State>>>()
    }

    /// A copy of what the filters read.
    pub(super) fn for_dry_run(&self) -> Self {
        let copy = |slot: &Slot<Box<dyn State>>| match slot {
            Slot::Resting(_) => Slot::Skipped,
            slot => slot.clone(),
        };
        Self {
            filter: self.filter.iter().map(copy).collect(),
            score: Vec::new(),
        }
    }
}
