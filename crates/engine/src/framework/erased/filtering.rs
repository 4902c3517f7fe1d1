//! The traits that share what PreFilter left, without its type.

use super::Erased;
use super::slots::{erase_filter, typed, typed_mut, typed_slot};
use crate::NodeInfo;
use crate::framework::cycle::State;
use crate::framework::relevant_changes::RelevantChanges;
use crate::framework::{
    Changed, Cx, Filter, FilterState, Fit, Invalidation, NodesToCheck, PostFilter, PostFilterCx,
    PostFilterResult, PreBind, PreFilter, PreFilterExtensions, PreFilterResult, Reads, Reserve,
    Scope, Slot, Status, Step,
};
use crate::model::{Object, Pod};
use stowplan_base::Sym;

pub(in crate::framework) trait AnyPreFilter {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Erased>;
    fn pre_filter_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status>;
}

impl<P: PreFilter> AnyPreFilter for P {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Erased> {
        erase_filter(PreFilter::pre_filter(self, cx, pod))
    }

    fn pre_filter_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status> {
        Ok(Box::new(PreFilter::pre_filter_disabled(self, cx, pod)?))
    }
}

pub(in crate::framework) trait AnyPreFilterExtensions {
    fn add_pod(&self, cx: Cx<'_>, state: &mut dyn State, pod: &Pod, other: &Pod, node: &NodeInfo);
    fn remove_pod(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    );
}

impl<P: PreFilterExtensions> AnyPreFilterExtensions for P {
    fn add_pod(&self, cx: Cx<'_>, state: &mut dyn State, pod: &Pod, other: &Pod, node: &NodeInfo) {
        PreFilterExtensions::add_pod(self, cx, typed_mut(state), pod, other, node);
    }

    fn remove_pod(
        &self,
        cx: Cx<'_>,
        state: &mut dyn State,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    ) {
        PreFilterExtensions::remove_pod(self, cx, typed_mut(state), pod, other, node);
    }
}

pub(in crate::framework) trait AnyFilter {
    fn filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Fit;
    /// What Filter works with in plugins without PreFilter.
    fn default_state(&self) -> Erased;
}

impl<P: Filter> AnyFilter for P {
    fn filter(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Fit {
        Filter::filter(self, cx, typed(state), pod, node)
    }

    fn default_state(&self) -> Erased {
        Box::new(P::FilterState::default())
    }
}

pub(in crate::framework) trait AnyPostFilter {
    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
    ) -> PostFilterResult;
}

impl<P: PostFilter> AnyPostFilter for P {
    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
    ) -> PostFilterResult {
        PostFilter::post_filter(self, cx, typed_slot(own), pod)
    }
}

pub(in crate::framework) trait AnyReserve {
    fn reserve(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status>;
    fn unreserve(&self, cx: Cx<'_>, pod: &Pod, node: Sym);
}

impl<P: Reserve> AnyReserve for P {
    fn reserve(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status> {
        Reserve::reserve(self, cx, typed_slot(own), pod, node)
    }

    fn unreserve(&self, cx: Cx<'_>, pod: &Pod, node: Sym) {
        Reserve::unreserve(self, cx, pod, node);
    }
}

pub(in crate::framework) trait AnyPreBind {
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Step>, Status>;
}

impl<P: PreBind> AnyPreBind for P {
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        own: &Slot<Erased>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Step>, Status> {
        PreBind::pre_bind(self, cx, typed_slot(own), pod, node)
    }
}

/// [`FilterState`] without its type. What is asked about many nodes is statically dispatched inside.
pub(in crate::framework) trait AnyFilterState {
    kept_state!();
    fn ignores(&self, pod: &Pod) -> bool;
    fn accepts_all(&self, state: &dyn State, cx: Cx<'_>) -> bool;
    fn nodes_to_check(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod) -> NodesToCheck;
    /// Asks the filter about the nodes at these positions that are not rejected yet (`verdicts` 0);
    /// `reject` turns a verdict into its number.
    fn filter_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        positions: &[u32],
        verdicts: &mut [u32],
        reject: &mut dyn FnMut(Status) -> u32,
    );
    fn prepare(&self, cx: Cx<'_>, pod: &Pod) -> Option<PreFilterResult<Erased>>;
    fn group_key(&self, state: &dyn State, node: &NodeInfo, key: &mut Vec<u64>);
    fn filter_group(&self, state: &dyn State, key: &[u64]) -> Fit;
}

impl<P> AnyFilterState for P
where
    P: Filter,
    P::FilterState: FilterState<P>,
{
    kept_state!(FilterState);

    fn ignores(&self, pod: &Pod) -> bool {
        P::FilterState::ignores(self, pod)
    }

    fn accepts_all(&self, state: &dyn State, cx: Cx<'_>) -> bool {
        typed::<P::FilterState>(state).accepts_all(self, cx)
    }

    fn nodes_to_check(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod) -> NodesToCheck {
        typed::<P::FilterState>(state).nodes_to_check(self, cx, pod)
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
        let state: &P::FilterState = typed(state);
        let (nodes, summaries) = (cx.cluster.nodes(), cx.cluster.summaries());
        for (at, verdict) in positions.iter().zip(verdicts) {
            if *verdict == 0
                && !state.fits_summary(self, &summaries[*at as usize])
                && let Err(status) = self.filter(cx, state, pod, &nodes[*at as usize])
            {
                *verdict = reject(status);
            }
        }
    }

    fn prepare(&self, cx: Cx<'_>, pod: &Pod) -> Option<PreFilterResult<Erased>> {
        P::FilterState::prepare(self, cx, pod).map(erase_filter)
    }

    fn group_key(&self, state: &dyn State, node: &NodeInfo, key: &mut Vec<u64>) {
        typed::<P::FilterState>(state).group_key(node, key);
    }

    fn filter_group(&self, state: &dyn State, key: &[u64]) -> Fit {
        typed::<P::FilterState>(state).filter_group(key)
    }
}
