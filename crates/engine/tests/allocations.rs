//! What is allocated: nothing by a warm decision, and by classes about as much as they say. In a
//! process of its own and on one thread, because it counts every allocation.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::sync::Arc;
use stowplan_base::{Quantity, Rng, Sym, Time, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::fast::Classes;
use stowplan_engine::framework::{Cx, Outcome, Underway};
use stowplan_engine::model::{
    AffinityTerm, Kind, Labels, Node, NodeAffinity, Object, Pod, PodAffinity, PodKey, PodRequests,
    Requirement, ResourceId, ResourceList, Resources, Selector, SpreadConstraint,
    UnsatisfiableAction, WeightedAffinityTerm,
};
use stowplan_engine::plugins::registry::default_framework;
use stowplan_engine::queue::{Profiles, QueueConfig};
use stowplan_engine::scheduler::{Change, Effect, Scheduler};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations() -> usize {
    let stats = GLOBAL.stats();
    stats.allocations + stats.reallocations
}

/// Few enough that the log of changes is as long as it gets before anything is counted.
const NODES: usize = 32;
const NOW: Time = Time::from_secs(1_000_000);

/// A scheduler, and who plays the API server to it.
struct World {
    scheduler: Scheduler,
    rng: Rng,
    /// Handed to and fro with the scheduler.
    effects: Vec<Effect>,
    made: usize,
}

impl World {
    fn new() -> Self {
        Self::of(NODES)
    }

    fn of(nodes: usize) -> Self {
        let mut cluster = Snapshot::new();
        let profiles = Profiles::new(vec![default_framework()], &mut cluster.names);
        let mut world = Self {
            scheduler: Scheduler::new(cluster, profiles, QueueConfig::default(), NOW),
            rng: Rng::new(1),
            effects: Vec::new(),
            made: 0,
        };
        // Who wants to know the best nodes gets them for no allocation either.
        world.scheduler.note_top_nodes();
        for i in 0..nodes {
            let node = world.node(i);
            world.apply(Object::Node(Arc::new(node)));
        }
        world
    }

    fn sym(&mut self, text: &str) -> Sym {
        self.scheduler.cluster_mut().names.intern(text)
    }

    fn apply(&mut self, object: Object) {
        self.scheduler.apply(Change::Upsert(object), NOW);
    }

    fn columns(&mut self, list: &ResourceList) -> Resources {
        let Snapshot {
            names,
            resource_names,
            ..
        } = self.scheduler.cluster_mut();
        resource_names.resources(list, names)
    }

    fn node(&mut self, i: usize) -> Node {
        let name = self.sym(&format!("node-{i}"));
        let zone = self.sym(["a", "b", "c"][i % 3]);
        let allocatable_list = ResourceList::new([
            (sym::CPU, Quantity::from_units(16)),
            (sym::MEMORY, Quantity::from_units(32 << 30)),
            (sym::PODS, Quantity::from_units(1000)),
        ]);
        Node {
            name,
            uid: "".into(),
            labels: Labels::new([(sym::HOSTNAME, name), (sym::ZONE, zone)]),
            annotations: Labels::default(),
            unschedulable: false,
            taints: Box::default(),
            allocatable: self.columns(&allocatable_list),
            allocatable_list,
            conditions: Box::default(),
            images: Box::default(),
            declared_features: Box::default(),
        }
    }

    fn pod(&mut self, template: Template) -> Pod {
        self.made += 1;
        let text = format!("pod-{}", self.made);
        let list = ResourceList::new([
            (sym::CPU, Quantity::from_millis(100)),
            (sym::MEMORY, Quantity::from_units(200 << 20)),
        ]);
        let app = Requirement::equals(self.sym("app"), self.sym("web"));
        let mut pod = Pod {
            key: PodKey {
                namespace: "ns".into(),
                name: text.as_str().into(),
            },
            namespace: self.sym("ns"),
            name: self.sym(&text),
            uid: text.into(),
            resource_version: "".into(),
            labels: Labels::new([(app.key, app.values[0])]),
            controller: None,
            terminating: false,
            node_name: None,
            nominated_node_name: None,
            scheduler_name: sym::DEFAULT_SCHEDULER,
            priority: 0,
            never_preempts: false,
            start_time: None,
            preempted_by_scheduler: false,
            finished: false,
            scheduling_gates: Box::default(),
            tolerations: Box::default(),
            node_selector: Labels::default(),
            node_affinity: NodeAffinity::default(),
            pod_affinity: None,
            pod_anti_affinity: None,
            affinity_error: None,
            spread_constraints: Box::default(),
            host_ports: Box::default(),
            requests: PodRequests {
                total_columns: self.columns(&list),
                spec_columns: self.columns(&list),
                total: list.clone(),
                spec: list.clone(),
                scoring: list,
                non_zero_cpu_milli: 100,
                non_zero_memory: 200 << 20,
            },
            images: Box::default(),
            container_count: 1,
            volumes: Box::default(),
            resource_claims: Box::default(),
            extended_resource_claim: None,
            claim_statuses: Box::default(),
            required_features: Box::default(),
        };
        template(&mut pod, Selector::All([app].into()));
        pod
    }

    /// Takes a pod in, decides it and takes its binding in; returns how often that allocated,
    /// from the pop to the assumed pod, and in all.
    fn decide(&mut self, pod: &Arc<Pod>, echo: impl FnOnce(Sym) -> Arc<Pod>) -> [usize; 2] {
        let before = allocations();
        self.apply(Object::Pod(pod.clone()));
        let popped = allocations();
        let tried = self.scheduler.schedule_one(NOW, &mut self.rng);
        assert!(tried.is_some_and(|tried| Arc::ptr_eq(&tried, pod)));
        let assumed = allocations();
        self.scheduler.swap_effects(&mut self.effects);
        let [Effect::Request(request)] = &self.effects[..] else {
            panic!("the pod is not bound: {:?}", self.effects);
        };
        let ticket = request.ticket;
        let (_, node) = self.effects[0].as_bind().expect("a binding");
        let bound = echo(node);
        let echoed = allocations();
        self.apply(Object::Pod(bound));
        let done = Outcome::Done(None);
        self.scheduler.answer(&pod.uid, ticket, done, NOW);
        let all = allocations() - echoed + assumed - before;
        // What is told of the binding is for others.
        self.effects.clear();
        self.scheduler.swap_effects(&mut self.effects);
        self.effects.clear();
        [assumed - popped, all]
    }

    fn place(&mut self, template: Template) -> Arc<Pod> {
        let pod = Arc::new(self.pod(template));
        self.decide(&pod, |node| on_node(&pod, node));
        pod
    }

    fn delete(&mut self, pod: &Pod) {
        let gone = Change::Delete {
            kind: Kind::Pod,
            namespace: pod.namespace,
            name: pod.name,
        };
        self.scheduler.apply(gone, NOW);
    }
}

fn on_node(pod: &Pod, node: Sym) -> Arc<Pod> {
    Arc::new(Pod {
        node_name: Some(node),
        ..pod.clone()
    })
}

/// What sets a pod apart; it is told the selector of its like.
type Template = fn(&mut Pod, Selector);

fn basic(_pod: &mut Pod, _own: Selector) {}

fn spread(pod: &mut Pod, own: Selector) {
    let constraint = |topology_key, when_unsatisfiable| SpreadConstraint {
        max_skew: 5,
        topology_key,
        when_unsatisfiable,
        selector: own.clone(),
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    };
    pod.spread_constraints = [
        constraint(sym::ZONE, UnsatisfiableAction::DoNotSchedule),
        constraint(sym::ZONE, UnsatisfiableAction::ScheduleAnyway),
        constraint(sym::HOSTNAME, UnsatisfiableAction::ScheduleAnyway),
    ]
    .into();
}

fn apart(pod: &mut Pod, own: Selector) {
    let term = AffinityTerm {
        namespaces: [pod.namespace].into(),
        namespace_selector: Selector::Nothing,
        selector: own,
        topology_key: sym::ZONE,
    };
    pod.pod_anti_affinity = Some(PodAffinity {
        preferred: [WeightedAffinityTerm { weight: 10, term }].into(),
        ..PodAffinity::default()
    });
}

/// Sixteen fill a node.
fn large(pod: &mut Pod, _own: Selector) {
    let requests = &mut pod.requests;
    let list = ResourceList::new([
        (sym::CPU, Quantity::from_units(1)),
        (sym::MEMORY, Quantity::from_units(200 << 20)),
    ]);
    for columns in [&mut requests.total_columns, &mut requests.spec_columns] {
        columns.set(ResourceId::CPU, 1000);
    }
    requests.non_zero_cpu_milli = 1000;
    requests.total = list.clone();
    requests.spec = list.clone();
    requests.scoring = list;
}

fn one_per_node(pod: &mut Pod, own: Selector) {
    let term = AffinityTerm {
        namespaces: [pod.namespace].into(),
        namespace_selector: Selector::Nothing,
        selector: own,
        topology_key: sym::HOSTNAME,
    };
    pod.pod_anti_affinity = Some(PodAffinity {
        required: [term].into(),
        ..PodAffinity::default()
    });
}

/// Hard, by hostname: a domain for each node.
fn hard_spread(pod: &mut Pod, own: Selector) {
    spread(pod, own);
    for constraint in &mut pod.spread_constraints {
        constraint.topology_key = sym::HOSTNAME;
        constraint.when_unsatisfiable = UnsatisfiableAction::DoNotSchedule;
    }
}

fn classes_know_how_large_they_are() {
    let held = || GLOBAL.stats().bytes_allocated - GLOBAL.stats().bytes_deallocated;
    for (name, template) in [
        ("basic", basic as Template),
        ("spread", spread),
        ("hard spread", hard_spread),
        ("apart", apart),
        ("one per node", one_per_node),
    ] {
        let mut world = World::of(1000);
        for _ in 0..300 {
            world.place(template);
        }
        let underway = Underway::default();
        let framework = default_framework();
        let mut classes = Classes::default();
        let mut pods: Vec<Pod> = (0..101).map(|_| world.pod(template)).collect();
        let cx = Cx {
            cluster: world.scheduler.cluster(),
            underway: &underway,
        };
        // What is no class's own is there after the first.
        let mut before = (0, 0);
        for (pod, priority) in pods.iter_mut().zip(0..) {
            pod.priority = priority;
            classes.decide(&framework, cx, pod);
            if priority == 0 {
                before = (held(), classes.bytes());
            }
        }
        let (real, counted) = (held() - before.0, classes.bytes() - before.1);
        assert_eq!(classes.len(), 101);
        let share = counted as f64 / real as f64;
        assert!(
            (0.7..1.4).contains(&share),
            "{name:?}: {counted} bytes are counted, {real} are held"
        );
    }
}

fn a_warm_decision_allocates_nothing() {
    // Most nodes see their first such pod.
    let mut world = World::of(400);
    let pods: Vec<_> = (0..200).map(|_| world.place(one_per_node)).collect();
    for pod in &pods[..150] {
        world.delete(pod);
    }
    for i in 0..100 {
        let pod = Arc::new(world.pod(one_per_node));
        let counted = world.decide(&pod, |node| on_node(&pod, node));
        if i > 5 {
            let what = "of pods that want a node of their own";
            assert_eq!(counted, [0, 0], "decision {i} {what}");
        }
    }
    for (name, template) in [
        ("basic", basic as Template),
        ("spread", spread),
        ("apart", apart),
    ] {
        let mut world = World::new();
        let pods: Vec<_> = (0..1000).map(|_| world.place(template)).collect();
        // Makes room for as many as come now, in everything that grows.
        for pod in &pods[..800] {
            world.delete(pod);
        }
        for _ in 0..50 {
            world.place(template);
        }
        for i in 0..200 {
            let pod = Arc::new(world.pod(template));
            let counted = world.decide(&pod, |node| on_node(&pod, node));
            assert_eq!(counted, [0, 0], "decision {i} of the pods {name:?}");
        }
    }
    let mut world = World::new();
    let mut pods: Vec<_> = (0..16 * NODES).map(|_| world.place(large)).collect();
    for i in 0..400 {
        // There is room for one more, where this one was: then that node is full again.
        world.delete(&pods[i]);
        let pod = Arc::new(world.pod(large));
        let counted = world.decide(&pod, |node| on_node(&pod, node));
        pods.push(pod);
        if i >= 100 {
            assert_eq!(counted, [0, 0], "decision {i} of pods that fill nodes");
        }
    }
}

fn main() {
    classes_know_how_large_they_are();
    a_warm_decision_allocates_nothing();
    println!("2 passed, 0 failed");
}
