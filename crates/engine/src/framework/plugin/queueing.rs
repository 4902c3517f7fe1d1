//! PreEnqueue, QueueSort, and what may help a rejected pod.

use crate::framework::{ClusterEvent, Cx, Fit, Registration};
use crate::model::{Object, Pod};
use std::cmp::Ordering;
use stowplan_base::Time;

/// Holds pods back from the active queue.
pub trait PreEnqueue: 'static {
    /// May the pod enter the active queue?
    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit;
}

/// The order of the active queue.
pub trait QueueSort: 'static {
    /// Which of two pods, with the time each entered the queue, is to be tried first. Upstream's
    /// `Less`.
    fn order(&self, cx: Cx<'_>, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering;

    /// Whether the order of two pods may change while they wait, as it does where it depends on the
    /// cluster: then the queue is put in order again before each pod is popped.
    fn follows_cluster(&self) -> bool {
        false
    }
}

/// What may help a pod that the plugin rejected. Without it, everything may.
pub trait EnqueueExtensions: 'static {
    /// The events that could make a rejected pod schedulable. Upstream's `EventsToRegister`.
    fn events(&self) -> Vec<Registration>;

    /// Could this event make `pod` schedulable? Upstream's `QueueingHintFn`; asked only for
    /// registrations with a hint.
    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        _pod: &Pod,
        _old: Option<&Object>,
        _new: Option<&Object>,
    ) -> Hint {
        Hint::Queue
    }
}

/// Whether an event could make a rejected pod schedulable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// It could: try again.
    Queue,
    /// It could not.
    Skip,
    /// The hint failed; counts as [`Hint::Queue`].
    Error(String),
}

impl Hint {
    /// [`Hint::Queue`] if the event helps, otherwise [`Hint::Skip`].
    pub fn queue_if(helps: bool) -> Self {
        if helps { Self::Queue } else { Self::Skip }
    }
}
