//! What is measured: how long the engine takes, and how often it allocates.

use alloc_tracker::{Operation, Session};
use std::time::{Duration, Instant};
use stowplan_base::Sym;

/// How often the engine allocates.
struct Allocations {
    session: Session,
    engine: Operation,
}

impl Default for Allocations {
    fn default() -> Self {
        let session = Session::new();
        let engine = session.operation("engine");
        Self { session, engine }
    }
}

impl Allocations {
    fn total(&self) -> u64 {
        let report = self.session.to_report();
        let all = report.operations();
        all.map(|(_, engine)| engine.total_allocations_count())
            .sum()
    }
}

/// For whom the engine worked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The measured pod of this number.
    Measured(usize),
    /// A pod that is there only to make life harder.
    Background,
    /// Nobody in particular: the next measured pod has to wait for it.
    Anyone,
}

/// How many names are looked at first.
const LATEST: usize = 1024;

/// Sums up costs. While measured pods are decided it does not allocate.
#[derive(Default)]
pub(crate) struct Meter {
    is_on: bool,
    /// The names of the measured pods, in the order of creation, which is that of symbols.
    names: Vec<Sym>,
    /// What each measured pod cost, in nanoseconds.
    nanos: Vec<u64>,
    /// Whether it is bound.
    is_bound: Vec<bool>,
    /// What the next measured pod has to wait for.
    carried: Duration,
    /// Everything, background included.
    total: Duration,
    allocations: Allocations,
    background: Duration,
    bound: usize,
}

impl Meter {
    /// Begins to measure so many pods.
    pub(crate) fn start(&mut self, pods: usize) {
        *self = Self {
            is_on: true,
            names: Vec::with_capacity(pods),
            nanos: Vec::with_capacity(pods),
            is_bound: Vec::with_capacity(pods),
            ..Self::default()
        };
    }

    /// A pod will be measured.
    pub(crate) fn expect(&mut self, name: Sym) -> Owner {
        debug_assert!(self.names.last().is_none_or(|last| *last < name));
        self.names.push(name);
        self.nanos.push(0);
        self.is_bound.push(false);
        Owner::Measured(self.names.len() - 1)
    }

    /// Who the pod of this name is.
    pub(crate) fn owner(&self, name: Sym) -> Owner {
        // Most of the time it is one of the latest: the rest of a long list stays untouched.
        let latest = self.names.len().saturating_sub(LATEST);
        let from = match self.names.get(latest) {
            Some(first) if *first <= name => latest,
            _ => 0,
        };
        match self.names[from..].binary_search(&name) {
            Ok(at) => Owner::Measured(from + at),
            Err(_) => Owner::Background,
        }
    }

    /// Calls into the engine, and tells how long that took.
    #[inline]
    pub(crate) fn time<T>(&self, call: impl FnOnce() -> T) -> (T, Duration) {
        let counted = self.is_on.then(|| self.allocations.engine.measure_thread());
        let start = Instant::now();
        let result = call();
        let time = start.elapsed();
        drop(counted);
        (result, time)
    }

    /// Notes how long a call took.
    pub(crate) fn charge(&mut self, owner: Owner, time: Duration) {
        if !self.is_on {
            return;
        }
        self.total += time;
        match owner {
            Owner::Measured(at) => {
                let time = time + std::mem::take(&mut self.carried);
                self.nanos[at] += u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            }
            Owner::Background => self.background += time,
            Owner::Anyone => self.carried += time,
        }
    }

    /// Notes that a pod is bound.
    pub(crate) fn bound(&mut self, owner: Owner) {
        if let Owner::Measured(at) = owner
            && !std::mem::replace(&mut self.is_bound[at], true)
        {
            self.bound += 1;
        }
    }

    /// How many measured pods are bound.
    pub(crate) fn scheduled(&self) -> usize {
        self.bound
    }

    /// How long the engine worked.
    pub(crate) fn total(&self) -> Duration {
        self.total
    }

    /// How long it worked on pods in the background.
    pub(crate) fn background_time(&self) -> Duration {
        self.background
    }

    /// Decisions per second, everything counted; `None` if there were none.
    pub(crate) fn decisions_per_s(&self) -> Option<f64> {
        rate(self.bound, self.total)
    }

    /// Allocations per decision, everything counted; `None` if there were none.
    pub(crate) fn allocations_per_decision(&self) -> Option<f64> {
        (self.bound > 0).then(|| self.allocations.total() as f64 / self.bound as f64)
    }

    /// These percentiles of the time per decision.
    pub(crate) fn percentiles<const N: usize>(
        &self,
        percents: [usize; N],
    ) -> [Option<Duration>; N] {
        let all = self.nanos.iter().zip(&self.is_bound);
        let bound = all.filter(|(_, is_bound)| **is_bound);
        let mut times: Vec<u64> = bound.map(|(nanos, _)| *nanos).collect();
        times.sort_unstable();
        percents.map(|percent| {
            // The nearest rank: the smallest time that so many percent do not exceed.
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().map(Duration::from_nanos)
        })
    }
}

/// So many per second.
pub(crate) fn rate(count: usize, time: Duration) -> Option<f64> {
    (count > 0 && !time.is_zero()).then(|| count as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Names;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn costs_go_to_their_pods() {
        let mut names = Names::new();
        let mut meter = Meter::default();
        meter.charge(Owner::Background, millis(1));
        meter.start(100);
        for i in 0..100 {
            let name = names.intern(&format!("p{i}"));
            let owner = meter.expect(name);
            assert_eq!(meter.owner(name), owner);
            meter.charge(Owner::Anyone, millis(1));
            meter.charge(owner, millis(i));
            if i > 0 {
                meter.bound(owner);
                meter.bound(owner);
            }
        }
        let other = names.intern("other");
        assert_eq!(meter.owner(other), Owner::Background);
        meter.charge(Owner::Background, millis(50));
        assert_eq!(meter.scheduled(), 99);
        assert_eq!(meter.total(), Duration::from_millis(4950 + 100 + 50));
        assert_eq!(meter.background_time(), Duration::from_millis(50));
        let [p50, p99] = meter.percentiles([50, 99]);
        assert_eq!(p50, Some(Duration::from_millis(51)));
        assert_eq!(p99, Some(Duration::from_millis(100)));
    }

    /// The binary that measures counts in the same way.
    #[global_allocator]
    static COUNTED: alloc_tracker::Allocator<std::alloc::System> =
        alloc_tracker::Allocator::system();

    #[test]
    fn what_the_engine_allocates_is_counted() {
        let mut names = Names::new();
        let mut meter = Meter::default();
        let allocate = || vec![1_u8; 100];
        let (before, _) = meter.time(allocate);
        meter.start(2);
        for name in ["a", "b"] {
            let owner = meter.expect(names.intern(name));
            let (kept, time) = meter.time(|| [allocate(), allocate(), allocate()]);
            meter.charge(owner, time);
            meter.bound(owner);
            assert_eq!(kept[0], before);
        }
        assert_eq!(meter.allocations_per_decision(), Some(3.0));
    }
}
