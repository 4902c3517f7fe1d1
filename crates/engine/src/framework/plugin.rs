//! The author's side of a plugin.

use super::{
    Ask, Changed, ClusterEvent, CycleState, Fit, Framework, Kept, Reads, Registration, Sight, Slot,
    Status, Verdicts,
};
use crate::model::{Object, Pod};
use crate::packing::Packing;
use crate::plugins::default_preemption::{KeptDryRuns, Preempting, PreemptionReport};
use crate::queue::Nominator;
use crate::{Fact, Gauge, NodeInfo, Snapshot};
use std::cmp::Ordering;
use std::sync::Arc;
use stowplan_base::{Duration, Sym, Time};

/// Where a plugin can take part in scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Point {
    /// Before a pod enters the active queue.
    PreEnqueue,
    /// The order of the active queue.
    QueueSort,
    /// Once per attempt, before Filter.
    PreFilter,
    /// Once per node: does the pod fit?
    Filter,
    /// When it fits nowhere.
    PostFilter,
    /// Once per attempt, before Score.
    PreScore,
    /// Once per feasible node: how good is it?
    Score,
    /// When a node is chosen, before binding.
    Reserve,
    /// May hold back or refuse the binding.
    Permit,
    /// What must be done before binding.
    PreBind,
    /// The binding itself.
    Bind,
    /// After binding.
    PostBind,
}

impl Point {
    /// Every point, in the order of a pod's life.
    pub const ALL: [Self; 12] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];
}

/// What every plugin may look at.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// The cluster.
    pub cluster: &'a Snapshot,
    /// Pods that are promised a node.
    pub nominator: &'a Nominator,
    /// Preemptions that are being carried out.
    pub preempting: &'a Preempting,
}

/// What PreFilter found.
pub enum PreFilter<S> {
    /// Nothing to check: Filter is skipped for this pod.
    Skip,
    /// Every node may be asked.
    Ready(S),
    /// Only these nodes may be asked (some of them may not exist).
    Narrowed(S, Vec<Sym>),
    /// No node will do.
    Rejected(Status),
}

/// What PreScore found.
pub enum PreScore<S> {
    /// Nothing to tell the nodes apart by: Score is skipped for this pod.
    Skip,
    /// Every feasible node is to be scored.
    Ready(S),
    /// The attempt fails.
    Failed(Status),
}

/// The least and the greatest raw score over the feasible nodes that have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub min: i64,
    /// The greatest.
    pub max: i64,
}

/// A hypothetical change of one node's pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trial {
    /// As if the pod were there. Upstream's `AddPod`.
    Add,
    /// As if it were gone. Upstream's `RemovePod`.
    Remove,
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

/// What PostFilter does to the pod's nomination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nomination {
    /// Leave it as it is.
    Keep,
    /// Set it; `None` clears it.
    Set(Option<Sym>),
}

/// What PostFilter came to.
pub struct PostFilterResult {
    /// `Ok` if room can be made.
    pub status: Fit,
    /// The nomination that follows from it.
    pub nomination: Nomination,
    /// What preemption tried, if it was its turn.
    pub preemption: Option<PreemptionReport>,
}

/// What PostFilter may look at.
pub struct PostFilterCx<'a> {
    /// The cluster.
    pub cx: Cx<'a>,
    /// The profile that is being run.
    pub framework: &'a Framework,
    /// What PreFilter left for every plugin.
    pub cycle: &'a CycleState,
    /// Why each node was rejected.
    pub statuses: &'a dyn Verdicts,
    /// What preemption found out before for pods like this one, if that is kept.
    pub kept: Option<&'a mut dyn KeptDryRuns>,
}

/// What Permit says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permit {
    /// Go on.
    Allow,
    /// Hold the pod until somebody allows it, at most this long.
    Wait(Duration),
    /// Give the pod back to the queue.
    Reject(Status),
}

/// Something that the outside is asked to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Write the object as it is here.
    Write(Object),
    /// Bind the pod to the node.
    Bind {
        /// The pod.
        pod: Arc<Pod>,
        /// The node's name.
        node: Sym,
    },
}

/// A scheduling plugin.
///
/// Each rule is one function of (what was prepared for the pod, one node): the plain path calls it
/// with state that was just prepared, the fast path with state that is kept up to date.
pub trait Plugin: 'static {
    /// The name, as configuration files and messages have it.
    const NAME: &'static str;
    /// The points at which the plugin takes part when enabled by `multiPoint`.
    const POINTS: &'static [Point];
    /// How far Filter looks. A rule that looks no farther than it must is asked more rarely.
    ///
    /// Unless this is [`Sight::Cluster`], `pod` may be an example of pods that are alike: then its
    /// name, its volumes and claims and the labels that no selector reads are left out.
    const FILTER_SIGHT: Sight = Sight::Cluster;
    /// How far Score looks.
    const SCORE_SIGHT: Sight = Sight::Cluster;
    /// Whether NormalizeScore compares nodes with each other.
    const RELATIVE: bool = true;
    /// What PreFilter leaves for Filter. Plugins without PreFilter get the default.
    type Filter: Clone + Default + 'static;
    /// What PreScore leaves for Score. Plugins without PreScore get the default.
    type Score: Clone + Default + 'static;

    /// May the pod enter the active queue?
    fn pre_enqueue(&self, _cx: Cx<'_>, _pod: &Pod) -> Fit {
        Ok(())
    }

    /// Which of two pods, with the time each entered the queue, is to be tried first.
    fn order(&self, _a: (&Pod, Time), _b: (&Pod, Time)) -> Ordering {
        Ordering::Equal
    }

    /// Looks at the pod and the cluster once.
    fn pre_filter(&self, _cx: Cx<'_>, _pod: &Pod) -> PreFilter<Self::Filter> {
        PreFilter::Skip
    }

    /// Whether the pod alone tells that the plugin has nothing to do for it: PreFilter would skip,
    /// and Reserve and PreBind would ask for nothing. To say `false` is always right.
    fn ignores(&self, _pod: &Pod) -> bool {
        false
    }

    /// What Filter works with when the profile disables this plugin's PreFilter.
    fn filter_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::Filter, Status> {
        Err(Status::error("not found"))
    }

    /// Does the pod fit on the node?
    fn filter(&self, _cx: Cx<'_>, _state: &Self::Filter, _pod: &Pod, _node: &NodeInfo) -> Fit {
        Ok(())
    }

    /// Whether [`filter`](Self::filter) would accept the node, as far as its cpu and memory say so;
    /// where they do not, `filter` is asked.
    fn fits_gauge(&self, _state: &Self::Filter, _gauge: &Gauge) -> bool {
        false
    }

    /// About which nodes of the cluster [`filter`](Self::filter) has to be asked, of a rule that
    /// looks at anything ([`Sight::Cluster`]).
    fn asks(&self, _cx: Cx<'_>, _state: &Self::Filter, _pod: &Pod) -> Ask {
        Ask::All
    }

    /// Whether [`filter`](Self::filter) accepts every node now, whatever pods may be on it, and
    /// Reserve and PreBind ask for nothing, of a rule that looks at anything ([`Sight::Cluster`]). To
    /// say `false` is always right.
    fn accepts_all(&self, _cx: Cx<'_>, _state: &Self::Filter) -> bool {
        false
    }

    /// Adjusts `state` as if `other` were added to or removed from `node`, which already shows the
    /// change. Upstream's PreFilterExtensions.
    ///
    /// The opposite trial must undo it. Plugins whose Filter looks at the node alone need not care.
    fn trial(
        &self,
        _cx: Cx<'_>,
        _state: &mut Self::Filter,
        _pod: &Pod,
        _other: &Pod,
        _node: &NodeInfo,
        _op: Trial,
    ) {
    }

    /// The pod fits nowhere: can something be done about it?
    fn post_filter(
        &self,
        _cx: &mut PostFilterCx<'_>,
        _state: Slot<&Self::Filter>,
        _pod: &Pod,
    ) -> PostFilterResult {
        PostFilterResult {
            status: Err(Status::unschedulable("")),
            nomination: Nomination::Keep,
            preemption: None,
        }
    }

    /// Looks at the pod and the feasible nodes once.
    fn pre_score(&self, _cx: Cx<'_>, _pod: &Pod, _feasible: &[&NodeInfo]) -> PreScore<Self::Score> {
        PreScore::Ready(Self::Score::default())
    }

    /// What Score works with when the profile disables this plugin's PreScore.
    fn score_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::Score, Status> {
        Err(Status::error("not found"))
    }

    /// What Score works with in plugins without PreScore; it may lean on what PreFilter left.
    fn score_from_filter(&self, _filter: Slot<&Self::Filter>) -> Result<Self::Score, Status> {
        Ok(Self::Score::default())
    }

    /// The node's raw score. `None` ends as 0 and stays out of the [`Range`].
    fn score(
        &self,
        _cx: Cx<'_>,
        _state: &Self::Score,
        _pod: &Pod,
        _node: &NodeInfo,
    ) -> Option<i64> {
        Some(0)
    }

    /// The same where the node's cpu and memory say it; where they do not, [`score`](Self::score) is
    /// asked.
    fn score_gauge(&self, _state: &Self::Score, _gauge: &Gauge) -> Option<i64> {
        None
    }

    /// Brings a raw score into 0..=100. Upstream's NormalizeScore.
    fn normalize(&self, _state: &Self::Score, raw: i64, _over: Range) -> i64 {
        raw
    }

    /// A policy that takes the place of all scores in the profiles that enable this plugin at Score.
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// Whether what is kept for `pod` is of no use any more once this object, neither a pod nor a
    /// node, came, changed or went.
    fn forgets(&self, _cx: Cx<'_>, _pod: &Pod, _object: Changed<'_>) -> bool {
        false
    }

    /// As PreFilter, but with the state also where there is nothing to check for now
    /// ([`filter_rests`](Self::filter_rests)) and may be later.
    fn keep_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Self::Filter> {
        self.pre_filter(cx, pod)
    }

    /// Whether PreFilter would skip now.
    fn filter_rests(&self, _state: &Self::Filter) -> bool {
        false
    }

    /// The [marks](crate::model::Labels::marks) of labels of which a pod must bear one to matter to
    /// `state`, save for pods that matter because of terms of their own.
    fn filter_looks_for(&self, _state: &Self::Filter) -> u64 {
        u64::MAX
    }

    /// Whether pods like `other` matter to `state` when they come or go.
    fn minds_filter(&self, _cx: Cx<'_>, _state: &Self::Filter, _pod: &Pod, _other: &Pod) -> bool {
        true
    }

    /// A fact came to hold or ceased to: keeps `state` as PreFilter would make it.
    fn observe_filter(
        &self,
        _cx: Cx<'_>,
        _state: &mut Self::Filter,
        _pod: &Pod,
        _fact: Fact<'_>,
        _holds: bool,
    ) -> Kept {
        Kept::Same
    }

    /// All that Filter sees of a node: nodes of which it sees the same get the same verdict. Always
    /// as many words.
    fn see_filter(&self, _state: &Self::Filter, _node: &NodeInfo, _seen: &mut Vec<u64>) {}

    /// What of a node [`filter`](Self::filter) ([`Sight::Object`]) or
    /// [`see_filter`](Self::see_filter) ([`Sight::Domains`]) reads; `None` if every node has to be
    /// looked at.
    fn filter_reads(&self, _state: &Self::Filter, _pod: &Pod) -> Option<Reads> {
        None
    }

    /// Does the pod fit on nodes that look like this?
    fn admit(&self, _state: &Self::Filter, _seen: &[u64]) -> Fit {
        Ok(())
    }

    /// About how many bytes `state` refers to: for state that grows with the cluster.
    fn filter_bytes(&self, _state: &Self::Filter) -> usize {
        0
    }

    /// As [`filter_bytes`](Self::filter_bytes).
    fn score_bytes(&self, _state: &Self::Score) -> usize {
        0
    }

    /// As PreScore, but before the feasible nodes are known, and with the state also where there
    /// is nothing to tell nodes apart by for now ([`score_rests`](Self::score_rests)).
    fn keep_score(&self, cx: Cx<'_>, pod: &Pod) -> PreScore<Self::Score> {
        self.pre_score(cx, pod, &[])
    }

    /// Whether PreScore would skip now.
    fn score_rests(&self, _state: &Self::Score) -> bool {
        false
    }

    /// As [`filter_looks_for`](Self::filter_looks_for).
    fn score_looks_for(&self, _state: &Self::Score) -> u64 {
        u64::MAX
    }

    /// Whether pods like `other` matter to `state` when they come or go.
    fn minds_score(&self, _cx: Cx<'_>, _state: &Self::Score, _pod: &Pod, _other: &Pod) -> bool {
        true
    }

    /// A fact came to hold or ceased to: keeps `state` as PreScore would make it.
    fn observe_score(
        &self,
        _cx: Cx<'_>,
        _state: &mut Self::Score,
        _pod: &Pod,
        _fact: Fact<'_>,
        _holds: bool,
    ) -> Kept {
        Kept::Same
    }

    /// All that Score sees of a node: nodes of which it sees the same get the same raw score.
    /// Always as many words.
    fn see_score(&self, _state: &Self::Score, _pod: &Pod, _node: &NodeInfo, _seen: &mut Vec<u64>) {}

    /// What of a node [`score`](Self::score) ([`Sight::Object`]) or
    /// [`see_score`](Self::see_score) ([`Sight::Domains`]) reads; `None` if every node has to be
    /// looked at.
    fn score_reads(&self, _state: &Self::Score, _pod: &Pod) -> Option<Reads> {
        None
    }

    /// Takes in the feasible nodes: what is seen of them, and how many look like that.
    fn weigh<'a>(
        &self,
        _state: &mut Self::Score,
        _feasible: impl Iterator<Item = (&'a [u64], usize)>,
    ) {
    }

    /// The raw score of nodes that look like this.
    fn raw(&self, _cx: Cx<'_>, _state: &Self::Score, _pod: &Pod, _seen: &[u64]) -> Option<i64> {
        Some(0)
    }

    /// The objects that change when the pod goes to the node, as they will be. They are assumed at
    /// once, and forgotten should the binding fail.
    fn reserve(
        &self,
        _cx: Cx<'_>,
        _state: Slot<&Self::Filter>,
        _pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Object>, Status> {
        Ok(Vec::new())
    }

    /// May the binding go on?
    fn permit(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) -> Permit {
        Permit::Allow
    }

    /// What must be done before the pod is bound.
    fn pre_bind(
        &self,
        _cx: Cx<'_>,
        _state: Slot<&Self::Filter>,
        _pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Effect>, Status> {
        Ok(Vec::new())
    }

    /// How the pod is bound; `None` leaves it to the next plugin.
    fn bind(&self, _cx: Cx<'_>, _pod: &Arc<Pod>, _node: Sym) -> Option<Effect> {
        None
    }

    /// The pod is bound.
    fn post_bind(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) -> Vec<Effect> {
        Vec::new()
    }

    /// The events that could make a pod schedulable that this plugin rejected; all, if it does not
    /// say.
    fn events(&self) -> Vec<Registration> {
        Registration::everything()
    }

    /// Could this event make `pod` schedulable? Asked only for registrations with a hint.
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
