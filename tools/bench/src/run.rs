//! Runs one workload.

use crate::churn::Background;
use crate::drive::Drive;
use crate::machine;
use crate::many_templates::ManyTemplates;
use crate::meter::{Owner, rate};
use crate::objects::{Maker, service};
use crate::one_of_a_kind::OneOfAKind;
use crate::report::Report;
use crate::source::{Alike, Arrival, Pods, namespace_objects, namespaces};
use crate::workloads::{Scale, Source, Step, Where, Workload};
use anyhow::Result;
use std::time::Duration;
use stowplan_base::{Duration as Span, Sym};
use stowplan_engine::fast::Path;
use stowplan_engine::model::Object;

/// Upstream creates all pods of a step at once; here they arrive in bursts of so many.
const BURST: usize = 1000;
/// Pods that preempt arrive in smaller bursts. Each is tried twice, with its victims leaving and at
/// least a second's backoff in between; upstream tries about so many others in that second.
const PREEMPTING_BURST: usize = 100;
/// How long the plain path is sampled.
const SAMPLE: Duration = Duration::from_secs(2);
/// Pods that could not be placed get so much of the virtual clock's time for another try.
const PATIENCE: Span = Span::from_secs(660);

/// Told how much of a workload is done, from 0 to 1.
pub type Progress<'a> = &'a mut dyn FnMut(f64);

/// How a workload is run.
#[derive(Clone, Copy)]
pub struct How {
    /// Of several best nodes, this decides.
    pub seed: u64,
    /// Whether a part is run again on the plain path.
    pub samples_plain: bool,
    /// Whether attempts are recorded, as the live scheduler does.
    pub keeps_records: bool,
}

/// Runs a workload, and, if wanted, a part of it again on the plain path.
pub fn run(workload: &Workload, scale: Scale, how: How, progress: Progress<'_>) -> Result<Report> {
    machine::reset_peak_rss();
    let burst = match workload.preempts() {
        true => PREEMPTING_BURST,
        false => BURST,
    };
    let (mut report, pods) = {
        let mut stage = Stage::set(workload, scale, how.seed)?;
        if how.keeps_records {
            stage.drive.keep_records();
        }
        let pods = scale.pods(workload.measured());
        stage.start(pods);
        stage.measure(pods, burst, None, progress);
        (stage.report(workload, pods), pods)
    };
    // What follows is not the workload's memory.
    report.peak_rss_mib = machine::peak_rss_mib();
    if !how.samples_plain {
        return Ok(report.rounded());
    }
    let mut stage = Stage::set(workload, scale, how.seed)?;
    let half = pods / 2;
    stage.measure(half, burst, None, &mut |_| {});
    stage.drive.scheduler.set_path(Path::Plain);
    stage.start(pods - half);
    stage.measure(pods - half, burst, Some(SAMPLE), &mut |_| {});
    report.set_plain(stage.drive.meter.decisions_per_s());
    Ok(report.rounded())
}

/// A cluster in which everything is ready for the pods to be measured.
struct Stage {
    drive: Drive,
    maker: Maker,
    background: Background,
    pods: Box<dyn Pods>,
    nodes: usize,
}

impl Stage {
    /// Takes all steps of a workload but the last.
    fn set(workload: &Workload, scale: Scale, seed: u64) -> Result<Self> {
        let mut stage = Self {
            drive: Drive::new(seed)?,
            maker: Maker::new(seed),
            background: Background::default(),
            pods: Box::new(Nothing),
            nodes: 0,
        };
        for (i, step) in workload.steps.iter().enumerate() {
            stage.take(i, step, scale);
        }
        stage.nodes = stage.drive.scheduler.cluster().nodes().len();
        Ok(stage)
    }

    fn take(&mut self, i: usize, step: &Step, scale: Scale) {
        match *step {
            Step::Nodes(count, template) => {
                for i in 0..scale.nodes(count) {
                    let cluster = self.drive.scheduler.cluster_mut();
                    let objects = self.maker.node(cluster, &template, i);
                    self.create(objects);
                }
            }
            Step::MixedNodes(count) => {
                for i in 0..scale.nodes(count) {
                    let cluster = self.drive.scheduler.cluster_mut();
                    let objects = self.maker.mixed_node(cluster, i);
                    self.create(objects);
                }
            }
            Step::Service(namespace, label) => {
                let cluster = self.drive.scheduler.cluster_mut();
                let service = service(cluster, namespace, "service-0", label);
                self.create([service]);
            }
            Step::Pods(count, template, place) => {
                let mut pods = self.alike(template, i, place, scale);
                self.place(scale.pods(count), &mut pods);
            }
            Step::Gated(count, template, place) => {
                let mut pods = self.alike(template, i, place, scale);
                for _ in 0..scale.pods(count) {
                    let arrival = pods.next(&mut self.maker, self.drive.scheduler.cluster_mut());
                    self.create([Object::Pod(arrival.pod)]);
                }
            }
            Step::Churn(kind) => {
                let namespace = format!("namespace-{i}");
                self.background
                    .churn(kind, namespace, &mut self.maker, &mut self.drive);
            }
            Step::Delete(namespace) => {
                let pods = self.pods_of(namespace);
                self.background.delete(pods);
            }
            Step::Measure(count, source, place) => {
                self.pods = self.measured_pods(source, scale.pods(count), i, place, scale);
            }
        }
    }

    fn create(&mut self, objects: impl IntoIterator<Item = Object>) {
        for object in objects {
            self.drive.upsert(Owner::Background, object);
        }
    }

    /// Pods of one template in the namespaces of a step, which are created.
    fn alike(
        &mut self,
        template: crate::workloads::PodTemplate,
        step: usize,
        place: Where,
        scale: Scale,
    ) -> Alike {
        let names = namespaces(place, step, scale);
        let cluster = self.drive.scheduler.cluster_mut();
        let objects = namespace_objects(cluster, place, &names);
        let pods = Alike::new(&mut self.maker, cluster, template, &names);
        self.create(objects);
        pods
    }

    /// The pods to be measured; the objects behind them are created.
    fn measured_pods(
        &mut self,
        source: Source,
        count: usize,
        step: usize,
        place: Where,
        scale: Scale,
    ) -> Box<dyn Pods> {
        let namespace = format!("namespace-{step}");
        let (maker, cluster) = (&mut self.maker, self.drive.scheduler.cluster_mut());
        match source {
            Source::Template(template) => Box::new(self.alike(template, step, place, scale)),
            Source::ManyTemplates { shuffled } => {
                let (pods, objects) =
                    ManyTemplates::new(maker, cluster, &namespace, count, shuffled);
                self.create(objects);
                Box::new(pods)
            }
            Source::OneOfAKind => {
                let (pods, objects) = OneOfAKind::new(maker, cluster, &namespace, count);
                self.create(objects);
                Box::new(pods)
            }
        }
    }

    /// Has pods scheduled that are there before.
    fn place(&mut self, count: usize, pods: &mut dyn Pods) {
        for burst in bursts(count, BURST) {
            for _ in 0..burst {
                let arrival = pods.next(&mut self.maker, self.drive.scheduler.cluster_mut());
                self.create(arrival.objects);
                self.create([Object::Pod(arrival.pod)]);
            }
            while self.drive.attempt() {}
        }
    }

    /// The pods of a namespace that are on a node, in the order of creation.
    fn pods_of(&self, namespace: &str) -> Vec<(Sym, Sym)> {
        let cluster = self.drive.scheduler.cluster();
        let nodes = cluster.nodes().iter();
        let mut pods: Vec<_> = nodes
            .flat_map(|node| &node.pods)
            .map(|pod| (pod.namespace, pod.name))
            .filter(|(ns, _)| cluster.names.text(*ns) == namespace)
            .collect();
        pods.sort_unstable();
        pods
    }

    /// From now on everything counts.
    fn start(&mut self, pods: usize) {
        self.drive.start(pods);
        self.background.restart();
    }

    /// Has so many pods scheduled, until the time is over if there is a limit.
    fn measure(
        &mut self,
        count: usize,
        burst_max: usize,
        limit: Option<Duration>,
        progress: Progress<'_>,
    ) {
        let mut arrivals: Vec<Arrival> = Vec::with_capacity(burst_max.min(count));
        let mut done = 0;
        for burst in bursts(count, burst_max) {
            for _ in 0..burst {
                let cluster = self.drive.scheduler.cluster_mut();
                arrivals.push(self.pods.next(&mut self.maker, cluster));
            }
            for Arrival { objects, pod } in arrivals.drain(..) {
                let owner = self.drive.meter.expect(pod.name);
                for object in objects {
                    self.drive.upsert(owner, object);
                }
                self.drive.upsert(owner, Object::Pod(pod));
            }
            while self.step() {
                // After preemptions, pods of the burst are still to come back for their decision.
                if self.drive.evicted == 0 && self.is_over(limit) {
                    return;
                }
            }
            if self.is_over(limit) {
                return;
            }
            done += burst;
            progress(done as f64 / count as f64);
        }
        self.wait_for(count, limit);
    }

    /// One attempt, and what goes on meanwhile.
    fn step(&mut self) -> bool {
        let tried = self.drive.attempt();
        let scheduled = self.drive.meter.scheduled();
        self.background
            .catch_up(scheduled, &mut self.maker, &mut self.drive);
        tried
    }

    fn is_over(&self, limit: Option<Duration>) -> bool {
        limit.is_some_and(|limit| {
            let meter = &self.drive.meter;
            meter.total() >= limit && meter.scheduled() > 0
        })
    }

    /// Gives pods that could not be placed some more time.
    fn wait_for(&mut self, count: usize, limit: Option<Duration>) {
        let mut scheduled = self.drive.meter.scheduled();
        let mut until = self.drive.now() + PATIENCE;
        while scheduled < count && self.drive.now() < until && !self.is_over(limit) {
            if !self.drive.idle() {
                return;
            }
            while self.step() {}
            let now_scheduled = self.drive.meter.scheduled();
            if now_scheduled > scheduled {
                scheduled = now_scheduled;
                until = self.drive.now() + PATIENCE;
            }
        }
    }

    fn report(&self, workload: &Workload, pods: usize) -> Report {
        let meter = &self.drive.meter;
        let [p50, p99] = meter.percentiles([50, 99]).map(|p| p.map(micros));
        let mut report = Report {
            workload: workload.name.to_owned(),
            nodes: self.nodes,
            pods,
            decisions_per_s: meter.decisions_per_s(),
            p50_us: p50,
            p99_us: p99,
            allocs_per_decision: meter.allocations_per_decision(),
            churn_ops: self.background.operations,
            scheduled: meter.scheduled(),
            unschedulable: pods - meter.scheduled(),
            preempted: self.drive.evicted,
            ..Report::default()
        };
        if self.background.creates_pods() {
            let attempts = self.drive.background_attempts;
            report.background_pods = Some(self.background.pods);
            report.background_decisions = Some(attempts);
            report.background_scheduled = Some(self.drive.background_bound);
            report.background_decisions_per_s = rate(attempts, meter.background_time());
        }
        report
    }
}

/// So many pods, in bursts of at most so many.
fn bursts(count: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(most).map(move |at| most.min(count - at))
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

/// Nothing is measured yet.
struct Nothing;

impl Pods for Nothing {
    fn next(&mut self, _: &mut Maker, _: &mut stowplan_engine::Snapshot) -> Arrival {
        unreachable!("the last step says what is measured")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads;
    use std::collections::BTreeMap;

    /// Where every pod is in the end.
    fn placements(workload: &Workload, scale: Scale, path: Path) -> BTreeMap<String, String> {
        let mut stage = Stage::set(workload, scale, 7).expect("the default profile");
        stage.drive.scheduler.set_path(path);
        let pods = scale.pods(workload.measured());
        stage.start(pods);
        stage.measure(pods, BURST, None, &mut |_| {});
        let cluster = stage.drive.scheduler.cluster();
        let text = |name| cluster.names.text(name).to_owned();
        let nodes = cluster.nodes().iter();
        nodes
            .flat_map(|node| node.pods.iter().map(|pod| (pod, node.node.name)))
            .map(|(pod, node)| (pod.key.to_string(), text(node)))
            .collect()
    }

    #[test]
    fn both_paths_place_every_pod_on_the_same_node() {
        for workload in workloads::all() {
            let share = 100.0 / workload.nodes() as f64;
            let scale = Scale(share.min(0.02));
            let fast = placements(workload, scale, Path::Fast);
            assert!(!fast.is_empty());
            assert_eq!(
                fast,
                placements(workload, scale, Path::Plain),
                "{}",
                workload.name
            );
        }
    }
}
