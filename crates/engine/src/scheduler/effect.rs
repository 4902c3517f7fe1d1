//! What the outside has to do.

use super::Failure;
use crate::framework::Preemption;
use crate::framework::{BindSteps, Effect as PluginEffect, Nomination};
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::Sym;

/// Something that the outside is asked to do, and how it answers.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Bind a pod: take these steps in this order. Answered by
    /// [`bound`](super::Scheduler::bound) or [`bind_failed`](super::Scheduler::bind_failed).
    Bind {
        /// The pod, as it was popped.
        pod: Arc<Pod>,
        /// The node.
        node: Sym,
        /// What PreBind and Bind ask for.
        steps: BindSteps,
    },
    /// After a binding: take these steps. Nobody waits for an answer.
    PostBind {
        /// The pod, as it was popped.
        pod: Arc<Pod>,
        /// What PostBind asks for.
        steps: Vec<PluginEffect>,
    },
    /// Make room for a pod: take other pods' nominations away, evict all victims but the last
    /// ([`preemption_at_last_victim`](super::Scheduler::preemption_at_last_victim)), then the last.
    /// Answered by [`preemption_ended`](super::Scheduler::preemption_ended).
    Preempt {
        /// The pod that will find room.
        pod: Arc<Pod>,
        /// Where, and who has to go.
        preemption: Preemption,
    },
    /// Tell that a pod was not tried: it is being deleted. Nobody waits for an answer.
    Skipped {
        /// The pod, as it was popped.
        pod: Arc<Pod>,
    },
    /// Tell whoever looks at the pod why it is not scheduled: the condition `PodScheduled`, an
    /// event, and the nomination in its status.
    Failed {
        /// The pod, as the API has it.
        pod: Arc<Pod>,
        /// Why.
        failure: Failure,
        /// What becomes of `status.nominatedNodeName`.
        nomination: Nomination,
    },
}
