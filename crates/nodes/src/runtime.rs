//! What a kubelet asks of whatever runs containers, and what it is told.
//!
//! Nodes are simulated unless there is a [`Runtime`]. With one, the same state machine sends [`Order`]s and
//! waits for [`Report`]s where it would otherwise foresee what happens.

use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::Time;

/// Runs containers, for nodes whose containers are not simulated.
pub trait Runtime: Send + Sync {
    /// Called once, before any order: whom to tell, and the uids of all pods that there are. What is left of
    /// others has to be stopped.
    fn begin(&self, reports: Reports, known: BTreeSet<String>);

    /// Has to be done; it must not wait. What comes of it is reported.
    fn order(&self, order: PodOrder);
}

/// Whom a runtime tells what happens.
#[derive(Clone)]
pub struct Reports(Arc<dyn Fn(PodReport) + Send + Sync>);

impl Reports {
    /// Somebody who is told.
    pub fn new(tell: impl Fn(PodReport) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Something happened to the pod of this uid.
    pub fn tell(&self, uid: &str, what: Report) {
        let uid = uid.into();
        (self.0)(PodReport { uid, what });
    }
}

/// Something to be done for a pod.
#[derive(Clone, Debug)]
pub struct PodOrder {
    /// The pod's uid.
    pub uid: Box<str>,
    /// The pod, unless it is gone.
    pub pod: Option<Arc<Pod>>,
    /// What has to be done.
    pub what: Order,
}

/// Something that happened to a pod.
#[derive(Clone, Debug)]
pub struct PodReport {
    /// The pod's uid.
    pub uid: Box<str>,
    /// What happened.
    pub what: Report,
}

/// One run of a container: the attempt is the number of restarts before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunId {
    /// The container's name.
    pub container: Box<str>,
    /// How often it was restarted before.
    pub attempt: u32,
}

/// Which of the hooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// After the container started.
    PostStart,
    /// Before it is told to stop.
    PreStop,
}

/// Which of the probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeKind {
    /// Whether the container has started up.
    Startup,
    /// Whether it may be asked for what it serves.
    Readiness,
    /// Whether it has to be restarted.
    Liveness,
}

impl ProbeKind {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    /// As messages begin: `Startup`.
    pub(crate) fn capital(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }

    /// `startup`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Readiness => "readiness",
            Self::Liveness => "liveness",
        }
    }
}

/// What has to be done for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Say what there is of the pod, and make what its containers need to start.
    Prepare,
    /// Start a container.
    Start(RunId),
    /// Tell a container to stop.
    Stop(RunId),
    /// Kill all that runs in a container.
    Kill(RunId),
    /// Run a hook for at most so many seconds.
    Hook(RunId, Hook, u32),
    /// Ask a container.
    Probe(RunId, ProbeKind),
    /// The pod is over: nothing of it may run any more, and only its logs are of interest.
    Release,
    /// The pod is gone: nothing of it may be left.
    Forget,
}

/// What happened to a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// All is there that containers need to start; and so are these runs of them, in any order.
    Prepared(Vec<Found>),
    /// Something is missing that containers need: a `FailedMount`.
    NotPrepared(String),
    /// A container runs since this time.
    Started(RunId, Time),
    /// A container could not be started.
    NotStarted(RunId, Trouble),
    /// A container does not run any more.
    Exited(RunId, Exit),
    /// A container is gone, and nobody knows how it ended.
    Lost(RunId),
    /// A hook is over; says whether it did what it is for.
    HookEnded(RunId, Hook, bool),
    /// What a container answered.
    Probed(RunId, ProbeKind, Answer),
}

/// What came of a probe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The container is well.
    Good,
    /// It is not; why.
    Bad(String),
    /// Nobody knows: it could not be asked; why.
    NotAsked(String),
}

/// A run of a container that was begun earlier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Which one.
    pub run: RunId,
    /// What became of it.
    pub state: FoundState,
}

/// What became of a run that was begun earlier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundState {
    /// It is being started; a report will come.
    Starting,
    /// It runs since this time.
    Running(Time),
    /// It is over.
    Exited(Exit),
    /// It is gone, and nobody knows how it ended.
    Lost,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// When it began.
    pub since: Time,
    /// When it ended.
    pub at: Time,
    /// Its exit code: 128 and the signal's number, if a signal ended it.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why, if there is more to say than its code does: `OOMKilled`.
    pub reason: Option<Box<str>>,
    /// What the container said last.
    pub message: String,
}

/// Why a container could not be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// One word, as a container waits for: `ErrImagePull`, `CreateContainerConfigError`.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

impl Trouble {
    /// The program could not be started: the container is over, with code 128.
    pub const START_ERROR: &'static str = "StartError";
    /// Nobody knows how to run this image.
    pub const PULL_ERROR: &'static str = "ErrImagePull";
    /// Nobody knows how to run this image, and nobody is to find out.
    pub const NEVER_PULL: &'static str = "ErrImageNeverPull";
}
