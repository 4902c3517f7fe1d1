//! State with and without its type.

use super::Erased;
use crate::framework::cycle::State;
use crate::framework::{PreFilterResult, PreScoreResult, Slot};

pub(super) fn typed<T: 'static>(state: &dyn State) -> &T {
    state
        .as_any()
        .downcast_ref()
        .expect("a plugin's slot holds its own state")
}

pub(super) fn typed_mut<T: 'static>(state: &mut dyn State) -> &mut T {
    state
        .as_any_mut()
        .downcast_mut()
        .expect("a plugin's slot holds its own state")
}

pub(super) fn typed_slot<T: 'static>(slot: &Slot<Erased>) -> Slot<&T> {
    match slot {
        Slot::Absent => Slot::Absent,
        Slot::Skipped | Slot::Resting(_) => Slot::Skipped,
        Slot::Rejected => Slot::Rejected,
        Slot::Ready(state) => Slot::Ready(typed(&**state)),
        Slot::Broken(status) => Slot::Broken(status.clone()),
    }
}

pub(super) fn erase_filter<S: Clone + 'static>(
    found: PreFilterResult<S>,
) -> PreFilterResult<Erased> {
    match found {
        PreFilterResult::Skip => PreFilterResult::Skip,
        PreFilterResult::Ready(state) => PreFilterResult::Ready(Box::new(state)),
        PreFilterResult::Narrowed(state, nodes) => {
            PreFilterResult::Narrowed(Box::new(state), nodes)
        }
        PreFilterResult::Rejected(status) => PreFilterResult::Rejected(status),
    }
}

pub(super) fn erase_score<S: Clone + 'static>(found: PreScoreResult<S>) -> PreScoreResult<Erased> {
    match found {
        PreScoreResult::Skip => PreScoreResult::Skip,
        PreScoreResult::Ready(state) => PreScoreResult::Ready(Box::new(state)),
        PreScoreResult::Failed(status) => PreScoreResult::Failed(status),
    }
}
