//! Plugins of any type in one list.

use super::cycle::State;
use super::noted::Noted;
use super::runtime::{MAX_NODE_SCORE, OUT_OF_RANGE};
use super::{
    Ask, Changed, ClusterEvent, Cx, Effect, Fit, Hint, Kept, Permit, Plugin, Point, PostFilterCx,
    PostFilterResult, PreFilter, PreScore, Range, Reads, Registration, Sight, Slot, Status, Trial,
};
use crate::NodeInfo;
use crate::model::{Object, Pod};
use crate::packing::Packing;
use std::cmp::Ordering;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

type Erased = Box<dyn State>;

/// [`Plugin`] without its associated types: what a profile holds.
///
/// Implemented for every [`Plugin`]; the only place where state is cast back to its type.
pub trait AnyPlugin {
    #![allow(missing_docs, private_interfaces)]
    fn name(&self) -> &'static str;
    fn points(&self) -> &'static [Point];
    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit;
    fn order(&self, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering;
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Erased>;
    fn ignores(&self, pod: &Pod) -> bool;
    fn filter_unprepared(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status>;
    fn filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Fit;
    fn asks(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod) -> Ask;
    fn accepts_all(&self, cx: Cx<'_>, state: &dyn State) -> bool;
    fn trial(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
        op: Trial,
    );
    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
    ) -> PostFilterResult;
    fn pre_score(&self, cx: Cx<'_>, pod: &Pod, feasible: &[&NodeInfo]) -> PreScore<Erased>;
    fn score_unprepared(&self, cx: Cx<'_>, own: &Slot<Erased>, pod: &Pod)
    -> Result<Erased, Status>;
    /// Raw scores of all `nodes`, statically dispatched inside.
    fn scores(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Vec<Option<i64>>;
    fn normalize(&self, state: &dyn State, raw: i64, over: Range) -> i64;
    fn packing(&self) -> Option<Packing>;
    /// Asks the filter about the nodes at these positions that are not rejected yet (`verdicts` 0),
    /// statically dispatched inside; `reject` turns a verdict into its number.
    fn filter_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        positions: &[u32],
        verdicts: &mut [u32],
        reject: &mut dyn FnMut(Status) -> u32,
    );
    /// Adds the weighted scores of the nodes at these positions that are not rejected to `sums`,
    /// statically dispatched inside; a score out of range leaves `OUT_OF_RANGE`.
    fn score_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        weight: i64,
        nodes: (&[u32], &[u32]),
        sums: &mut [i32],
    );
    /// About how many bytes state takes up, itself included.
    fn filter_bytes(&self, state: &dyn State) -> usize;
    fn score_bytes(&self, state: &dyn State) -> usize;
    fn filter_sight(&self) -> Sight;
    fn score_sight(&self) -> Sight;
    fn is_relative(&self) -> bool;
    fn forgets(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool;
    fn keep_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Erased>;
    fn filter_rests(&self, state: &dyn State) -> bool;
    fn filter_looks_for(&self, state: &dyn State) -> u64;
    fn score_looks_for(&self, state: &dyn State) -> u64;
    fn minds_filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, other: &Pod) -> bool;
    fn minds_score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, other: &Pod) -> bool;
    /// Every fact of these changes, statically dispatched inside.
    fn observe_filter(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        noted: Noted<'_>,
    ) -> Kept;
    fn see_filter(&self, state: &dyn State, node: &NodeInfo, seen: &mut Vec<u64>);
    fn filter_reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads>;
    fn admit(&self, state: &dyn State, seen: &[u64]) -> Fit;
    fn keep_score(&self, cx: Cx<'_>, pod: &Pod) -> PreScore<Erased>;
    fn score_rests(&self, state: &dyn State) -> bool;
    fn observe_score(&self, cx: Cx<'_>, state: &mut dyn State, pod: &Pod, noted: Noted<'_>)
    -> Kept;
    fn see_score(&self, state: &dyn State, pod: &Pod, node: &NodeInfo, seen: &mut Vec<u64>);
    fn score_reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads>;
    fn weigh(&self, state: &mut dyn State, feasible: &mut dyn Iterator<Item = (&[u64], usize)>);
    fn raw(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, seen: &[u64]) -> Option<i64>;
    fn score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Option<i64>;
    fn reserve(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status>;
    fn permit(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Permit;
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Effect>, Status>;
    fn bind(&self, cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Effect>;
    fn post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<Effect>;
    fn events(&self) -> Vec<Registration>;
    fn hint(
        &self,
        cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint;
}

fn typed<T: 'static>(state: &dyn State) -> &T {
    state
        .as_any()
        .downcast_ref()
        .expect("a plugin's slot holds its own state")
}

fn typed_mut<T: 'static>(state: &mut dyn State) -> &mut T {
    state
        .as_any_mut()
        .downcast_mut()
        .expect("a plugin's slot holds its own state")
}

fn erase_filter<S: Clone + 'static>(found: PreFilter<S>) -> PreFilter<Erased> {
    match found {
        PreFilter::Skip => PreFilter::Skip,
        PreFilter::Ready(state) => PreFilter::Ready(Box::new(state)),
        PreFilter::Narrowed(state, nodes) => PreFilter::Narrowed(Box::new(state), nodes),
        PreFilter::Rejected(status) => PreFilter::Rejected(status),
    }
}

fn erase_score<S: Clone + 'static>(found: PreScore<S>) -> PreScore<Erased> {
    match found {
        PreScore::Skip => PreScore::Skip,
        PreScore::Ready(state) => PreScore::Ready(Box::new(state)),
        PreScore::Failed(status) => PreScore::Failed(status),
    }
}

fn typed_slot<T: 'static>(slot: &Slot<Erased>) -> Slot<&T> {
    match slot {
        Slot::Absent => Slot::Absent,
        Slot::Skipped | Slot::Resting(_) => Slot::Skipped,
        Slot::Rejected => Slot::Rejected,
        Slot::Ready(state) => Slot::Ready(typed(&**state)),
        Slot::Broken(status) => Slot::Broken(status.clone()),
    }
}

#[allow(private_interfaces)]
impl<P: Plugin> AnyPlugin for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn points(&self) -> &'static [Point] {
        P::POINTS
    }

    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit {
        Plugin::pre_enqueue(self, cx, pod)
    }

    fn order(&self, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        Plugin::order(self, a, b)
    }

    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Erased> {
        erase_filter(Plugin::pre_filter(self, cx, pod))
    }

    fn ignores(&self, pod: &Pod) -> bool {
        Plugin::ignores(self, pod)
    }

    fn filter_unprepared(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status> {
        if P::POINTS.contains(&Point::PreFilter) {
            Ok(Box::new(Plugin::filter_unprepared(self, cx, pod)?))
        } else {
            Ok(Box::new(P::Filter::default()))
        }
    }

    fn filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Fit {
        Plugin::filter(self, cx, typed(state), pod, node)
    }

    fn asks(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod) -> Ask {
        Plugin::asks(self, cx, typed(state), pod)
    }

    fn accepts_all(&self, cx: Cx<'_>, state: &dyn State) -> bool {
        Plugin::accepts_all(self, cx, typed(state))
    }

    fn trial(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
        op: Trial,
    ) {
        Plugin::trial(self, cx, typed_mut(state), pod, other, node, op);
    }

    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
    ) -> PostFilterResult {
        Plugin::post_filter(self, cx, typed_slot(own), pod)
    }

    fn pre_score(&self, cx: Cx<'_>, pod: &Pod, feasible: &[&NodeInfo]) -> PreScore<Erased> {
        erase_score(Plugin::pre_score(self, cx, pod, feasible))
    }

    fn score_unprepared(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
    ) -> Result<Erased, Status> {
        let state = if P::POINTS.contains(&Point::PreScore) {
            Plugin::score_unprepared(self, cx, pod)?
        } else {
            Plugin::score_from_filter(self, typed_slot(own))?
        };
        Ok(Box::new(state))
    }

    fn scores(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Vec<Option<i64>> {
        let state = typed(state);
        nodes
            .iter()
            .map(|node| Plugin::score(self, cx, state, pod, node))
            .collect()
    }

    fn normalize(&self, state: &dyn State, raw: i64, over: Range) -> i64 {
        Plugin::normalize(self, typed(state), raw, over)
    }

    fn packing(&self) -> Option<Packing> {
        Plugin::packing(self)
    }

    fn filter_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        positions: &[u32],
        verdicts: &mut [u32],
        reject: &mut dyn FnMut(Status) -> u32,
    ) {
        let (state, nodes, gauges) = (typed(state), cx.cluster.nodes(), cx.cluster.gauges());
        for (at, verdict) in positions.iter().zip(verdicts) {
            if *verdict == 0
                && !Plugin::fits_gauge(self, state, &gauges[*at as usize])
                && let Err(status) = Plugin::filter(self, cx, state, pod, &nodes[*at as usize])
            {
                *verdict = reject(status);
            }
        }
    }

    fn score_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        weight: i64,
        (positions, verdicts): (&[u32], &[u32]),
        sums: &mut [i32],
    ) {
        let (state, nodes, gauges) = (typed(state), cx.cluster.nodes(), cx.cluster.gauges());
        for ((at, verdict), sum) in positions.iter().zip(verdicts).zip(sums) {
            if *verdict != 0 || *sum == OUT_OF_RANGE {
                continue;
            }
            let at = *at as usize;
            let score = match Plugin::score_gauge(self, state, &gauges[at]) {
                Some(score) => score,
                None => Plugin::score(self, cx, state, pod, &nodes[at]).unwrap_or(0),
            };
            *sum = match (0..=MAX_NODE_SCORE).contains(&score) {
                true => *sum + (score * weight) as i32,
                false => OUT_OF_RANGE,
            };
        }
    }

    fn filter_bytes(&self, state: &dyn State) -> usize {
        size_of::<P::Filter>() + Plugin::filter_bytes(self, typed(state))
    }

    fn score_bytes(&self, state: &dyn State) -> usize {
        size_of::<P::Score>() + Plugin::score_bytes(self, typed(state))
    }

    fn filter_sight(&self) -> Sight {
        P::FILTER_SIGHT
    }

    fn score_sight(&self) -> Sight {
        P::SCORE_SIGHT
    }

    fn is_relative(&self) -> bool {
        P::RELATIVE
    }

    fn forgets(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool {
        Plugin::forgets(self, cx, pod, object)
    }

    fn keep_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Erased> {
        erase_filter(Plugin::keep_filter(self, cx, pod))
    }

    fn filter_rests(&self, state: &dyn State) -> bool {
        Plugin::filter_rests(self, typed(state))
    }

    fn observe_filter(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        noted: Noted<'_>,
    ) -> Kept {
        let state = typed_mut(state);
        let mut kept = Kept::Same;
        for delta in noted.deltas() {
            delta.facts(|fact, holds| {
                kept = kept.max(Plugin::observe_filter(self, cx, state, pod, fact, holds));
            });
        }
        kept
    }

    fn filter_looks_for(&self, state: &dyn State) -> u64 {
        Plugin::filter_looks_for(self, typed(state))
    }

    fn score_looks_for(&self, state: &dyn State) -> u64 {
        Plugin::score_looks_for(self, typed(state))
    }

    fn minds_filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, other: &Pod) -> bool {
        Plugin::minds_filter(self, cx, typed(state), pod, other)
    }

    fn minds_score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, other: &Pod) -> bool {
        Plugin::minds_score(self, cx, typed(state), pod, other)
    }

    fn see_filter(&self, state: &dyn State, node: &NodeInfo, seen: &mut Vec<u64>) {
        Plugin::see_filter(self, typed(state), node, seen);
    }

    fn filter_reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads> {
        Plugin::filter_reads(self, typed(state), pod)
    }

    fn admit(&self, state: &dyn State, seen: &[u64]) -> Fit {
        Plugin::admit(self, typed(state), seen)
    }

    fn keep_score(&self, cx: Cx<'_>, pod: &Pod) -> PreScore<Erased> {
        erase_score(Plugin::keep_score(self, cx, pod))
    }

    fn score_rests(&self, state: &dyn State) -> bool {
        Plugin::score_rests(self, typed(state))
    }

    fn observe_score(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        noted: Noted<'_>,
    ) -> Kept {
        let state = typed_mut(state);
        let mut kept = Kept::Same;
        for delta in noted.deltas() {
            delta.facts(|fact, holds| {
                kept = kept.max(Plugin::observe_score(self, cx, state, pod, fact, holds));
            });
        }
        kept
    }

    fn see_score(&self, state: &dyn State, pod: &Pod, node: &NodeInfo, seen: &mut Vec<u64>) {
        Plugin::see_score(self, typed(state), pod, node, seen);
    }

    fn score_reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads> {
        Plugin::score_reads(self, typed(state), pod)
    }

    fn weigh(&self, state: &mut dyn State, feasible: &mut dyn Iterator<Item = (&[u64], usize)>) {
        Plugin::weigh(self, typed_mut(state), feasible);
    }

    fn raw(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, seen: &[u64]) -> Option<i64> {
        Plugin::raw(self, cx, typed(state), pod, seen)
    }

    fn score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Option<i64> {
        Plugin::score(self, cx, typed(state), pod, node)
    }

    fn reserve(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status> {
        Plugin::reserve(self, cx, typed_slot(own), pod, node)
    }

    fn permit(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Permit {
        Plugin::permit(self, cx, pod, node)
    }

    fn pre_bind(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Effect>, Status> {
        Plugin::pre_bind(self, cx, typed_slot(own), pod, node)
    }

    fn bind(&self, cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Effect> {
        Plugin::bind(self, cx, pod, node)
    }

    fn post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<Effect> {
        Plugin::post_bind(self, cx, pod, node)
    }

    fn events(&self) -> Vec<Registration> {
        Plugin::events(self)
    }

    fn hint(
        &self,
        cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        Plugin::hint(self, cx, event, pod, old, new)
    }
}
