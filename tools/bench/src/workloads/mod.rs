//! What is run: a cluster, the pods that are there before, and the pods that are measured.

mod own;
mod template;
mod upstream;

pub(crate) use template::{
    HIGH, HOSTNAME, NAMED_NODE, NodeTemplate, PodTemplate, Rule, Scope, TEAM, TOO_LARGE, Volume,
    ZONE,
};

/// One workload: what happens, in order. The last step is the one that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Upstream's test case and workload, or a name of our own.
    pub name: &'static str,
    pub(crate) steps: &'static [Step],
}

/// Something that happens. Counts are those at full size.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Nodes appear.
    Nodes(usize, NodeTemplate),
    /// Nodes of many kinds appear.
    MixedNodes(usize),
    /// A service appears that selects the pods of this label.
    Service(&'static str, (&'static str, &'static str)),
    /// Pods appear, are scheduled, and stay.
    Pods(usize, PodTemplate, Where),
    /// Pods appear and stay gated.
    Gated(usize, PodTemplate, Where),
    /// From here on something happens all the time.
    Churn(Churn),
    /// From here on the pods of this namespace are deleted one by one.
    Delete(&'static str),
    /// The pods that are measured.
    Measure(usize, Source, Where),
}

/// Where pods are created.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Where {
    /// In a namespace named after the step, as upstream does it: `namespace-2`.
    Step,
    /// In this one.
    In(&'static str),
    /// Dealt out over so many namespaces of this prefix, which bear the team's label.
    Teams(&'static str, usize),
}

/// What happens all the time, one operation per [`PODS_PER_CHURN`] measured pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Churn {
    /// A pod of higher priority appears that can preempt.
    HighPriority,
    /// A pod appears that no node can hold.
    TooLarge,
    /// By turns, a node, a pod that no node can hold and a service appear and disappear again.
    Mixed,
}

/// What upstream does every so many milliseconds is done every so many measured pods.
pub(crate) const PODS_PER_CHURN: usize = 50;
/// What upstream deletes every so many milliseconds is deleted every so many measured pods.
pub(crate) const PODS_PER_DELETION: usize = 5;

/// Where the measured pods come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// All alike.
    Template(PodTemplate),
    /// Ten replicas each of many templates.
    ManyTemplates {
        /// Whether the replicas of all templates come in one random order.
        shuffled: bool,
    },
    /// No two alike.
    OneOfAKind,
}

/// All workloads, upstream's first.
pub(crate) fn all() -> impl Iterator<Item = &'static Workload> {
    upstream::WORKLOADS.iter().chain(own::WORKLOADS)
}

impl Workload {
    /// How many nodes there are at full size.
    pub fn nodes(&self) -> usize {
        let nodes = |step: &Step| match step {
            Step::Nodes(count, _) | Step::MixedNodes(count) => *count,
            _ => 0,
        };
        self.steps.iter().map(nodes).sum()
    }

    /// How many pods are measured at full size.
    pub fn measured(&self) -> usize {
        let measured = |step: &Step| match step {
            Step::Measure(count, ..) => *count,
            _ => 0,
        };
        self.steps.iter().map(measured).sum()
    }

    /// Whether the measured pods have to preempt others.
    pub(crate) fn preempts(&self) -> bool {
        let preempts = |step: &Step| matches!(step, Step::Measure(_, Source::Template(template), _) if template.priority > 0);
        self.steps.iter().any(preempts)
    }
}

/// The share of a workload that is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale(pub f64);

impl Scale {
    /// So many nodes: rounded up, so that what fits still does.
    pub fn nodes(self, count: usize) -> usize {
        ((count as f64 * self.0).ceil() as usize).max(1)
    }

    /// So many pods: rounded down, but not to nothing.
    pub fn pods(self, count: usize) -> usize {
        ((count as f64 * self.0).floor() as usize).max(1)
    }
}

/// The workloads whose names match one of the patterns; all if there are none. `Err` is a pattern
/// that matches nothing.
pub fn select(patterns: &[String]) -> Result<Vec<&'static Workload>, String> {
    if let Some(nothing) = patterns
        .iter()
        .find(|pattern| !all().any(|workload| matches(pattern, workload.name)))
    {
        return Err(nothing.clone());
    }
    let wanted = |workload: &&Workload| {
        patterns.is_empty() || patterns.iter().any(|p| matches(p, workload.name))
    };
    Ok(all().filter(wanted).collect())
}

/// Whether a pattern means a name: it is the name, or no other's name and part of this one, or with
/// `*` and `?` it describes all of it. Case does not matter.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    if pattern.contains(['*', '?']) {
        return glob(pattern.as_bytes(), name.as_bytes());
    }
    let is_a_name = all().any(|workload| workload.name.eq_ignore_ascii_case(&pattern));
    name == pattern || (!is_a_name && name.contains(&pattern))
}

fn glob(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            glob(rest, name) || name.split_first().is_some_and(|(_, n)| glob(pattern, n))
        }
        (Some((b'?', p)), Some((_, n))) => glob(p, n),
        (Some((a, p)), Some((b, n))) => a == b && glob(p, n),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("basic", "SchedulingBasic/5000Nodes", true),
            ("Scheduling*Pods", "SchedulingBasic/10Pods", true),
            ("Scheduling*", "Unschedulable", false),
            ("*/1?", "A/10", true),
            ("*/1?", "A/100", false),
            ("", "A", true),
            (
                "TopologySpreading/5000Nodes_5000Pods",
                "PreferredTopologySpreading/5000Nodes_5000Pods",
                false,
            ),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert_eq!(
            select(&["nothing".to_owned()]).err().as_deref(),
            Some("nothing")
        );
    }

    #[test]
    fn names_are_unique_and_something_is_measured_last() {
        let mut names: Vec<_> = all().map(|workload| workload.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        for workload in all() {
            assert!(
                matches!(workload.steps.last(), Some(Step::Measure(..))),
                "{}",
                workload.name
            );
            assert!(workload.nodes() > 0 && workload.measured() > 0);
        }
    }

    #[test]
    fn a_share_of_a_workload() {
        assert_eq!(Scale(0.01).nodes(5001), 51);
        assert_eq!(Scale(0.01).pods(5099), 50);
        assert_eq!(Scale(0.001).pods(5), 1);
        assert_eq!(Scale(1.0).pods(1_000_000), 1_000_000);
    }
}
