//! What the outside has to do, and what it may want to know.

use super::Failure;
use crate::framework::{Command, Point, Preemption};
use crate::model::Pod;
use crate::queue::QueuedPod;
use std::sync::Arc;
use stowplan_base::Sym;

/// Something to be done, or something that happened.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Carry this out.
    Request(Request),
    /// A pod is bound.
    Bound {
        /// The pod, as it was tried.
        queued: QueuedPod,
        /// Its node.
        node: Sym,
    },
    /// A pod that was on its way to a node will not get there.
    BindFailed {
        /// The pod, as it was tried.
        pod: Arc<Pod>,
        /// Why.
        failure: Failure,
    },
    /// A pod goes back to the queue. What people are told of it follows as requests.
    Failed {
        /// The pod, as the API has it.
        pod: Arc<Pod>,
        /// Why.
        failure: Failure,
    },
    /// A preemption is over: its victims are gone or on their way, unless it failed.
    Preempted {
        /// The pod that will find room.
        pod: Arc<Pod>,
        /// Where, and who had to go.
        preemption: Preemption,
        /// Whether somebody stayed.
        failed: bool,
    },
}

// Every decision moves some effects to and fro: that is cheap as long as they are small.
const _: () = assert!(size_of::<Effect>() <= 128);

/// A command, and who asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The pod for which it is done. What is done for one pod must be done in order.
    pub pod: Arc<Pod>,
    /// The plugin that asks; empty if the scheduler itself does.
    pub plugin: &'static str,
    /// At which of its points.
    pub point: Option<Point>,
    /// What to do.
    pub command: Command,
    /// What its answer is about.
    pub ticket: Ticket,
}

/// What the answer to a request is about: [`Scheduler::answer`](super::Scheduler::answer) wants it
/// back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ticket {
    /// Nobody waits for the answer.
    Nobody,
    /// A step of the pod's binding cycle: at this point, for this plugin.
    Step(Point, &'static str),
    /// Another pod's nomination is taken back for this pod's sake.
    Nomination,
    /// A victim of this pod, of this number, is told why it has to go.
    Told(u32),
    /// A victim of this pod, of this number, is deleted.
    Deleted(u32),
}

impl Effect {
    /// The pod and the node, if this asks for a binding.
    pub fn as_bind(&self) -> Option<(&Arc<Pod>, Sym)> {
        match self {
            Self::Request(Request {
                command: Command::Bind { pod, node },
                ..
            }) => Some((pod, *node)),
            _ => None,
        }
    }
}

impl Request {
    /// What the scheduler itself wants, without waiting for it.
    pub(super) fn own(pod: &Arc<Pod>, command: Command) -> Effect {
        Self::asked(pod, command, Ticket::Nobody)
    }

    /// What the scheduler itself wants.
    pub(super) fn asked(pod: &Arc<Pod>, command: Command, ticket: Ticket) -> Effect {
        Effect::Request(Self {
            pod: pod.clone(),
            plugin: "",
            point: None,
            command,
            ticket,
        })
    }
}
