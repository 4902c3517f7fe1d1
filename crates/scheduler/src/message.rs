//! What the engine thread is told.

use crate::effects::Answer;
use crate::permissions::Found;
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_engine::model::Kind;
use stowplan_engine::scheduler::Ticket;
use stowplan_telemetry::DecisionAnswer;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Something that the engine thread has to know.
pub(crate) enum Message {
    /// An object is new or changed. The permit bounds how many wait here that nobody else keeps.
    Upsert(ApiObject, Option<OwnedSemaphorePermit>),
    /// An object is gone.
    Delete {
        kind: Kind,
        namespace: Box<str>,
        name: Box<str>,
    },
    /// All objects of a kind are known.
    Synced(Kind),
    /// What came of work for a pod.
    Answered {
        uid: Arc<str>,
        ticket: Ticket,
        answer: Answer,
    },
    /// What was decided about a pod, or its whole tournament?
    Tell {
        namespace: Box<str>,
        name: Box<str>,
        whole: bool,
        answer: oneshot::Sender<DecisionAnswer<Found>>,
    },
    /// What would be decided about a pod that does not exist?
    WhatIf {
        pod: ApiObject,
        answer: oneshot::Sender<DecisionAnswer<Found>>,
    },
    /// Look again: something outside changed.
    Wake,
    /// It is over.
    Stop,
}
