//! What the scheduler wants of the world, as data.
//!
//! A [`Command`] is one thing to be done; whoever carries it out answers with an [`Outcome`]. Which
//! commands there are, in which order, and what follows from an outcome is decided in
//! [`scheduler`](crate::scheduler) alone: the live scheduler, the simulator and the benchmark only
//! carry out single commands.

use super::{Cx, Nomination};
use crate::model::{ClaimRef, Kind, Object, Pod};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use stowplan_base::{Duration, Names, Sym};

/// An object by kind, namespace (empty for cluster-scoped kinds) and name.
pub type ObjectKey = (Kind, Sym, Sym);

/// One thing that the scheduler wants done.
#[derive(Clone, Debug)]
pub enum Command {
    /// Bind the pod to the node. Upstream's `pods/binding`.
    Bind {
        /// The pod.
        pod: Arc<Pod>,
        /// The node's name.
        node: Sym,
    },
    /// Change some fields of an object.
    Patch(Box<Patch>),
    /// Change a pod's status. Upstream's `util.PatchPodStatus`.
    PatchStatus {
        /// The pod.
        pod: Arc<Pod>,
        /// A condition to set, unless it says the same already.
        condition: Option<PodCondition>,
        /// What becomes of `status.nominatedNodeName`.
        nomination: Nomination,
    },
    /// Delete the object, unless it is another one by now.
    Delete(Target),
    /// Tell people of something.
    Event(Event),
}

/// What PreBind asks for: something to be done, or something to wait for.
#[derive(Clone, Debug)]
pub enum Step {
    /// Do this. The next step follows when it is done.
    Command(Command),
    /// Wait for this. The scheduler itself does; nobody carries it out.
    Wait(Wait),
}

impl From<Command> for Step {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

impl From<Patch> for Step {
    fn from(patch: Patch) -> Self {
        Self::Command(Command::Patch(Box::new(patch)))
    }
}

impl From<Wait> for Step {
    fn from(wait: Wait) -> Self {
        Self::Wait(wait)
    }
}

/// What tells an object from all others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// Its kind, namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`; empty if any object of that name is meant.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion` as it was last seen, or empty.
    pub resource_version: Arc<str>,
}

impl Target {
    /// A pod.
    pub fn pod(pod: &Pod) -> Self {
        Self {
            key: (Kind::Pod, pod.namespace, pod.name),
            uid: pod.uid.clone(),
            resource_version: pod.resource_version.clone(),
        }
    }
}

/// What an event is about. Most are about pods that somebody holds anyway.
#[derive(Clone, Hash, Debug)]
pub enum Regarding {
    /// A pod.
    Pod(Arc<Pod>),
    /// Any other object, or a pod as it was at some time.
    Object(Box<Target>),
}

impl Regarding {
    /// What tells the object from all others.
    pub fn target(&self) -> Target {
        match self {
            Self::Pod(pod) => Target::pod(pod),
            Self::Object(target) => (**target).clone(),
        }
    }
}

impl From<&Arc<Pod>> for Regarding {
    fn from(pod: &Arc<Pod>) -> Self {
        Self::Pod(pod.clone())
    }
}

impl From<Target> for Regarding {
    fn from(target: Target) -> Self {
        Self::Object(Box::new(target))
    }
}

/// A change of some fields of an object.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The object.
    pub target: Target,
    /// What changes.
    pub changes: Vec<FieldChange>,
    /// What must hold of the object for that.
    pub expect: Option<Expect>,
}

/// A field that changes. To add one, say here what it is, in [`Object::changed`] what scheduling
/// sees of it, and in the bridge how the API writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldChange {
    /// An annotation gets this value, or goes.
    Annotation(Arc<str>, Option<Arc<str>>),
    /// A label gets this value, or goes.
    Label(Arc<str>, Option<Arc<str>>),
    /// A PersistentVolume's `spec.claimRef`.
    ClaimRef(ClaimRef),
}

/// A field of the object, as the API has it, is absent, empty or this.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expect {
    /// Where the field is, as a JSON pointer.
    pub field: &'static str,
    /// Its value.
    pub value: Arc<str>,
    /// What is told if it is something else.
    pub otherwise: Arc<str>,
}

/// A condition of a pod.
#[derive(Clone, Debug)]
pub struct PodCondition {
    /// What it says.
    pub says: &'static ConditionType,
    /// `message`.
    pub message: Text,
}

/// What a condition says, whatever the pod: apart, so that commands are small.
#[derive(Debug)]
pub struct ConditionType {
    /// `type`.
    pub kind: &'static str,
    /// `status`.
    pub status: &'static str,
    /// `reason`.
    pub reason: &'static str,
}

/// An event in upstream's sense: something that people can read of an object.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is about.
    pub regarding: Regarding,
    /// What happened.
    pub says: &'static EventType,
    /// `note`.
    pub note: Text,
}

/// What happened, whatever the object: apart, so that commands are small.
#[derive(Debug)]
pub struct EventType {
    /// `type`: `Normal` or `Warning`.
    pub kind: &'static str,
    /// `reason`.
    pub reason: &'static str,
    /// `action`.
    pub action: &'static str,
}

/// A text that is made when somebody reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Text {
    /// This.
    Made(Arc<str>),
    /// A pod goes to a node.
    Assigned {
        /// The pod's namespace and name.
        pod: (Sym, Sym),
        /// The node.
        node: Sym,
    },
    /// A pod made room for another on a node.
    PreemptedBy {
        /// The other's uid.
        preemptor: Arc<str>,
        /// The node.
        node: Sym,
    },
    /// A pod makes room for one of this scheduler.
    Preempting {
        /// `spec.schedulerName`.
        scheduler: Sym,
    },
    /// A pod is not tried, for it is being deleted.
    SkipDeleting {
        /// The pod's namespace and name.
        pod: (Sym, Sym),
    },
}

impl Text {
    /// The text.
    pub fn render(&self, names: &Names) -> String {
        let text = |name| names.text(name);
        match self {
            Self::Made(text) => (**text).to_owned(),
            Self::Assigned { pod, node } => {
                let (namespace, name) = (text(pod.0), text(pod.1));
                let node = text(*node);
                format!("Successfully assigned {namespace}/{name} to {node}")
            }
            Self::PreemptedBy { preemptor, node } => {
                format!("Preempted by pod {preemptor} on node {}", text(*node))
            }
            Self::Preempting { scheduler } => {
                let scheduler = text(*scheduler);
                format!("{scheduler}: preempting to accommodate a higher priority pod")
            }
            Self::SkipDeleting { pod } => {
                let (namespace, name) = (text(pod.0), text(pod.1));
                format!("skip schedule deleting pod: {namespace}/{name}")
            }
        }
    }
}

/// Something that has to come true before the next step.
#[derive(Clone, Debug)]
pub struct Wait {
    /// What.
    pub until: Arc<dyn WaitCondition>,
    /// The objects on which it depends.
    pub on: Vec<ObjectKey>,
    /// How long it may take.
    pub timeout: Duration,
    /// What is told if it takes longer.
    pub timed_out: &'static str,
}

/// Whether something that is waited for has come true. It may name only what [`Wait::on`] names.
pub trait WaitCondition: fmt::Debug {
    /// Whether it holds; an error if it cannot any more. Asked again when one of the objects
    /// changes; `listen` takes more of them.
    fn check(&self, cx: Cx<'_>, seen: &Seen, listen: &mut Vec<ObjectKey>) -> Result<bool, String>;
}

/// What the API said of objects since PreBind began: the cluster may still show what is assumed.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeMap<ObjectKey, Option<(u64, Object)>>);

impl Seen {
    /// The object; `None` if nothing was said, `Some(None)` if it is gone.
    pub fn get(&self, key: &ObjectKey) -> Option<Option<&Object>> {
        let seen = self.0.get(key)?;
        Some(seen.as_ref().map(|(_, object)| object))
    }

    /// The API said this of an object, which is gone if it said nothing.
    pub(crate) fn note(&mut self, key: ObjectKey, now: Option<(u64, Object)>) {
        let before = self.0.get(&key).and_then(Option::as_ref);
        if let (Some((old, _)), Some((new, _))) = (before, &now)
            && old > new
        {
            return;
        }
        self.0.insert(key, now);
    }

    /// This was written. What is gone was there when it was written.
    pub(crate) fn wrote(&mut self, key: ObjectKey, version: u64, object: Object) {
        if !matches!(self.0.get(&key), Some(None)) {
            self.note(key, Some((version, object)));
        }
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.0.values().flatten().map(|(_, object)| object)
    }
}

/// What came of a command.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is done. If something was written that can be waited for: what it is now, and its version.
    Done(Option<(u64, Object)>),
    /// There is no such object (any more).
    NotFound(String),
    /// It was not done, for this reason.
    Failed(String),
    /// It may have been done, or will be told by a watch; for this reason nobody knows.
    Unknown(String),
    /// It was not tried: this scheduler may not act.
    Refused(String),
}

impl Outcome {
    /// Nothing to be told, or why it was not done.
    pub fn into_result(self) -> Result<Option<(u64, Object)>, String> {
        match self {
            Self::Done(written) => Ok(written),
            Self::NotFound(reason)
            | Self::Failed(reason)
            | Self::Unknown(reason)
            | Self::Refused(reason) => Err(reason),
        }
    }
}
