//! What the API tells, until it is taken in.

use crate::runtime::PodReport;
use crate::world::World;
use k8s_openapi::api::core::v1::{Node, Pod};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stowplan_base::Time;
use stowplan_client::{Delta, Informer};
use tokio::sync::Notify;

/// Something that the API tells.
pub(super) enum Message {
    Node(Arc<Node>),
    NodeGone(Arc<Node>),
    Pod(Arc<Pod>),
    PodGone(Arc<Pod>),
    Report(PodReport),
}

impl Message {
    pub(super) fn tell(self, world: &mut World, now: Time) {
        match self {
            Self::Node(node) => world.node_seen(&node, now),
            Self::NodeGone(node) => world.node_gone(&node),
            Self::Pod(pod) => world.pod_seen(&pod, now),
            Self::PodGone(pod) => world.pod_gone(&pod),
            Self::Report(report) => world.reported(report, now),
        }
    }
}

#[derive(Default)]
pub(super) struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    changed: Notify,
}

impl Inbox {
    fn messages(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, message: Message) {
        self.messages().push_back(message);
        self.changed.notify_one();
    }

    /// At most so many messages.
    pub(super) fn take(&self, count: usize) -> Vec<Message> {
        let mut messages = self.messages();
        let count = count.min(messages.len());
        messages.drain(..count).collect()
    }

    /// There may be messages.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Puts all that informers tell into the inbox.
pub(super) fn listen(inbox: &Arc<Inbox>, nodes: &Informer<Node>, pods: &Informer<Pod>) {
    let told = inbox.clone();
    nodes.add_handler(move |delta| {
        told.push(match delta {
            Delta::Added(node) | Delta::Updated(_, node) => Message::Node(node.clone()),
            Delta::Deleted(node) => Message::NodeGone(node.clone()),
        });
    });
    let told = inbox.clone();
    pods.add_handler(move |delta| {
        let spec = delta.object().spec.as_ref();
        if spec.is_none_or(|spec| spec.node_name.is_none()) {
            return;
        }
        told.push(match delta {
            Delta::Added(pod) | Delta::Updated(_, pod) => Message::Pod(pod.clone()),
            Delta::Deleted(pod) => Message::PodGone(pod.clone()),
        });
    });
}
