mod nodes;
mod pods;
mod update;

use super::revisions::HASH_LABEL;
use super::*;
use crate::Failure;
use crate::common::label;
use crate::history;
use crate::testing::World;
use serde_json::{Value, json};
use std::time::Duration;

/// A world with so many nodes and a daemon `agent`.
struct Case {
    world: World,
    sets: DaemonSets,
}

impl Case {
    fn new(nodes: usize, more: Value) -> Self {
        let mut world = World::default();
        let sets = DaemonSets::default();
        world.join(0, &sets);
        let mut case = Self { world, sets };
        for number in 0..nodes {
            case.add_node(&format!("n{number}"), json!({}));
        }
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": "one"}]},
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        });
        for (field, value) in more.as_object().expect("fields") {
            spec[field] = value.clone();
        }
        let metadata = json!({"name": "agent", "namespace": "shop", "generation": 1});
        let set = json!({"metadata": metadata, "spec": spec});
        case.world.add_json::<DaemonSet>(set);
        case
    }

    fn add_node(&mut self, name: &str, spec: Value) {
        let metadata = json!({"name": name, "labels": {"name": name}});
        self.world
            .add_json::<Node>(json!({"metadata": metadata, "spec": spec}));
    }

    fn taint(&mut self, node: &str, effect: &str) {
        let taints = json!({"taints": [{"key": "gpu", "effect": effect}]});
        self.add_node(node, if effect.is_empty() { json!({}) } else { taints });
    }

    fn settle(&mut self) {
        self.settle_for(0);
    }

    fn settle_for(&mut self, seconds: u64) {
        self.world
            .settle(&[&self.sets], Duration::from_secs(seconds));
    }

    fn change(&mut self, change: impl FnOnce(&mut Value)) {
        let set = self.world.get::<DaemonSet>("shop", "agent");
        let mut value = serde_json::to_value(&*set).unwrap();
        change(&mut value["spec"]);
        value["metadata"]["generation"] = json!(set.metadata.generation.unwrap_or(1) + 1);
        self.world.add_json::<DaemonSet>(value);
    }

    fn set_image(&mut self, image: &str) {
        self.change(|spec| spec["template"]["spec"]["containers"][0]["image"] = json!(image));
    }

    fn set_rolling(&mut self, unavailable: Value, surge: Value) {
        self.change(|spec| {
            spec["updateStrategy"]["rollingUpdate"] =
                json!({"maxUnavailable": unavailable, "maxSurge": surge});
        });
    }

    /// The scheduler and the node do their part.
    fn set_state(&mut self, pod: &str, phase: &str, ready: bool) {
        let since = self.world.now;
        self.world.change::<Pod>("shop", pod, |pod| {
            let node = target_node(pod).map(str::to_owned);
            pod.spec.get_or_insert_default().node_name = node;
            let status = if ready { "True" } else { "False" };
            let status = json!({"phase": phase, "conditions": [{
                "type": "Ready", "status": status, "lastTransitionTime": since,
            }]});
            pod.status = Some(serde_json::from_value(status).expect("a status"));
        });
    }

    fn run(&mut self, pod: &str) {
        self.set_state(pod, "Running", true);
    }

    /// All pods that are there run, and those that are deleted go away, once.
    fn turn(&mut self) -> bool {
        let mut is_changed = false;
        for pod in self.world.cluster.all::<Pod>() {
            if is_deleting(&*pod) {
                self.world.remove::<Pod>("shop", name(&*pod));
            } else if !crate::common::is_pod_ready(&pod) {
                self.run(name(&*pod));
            } else {
                continue;
            }
            is_changed = true;
        }
        is_changed
    }

    /// The same until nothing changes.
    fn live(&mut self) {
        for _ in 0..200 {
            self.settle();
            if !self.turn() {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// `node image` of all pods that are not deleted, and how many are.
    fn pods(&self) -> (Vec<String>, usize) {
        let all = self.world.cluster.all::<Pod>();
        let (going, staying): (Vec<_>, Vec<_>) = all.iter().partition(|pod| is_deleting(&***pod));
        let mut of: Vec<String> = staying.iter().map(|pod| describe(pod)).collect();
        of.sort();
        (of, going.len())
    }

    fn nodes(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .world
            .cluster
            .all::<Pod>()
            .iter()
            .map(|pod| target(pod))
            .collect();
        all.sort();
        all
    }

    fn pod_on(&self, node: &str) -> String {
        let all = self.world.cluster.all::<Pod>();
        let pod = all
            .iter()
            .find(|pod| target(pod) == node && !is_deleting(&***pod));
        name(&**pod.expect("a pod")).to_owned()
    }

    /// desired, current, ready, available, unavailable, updated, misscheduled.
    fn counts(&self) -> [i32; 7] {
        let set = self.world.get::<DaemonSet>("shop", "agent");
        let status = set.status.clone().unwrap_or_default();
        [
            status.desired_number_scheduled,
            status.current_number_scheduled,
            status.number_ready,
            status.number_available.unwrap_or(0),
            status.number_unavailable.unwrap_or(0),
            status.updated_number_scheduled.unwrap_or(0),
            status.number_misscheduled,
        ]
    }

    fn revisions(&self) -> Vec<Arc<ControllerRevision>> {
        let mut all = self.world.cluster.all::<ControllerRevision>();
        history::sort(&mut all);
        all
    }
}

fn target(pod: &Pod) -> String {
    target_node(pod).unwrap_or_default().to_owned()
}

fn describe(pod: &Pod) -> String {
    let image = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.containers.first()?.image.clone());
    format!("{} {}", target(pod), image.unwrap_or_default())
}

fn failing(code: u16) -> Failure {
    Failure {
        code,
        message: "no".to_owned(),
        ..Failure::default()
    }
}

/// Whatever write fails, and however, all comes to the same end.
#[test]
fn a_failure_in_the_middle_changes_nothing_in_the_end() {
    for surge in [0, 1] {
        for failing_at in 0..30 {
            let code = if failing_at % 2 == 0 { 500 } else { 0 };
            let mut case = Case::new(3, json!({}));
            case.set_rolling(json!(1 - surge), json!(surge));
            let mut count = 0;
            case.world.refuse(move |_| {
                count += 1;
                (count == failing_at).then(|| failing(code))
            });
            let pass = |case: &mut Case| {
                for _ in 0..4 {
                    case.live();
                    case.settle_for(60);
                }
            };
            pass(&mut case);
            case.set_image("two");
            pass(&mut case);
            assert_eq!(
                case.pods(),
                (
                    ["n0 two", "n1 two", "n2 two"].map(str::to_owned).to_vec(),
                    0
                )
            );
            assert_eq!(case.counts(), [3, 3, 3, 3, 0, 3, 0]);
            let numbers: Vec<_> = case.revisions().iter().map(|of| of.revision).collect();
            assert_eq!(numbers, [1, 2]);
        }
    }
}
