//! Cpu and memory of a node, in a form that is read quickly: whoever scores thousands of nodes for
//! every pod reads these instead of the nodes.

use super::NodeInfo;
use crate::cast::{float, low_half};
use crate::model::ResourceId;

/// Cpu and memory.
const PAIR: [ResourceId; 2] = [ResourceId::CPU, ResourceId::MEMORY];

/// Amounts must be below two to the power of this: then a hundred times the sum of two is a whole
/// number that a float holds exactly, and of quotients of such numbers the whole part is exact too.
const BITS: u32 = 45;

/// A float that is added and taken away again to round to whole numbers.
const ROUND: f64 = float(1 << 52);

/// What a node has and what its pods take up, of (cpu in thousandths, memory in bytes), each a whole
/// number.
#[derive(Clone, Copy, Debug)]
pub struct ResourceSummary {
    /// What there is, never 0; not a number where amounts are too large or too strange for floats.
    allocatable: [f64; 2],
    /// What the pods ask for.
    requested: [f64; 2],
    /// The same with a minimum per container.
    non_zero: [f64; 2],
    /// For how many more pods there is room.
    room: f64,
    /// How evenly the two are used: [`evenness`](Self::evenness) without any other pod.
    evenness: f64,
}

/// What a pod asks for, of (cpu, memory).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairRequest([f64; 2]);

impl PairRequest {
    /// The request; `None` if amounts are too large or too strange for floats.
    pub(crate) fn new(amounts: [i64; 2]) -> Option<Self> {
        let all = amounts[0] | amounts[1];
        is_small(all).then(|| Self(amounts.map(float)))
    }

    /// The same, for which whatever it asks nothing of need not be there.
    pub(crate) fn or_nothing(self) -> Self {
        let Self(amounts) = self;
        Self(amounts.map(|amount| if amount == 0.0 { f64::MIN } else { amount }))
    }
}

/// Whether of amounts, of which all bits are here, none is negative or too large.
fn is_small(bits: i64) -> bool {
    bits.cast_unsigned() >> BITS == 0
}

impl ResourceSummary {
    pub(super) fn of(info: &NodeInfo) -> Self {
        let allocatable = PAIR.map(|id| info.allocatable().get(id));
        let requested = PAIR.map(|id| info.requested.get(id));
        let non_zero = [info.non_zero_cpu_milli, info.non_zero_memory];
        let bits = [allocatable, requested, non_zero];
        let bits = bits.as_flattened().iter().fold(0, |all, bits| all | bits);
        let pods = i64::try_from(info.pods.len()).unwrap_or(i64::MAX);
        let room = info.allocatable().get(ResourceId::PODS);
        let mut summary = Self {
            allocatable: allocatable.map(float),
            requested: requested.map(float),
            non_zero: non_zero.map(float),
            room: float(room.saturating_sub(pods)),
            evenness: 0.0,
        };
        if !is_small(bits) || allocatable.contains(&0) {
            summary.allocatable = [f64::NAN; 2];
        }
        summary.evenness = summary.evenness(PairRequest([0.0; 2]));
        summary
    }

    /// Whether the summary can be relied on.
    #[inline]
    pub(crate) fn is_exact(&self) -> bool {
        !self.allocatable[0].is_nan()
    }

    /// Whether there is room for another pod with this request, which should be one
    /// [or nothing](PairRequest::or_nothing); if not, the summary may not be exact.
    #[inline]
    pub(crate) fn has_room(&self, PairRequest(request): PairRequest) -> bool {
        let free = |i: usize| self.allocatable[i] - self.requested[i];
        self.room > 0.0 && request[0] <= free(0) && request[1] <= free(1)
    }

    /// Of how much of a hundred stays free with another pod, the mean of both, in whole numbers.
    #[inline]
    pub(crate) fn free_percent(&self, PairRequest(request): PairRequest) -> i64 {
        self.mean_percent(|i| {
            let free = self.allocatable[i] - (self.non_zero[i] + request[i]);
            if free > 0.0 { free } else { 0.0 }
        })
    }

    /// Of how much of a hundred is used with another pod, the mean of both, in whole numbers.
    // Apart from `free_percent`: side by side in a loop the compiler joins them, and then computes cpu
    // and memory one after the other instead of both at once.
    #[inline(never)]
    pub(crate) fn used_percent(&self, PairRequest(request): PairRequest) -> i64 {
        self.mean_percent(|i| {
            let used = self.non_zero[i] + request[i];
            if used < self.allocatable[i] {
                used
            } else {
                self.allocatable[i]
            }
        })
    }

    #[inline]
    fn mean_percent(&self, part: impl Fn(usize) -> f64) -> i64 {
        let percent = [0, 1].map(|i| floor(part(i) * 100.0 / self.allocatable[i]));
        whole(floor((percent[0] + percent[1]) * 0.5))
    }

    /// 100 less the standard deviation of the used fractions in percent, with another pod, rounded
    /// down.
    #[inline]
    fn evenness(&self, PairRequest(request): PairRequest) -> f64 {
        let used = [0, 1].map(|i| {
            let used = (self.requested[i] + request[i]) / self.allocatable[i];
            if used < 1.0 { used } else { 1.0 }
        });
        let deviation = ((used[0] - used[1]) * 0.5).abs();
        floor((1.0 - deviation) * 100.0)
    }

    /// By how much the [`evenness`](Self::evenness) grows with another pod: from -50 to 50.
    #[inline]
    pub(crate) fn evenness_gain(&self, request: PairRequest) -> i64 {
        whole(self.evenness(request) - self.evenness + 50.0) - 50
    }
}

/// The greatest whole number that is not greater than `x`, which must be from 0 to 2^51.
#[inline]
fn floor(x: f64) -> f64 {
    let nearest = (x + ROUND) - ROUND;
    nearest - if nearest > x { 1.0 } else { 0.0 }
}

/// `x`, a whole number from 0 to 2^31, as one.
#[inline]
fn whole(x: f64) -> i64 {
    i64::from(low_half((x + ROUND).to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;
    use crate::testing::World;
    use stowplan_base::{Rng, Sym};

    #[test]
    fn summaries_follow_the_nodes() {
        let (mut world, mut rng) = (World::default(), Rng::new(9));
        for step in 0..2000 {
            let (node, pod) = (
                format!("n{}", rng.below(6)),
                format!("ns/p{}", rng.below(20)),
            );
            let amount = (1 + rng.below(9)).to_string();
            let amounts = [("cpu", &*amount), ("memory", "1Gi"), ("pods", &*amount)];
            match rng.below(6) {
                0 => {
                    let name = world.sym(&node);
                    world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
                }
                1 | 2 => {
                    let mut node = world.node(&node, &[]);
                    world.set_allocatable(&mut node, &amounts);
                    world.add_node(node);
                }
                3 => {
                    let uid = world.pod(&pod, &[]).uid;
                    world.snapshot.remove_pod(&uid);
                }
                _ => {
                    let mut pod = world.pod(&pod, &[]);
                    world.set_requests(&mut pod, &amounts[..2]);
                    world.add_pod(pod, &node);
                }
            }
            // As text: what is not a number is not equal to itself.
            let expected: Vec<ResourceSummary> = world
                .snapshot
                .nodes()
                .iter()
                .map(ResourceSummary::of)
                .collect();
            let summaries = format!("{:?}", world.snapshot.summaries());
            assert_eq!(summaries, format!("{expected:?}"), "step {step}");
        }
    }
}
