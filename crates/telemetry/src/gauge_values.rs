//! What is counted when somebody asks.

/// The bounds of the distribution over nodes, as labels.
const BOUNDS: [(&str, f64); 11] = [
    ("0.1", 0.1),
    ("0.2", 0.2),
    ("0.3", 0.3),
    ("0.4", 0.4),
    ("0.5", 0.5),
    ("0.6", 0.6),
    ("0.7", 0.7),
    ("0.8", 0.8),
    ("0.9", 0.9),
    ("1", 1.0),
    ("+Inf", f64::INFINITY),
];

/// The scheduler at one moment, counted by the thread that owns it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GaugeValues {
    /// Pods that wait: active, in backoff, unschedulable, gated.
    pub pending: [PendingPods; 4],
    /// Pods that wait, by the plugin that rejected them and the profile.
    pub unschedulable: Vec<(&'static str, String, u64)>,
    /// How many pods entered a part of the queue since the start: the part, why, how many.
    pub incoming: Vec<(&'static str, String, u64)>,
    /// Pods in flight (`PodPopped`) and what happened meanwhile.
    pub in_flight: Vec<(String, u64)>,
    /// Nodes.
    pub nodes: usize,
    /// Pods on nodes, assumed ones included.
    pub pods: usize,
    /// Pods that are assumed to be on nodes.
    pub assumed_pods: usize,
    /// In how many attempts a plugin had its say: the point, the plugin, the profile, how many.
    pub evaluations: Vec<(&'static str, &'static str, String, u64)>,
    /// How often a pod was decided from what was kept about pods like it, and how often there was
    /// nothing yet, by profile.
    pub reuse: Vec<(String, u64, u64)>,
    /// How full the nodes are, by resource.
    pub utilization: Vec<Utilization>,
}

/// The pods in one part of the queue.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PendingPods {
    /// How many.
    pub count: usize,
    /// How long ago the first of them entered the queue.
    pub oldest_seconds: f64,
}

impl PendingPods {
    /// One more.
    pub fn add(&mut self, age_seconds: f64) {
        self.count += 1;
        self.oldest_seconds = self.oldest_seconds.max(age_seconds);
    }
}

/// How many nodes are how full, by what their pods request.
#[derive(Clone, PartialEq, Debug)]
pub struct Utilization {
    /// The resource.
    pub resource: String,
    counts: [u64; BOUNDS.len()],
}

impl Utilization {
    /// No nodes.
    pub fn new(resource: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            counts: [0; BOUNDS.len()],
        }
    }

    /// One more node. A node that has none of the resource does not count.
    pub fn add(&mut self, requested: i64, allocatable: i64) {
        if allocatable <= 0 {
            return;
        }
        let share = requested as f64 / allocatable as f64;
        let at = BOUNDS.partition_point(|(_, bound)| *bound < share);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    /// For each bound how many nodes are at most that full.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let bounds = BOUNDS.iter().map(|(label, _)| *label);
        bounds.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_how_full_they_are() {
        let mut cpu = Utilization::new("cpu");
        for (requested, allocatable) in [(0, 4), (2, 4), (3, 4), (4, 4), (5, 4), (1, 0)] {
            cpu.add(requested, allocatable);
        }
        let counts: Vec<_> = cpu.cumulative().collect();
        assert_eq!(counts.first(), Some(&("0.1", 1)));
        assert_eq!(counts[4], ("0.5", 2));
        assert_eq!(counts[7], ("0.8", 3));
        assert_eq!(counts[9], ("1", 4));
        assert_eq!(counts[10], ("+Inf", 5));
    }
}
