//! What the scores compare: amounts of the configured resources, asked for and there to be had.

use super::fit::ResourceSpec;
use crate::framework::Cx;
use crate::model::{ResourceId, ResourceList, is_scalar_name};
use crate::{NodeInfo, PairRequest, ResourceSummary, Snapshot};
use stowplan_base::{Quantity, Sym, sym};

/// A configured resource that counts in the scores of one pod.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The resource.
    id: ResourceId,
    /// What the pod asks for.
    request: i64,
    /// What the resource weighs.
    pub(super) weight: i64,
}

/// One resource of a node, as a score sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// What the pods on the node take up.
    pub(super) allocated: i64,
    /// The same with the pod to be scheduled.
    pub(super) requested: i64,
    /// What there is; never 0.
    pub(super) allocatable: i64,
}

/// How much of cpu and memory the pods on a node count for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sums {
    /// What they ask for.
    Requested,
    /// What they ask for, with a minimum per container.
    NonZero,
}

impl Share {
    /// The node's amounts; `None` if the node has nothing of the resource.
    #[inline]
    pub(super) fn load(&self, node: &NodeInfo, sums: Sums) -> Option<Load> {
        let allocatable = node.allocatable().get(self.id);
        if allocatable == 0 {
            return None;
        }
        let allocated = match (self.id, sums) {
            (ResourceId::CPU, Sums::NonZero) => node.non_zero_cpu_milli,
            (ResourceId::MEMORY, Sums::NonZero) => node.non_zero_memory,
            (id, _) => node.requested.get(id),
        };
        Some(Load {
            allocated,
            requested: allocated.wrapping_add(self.request),
            allocatable,
        })
    }
}

/// The resources that count in the scores of one pod, in the order of configuration.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    list: Box<[Share]>,
    /// What the pod asks for, if cpu and memory count, in this order, one as much as the other, and
    /// nothing else.
    pair: Option<PairRequest>,
}

impl std::ops::Deref for Shares {
    type Target = [Share];

    fn deref(&self) -> &[Share] {
        &self.list
    }
}

impl Shares {
    fn new(list: Box<[Share]>) -> Self {
        let pair = match &*list {
            [cpu, memory]
                if (cpu.id, memory.id) == (ResourceId::CPU, ResourceId::MEMORY)
                    && (cpu.weight, memory.weight) == (1, 1) =>
            {
                PairRequest::new([cpu.request, memory.request])
            }
            _ => None,
        };
        Self { list, pair }
    }

    /// What the pod asks for, if a summary that can be relied on tells all that counts.
    #[inline]
    pub(super) fn summarized(&self, summary: &ResourceSummary) -> Option<PairRequest> {
        self.pair.filter(|_| summary.is_exact())
    }
}

/// The resources that count for a pod with these requests.
///
/// Extended resources and the like count only if the pod asks for them.
pub(super) fn shares(cx: Cx<'_>, resources: &[ResourceSpec], requests: &ResourceList) -> Shares {
    let list = resources
        .iter()
        .filter_map(|spec| {
            let name = cx.cluster.names.get(&spec.name)?;
            let id = scored_column(cx.cluster, name)?;
            let request = requested(requests, name);
            if request == 0 && is_scalar_name(&spec.name) {
                return None;
            }
            Some(Share {
                id,
                request,
                weight: spec.weight,
            })
        })
        .collect();
    Shares::new(list)
}

/// Whether the pod asks for nothing of the resources.
pub(super) fn is_best_effort(
    cx: Cx<'_>,
    resources: &[ResourceSpec],
    requests: &ResourceList,
) -> bool {
    resources.iter().all(|spec| {
        let name = cx.cluster.names.get(&spec.name);
        name.is_none_or(|name| requested(requests, name) == 0)
    })
}

fn requested(requests: &ResourceList, name: Sym) -> i64 {
    let amount = requests.get(name).unwrap_or(Quantity::ZERO);
    if name == sym::CPU {
        amount.milli_value()
    } else {
        amount.value()
    }
}

/// The column of a resource that nodes can be scored by: not `pods`, nor a name that means nothing.
fn scored_column(cluster: &Snapshot, name: Sym) -> Option<ResourceId> {
    let id = cluster.resource_names.get(name)?;
    (id != ResourceId::PODS).then_some(id)
}
