//! What draining would come to, as data: what `-o json` prints, and what tables are made of.

use serde::{Serialize, Serializer};
use stowplan_base::Duration;

/// What draining nodes would come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainReport {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    /// The nodes, in the order in which they are drained.
    pub nodes: Vec<String>,
    /// What was taken for granted.
    pub assumptions: Assumptions,
    /// When the last pod of the last node is gone; nothing if that never comes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional")]
    pub takes: Option<Duration>,
    /// When all replacements that have a place are ready.
    #[serde(serialize_with = "shown")]
    pub all_ready_after: Duration,
    /// Why pods of some node do not go, as kubectl says it.
    pub errors: Vec<String>,
    /// What is said before pods go, as kubectl says it.
    pub warnings: Vec<String>,
    /// Budgets that would never let a pod go.
    pub blocking_budgets: Vec<String>,
    /// Every pod of the nodes that was asked for.
    pub pods: Vec<DrainedPod>,
    /// Pods elsewhere that have to make room.
    pub preempted: Vec<PreemptedPod>,
}

/// What was taken for granted, because nobody can know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumptions {
    /// How long a pod takes from its binding until it is ready.
    #[serde(serialize_with = "shown")]
    pub startup: Duration,
    /// How long every pod takes to end; nothing if each takes its own grace period.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional")]
    pub grace_period: Option<Duration>,
    /// How long after a refusal an eviction is tried again.
    #[serde(serialize_with = "shown")]
    pub retry: Duration,
}

/// What becomes of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Fate {
    /// It is replaced by a pod on another node.
    Moves,
    /// It is replaced by a pod that stays pending.
    Pending,
    /// It is gone, and nobody makes it again.
    Lost,
    /// It had finished or was on its way out: nothing is missing afterwards.
    Removed,
    /// A budget never lets it go.
    Blocked,
    /// Its eviction fails, and is not tried again.
    Failed,
    /// Nothing on its node goes because of it.
    Refused,
    /// It is left alone.
    Skipped,
    /// Its node is never reached, because one before it never ends.
    NotReached,
}

impl Fate {
    /// Whether it is what one drains a node for.
    pub fn is_fine(self) -> bool {
        matches!(
            self,
            Self::Moves | Self::Lost | Self::Removed | Self::Skipped
        )
    }
}

/// A pod of a node that is drained. Times are counted from the beginning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainedPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The node that it is on.
    pub from: String,
    /// What becomes of it.
    pub fate: Fate,
    /// Where its replacement goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// When its eviction is accepted.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional")]
    pub evicted_after: Option<Duration>,
    /// When it is gone.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional")]
    pub gone_after: Option<Duration>,
    /// When its replacement is ready.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional")]
    pub ready_after: Option<Duration>,
    /// What held up its eviction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    /// Why, where that needs to be said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl DrainedPod {
    /// Namespace and name.
    pub fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// A budget that holds up an eviction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The budget.
    pub budget: String,
    /// For how long; nothing if for ever.
    #[serde(
        rename = "for",
        skip_serializing_if = "Option::is_none",
        serialize_with = "optional"
    )]
    pub span: Option<Duration>,
    /// The budget's numbers at the last refusal.
    pub reason: String,
}

/// A pod elsewhere that has to make room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreemptedPod {
    /// The pod.
    pub pod: String,
    /// The node that it leaves.
    pub from: String,
    /// Who takes its room.
    pub by: String,
    /// Where it goes; nothing if it finds no place or nobody makes it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why it stays pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
}

impl DrainReport {
    /// How many pods have this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.pods.iter().filter(|pod| pod.fate == fate).count()
    }

    /// Whether nothing is left, blocked or without a place.
    pub fn is_fine(&self) -> bool {
        self.pods.iter().all(|pod| pod.fate.is_fine())
            && self.preempted.iter().all(|pod| pod.pending.is_none())
    }
}

fn shown<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(span)
}

fn optional<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => to.collect_str(span),
        None => to.serialize_none(),
    }
}
