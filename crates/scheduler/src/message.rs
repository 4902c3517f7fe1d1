//! What the engine thread is told.

use crate::observer::Steps;
use crate::rights::Found;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::load::Object as ApiObject;
use stowplan_engine::model::Kind;
use stowplan_telemetry::DecisionAnswer;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// What was written for a pod, and who is told when its volumes are bound.
pub(crate) struct VolumesWritten {
    pub(crate) uid: Arc<str>,
    /// As the API has them now.
    pub(crate) objects: Vec<ApiObject>,
    /// An error if they cannot be bound any more.
    pub(crate) answer: oneshot::Sender<Result<(), String>>,
}

/// Something that the engine thread has to know.
pub(crate) enum Message {
    /// An object is new or changed. The permit bounds how many wait here.
    Upsert(ApiObject, OwnedSemaphorePermit),
    /// An object is gone.
    Delete {
        kind: Kind,
        namespace: Box<str>,
        name: Box<str>,
    },
    /// All objects of a kind are known.
    Synced(Kind),
    /// A pod is bound.
    Bound { uid: Arc<str>, steps: Steps },
    /// The binding of a pod failed.
    BindFailed {
        uid: Arc<str>,
        error: String,
        /// Somebody else bound it: a watch will tell, or told already.
        elsewhere: bool,
        steps: Steps,
    },
    /// Of the victims of a pod only this one is left.
    LastVictim {
        preemptor: Arc<str>,
        namespace: Box<str>,
        name: Box<str>,
    },
    /// The evictions for a pod are over.
    PreemptionEnded {
        preemptor: Arc<str>,
        namespace: Box<str>,
        name: Box<str>,
        failed: bool,
        took: Duration,
    },
    /// The volumes and claims of a pod that is being bound are written.
    VolumesWritten(VolumesWritten),
    /// What was decided about a pod, or its whole tournament?
    Tell {
        namespace: Box<str>,
        name: Box<str>,
        whole: bool,
        answer: oneshot::Sender<DecisionAnswer<Found>>,
    },
    /// Look again: something outside changed.
    Wake,
    /// It is over.
    Stop,
}
