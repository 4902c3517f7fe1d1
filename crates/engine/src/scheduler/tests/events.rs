//! Which event a change is.

use super::Rig;
use crate::framework::Framework;
use crate::model::{Effect, Kind, Object, Pod, Taint};
use crate::plugins::registry::default_framework;
use crate::testing::World;
use std::sync::Arc;

fn taint(world: &mut World, key: &str) -> Taint {
    Taint {
        key: world.sym(key),
        value: world.sym(""),
        effect: Effect::NoSchedule,
    }
}

#[test]
fn semantic_09_a_node_update_becomes_up_to_seven_events_in_order() {
    let mut rig = Rig::new();
    rig.node("n", |_, node| node.unschedulable = true);
    let all = rig.events(|rig| {
        rig.node("n", |world, node| {
            node.unschedulable = false;
            world.set_allocatable(node, &[("cpu", "8")]);
            node.labels = world.labels(&[("zone", "a")]);
            node.taints = [taint(world, "t")].into();
            node.conditions = [(world.sym("Ready"), world.sym("True"))].into();
            node.annotations = world.labels(&[("a", "b")]);
            node.declared_features = [world.sym("F")].into();
        });
    });
    assert_eq!(
        all,
        [
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeAllocatable",
            "NodeUpdateNodeLabel",
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeCondition",
            "NodeUpdateNodeAnnotation",
            "NodeUpdateNodeDeclaredFeature",
        ]
    );
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    let cordon = rig.events(|rig| rig.node("n", |_, node| node.unschedulable = true));
    assert!(cordon.is_empty());
}

#[test]
fn semantic_09_conditions_and_annotations_interest_nobody() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.popped("p", |_, _| {});
    rig.node("n", |world, node| {
        node.annotations = world.labels(&[("a", "b")]);
        node.conditions = [(world.sym("Ready"), world.sym("True"))].into();
    });
    assert_eq!(rig.in_flight(), ["pod p"], "ignored, so not remembered");
}

#[test]
fn semantic_10_any_taint_change_wakes_pods_of_plugins_without_a_taint_hint() {
    let woken = [
        "NodeResourcesFit",
        "NodeAffinity",
        "NodePorts",
        "NodeName",
        "InterPodAffinity",
        "VolumeBinding",
    ];
    for plugin in woken {
        let mut rig = Rig::new();
        rig.node("n", |_, _| {});
        rig.unschedulable("p", &[plugin], |_, _| {});
        rig.node("n", |world, node| node.taints = [taint(world, "t")].into());
        assert_eq!(rig.place("p"), "backoff", "{plugin}");
    }
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.unschedulable("p", &["TaintToleration"], |_, _| {});
    rig.node("n", |world, node| node.taints = [taint(world, "t")].into());
    assert_eq!(rig.place("p"), "unschedulable", "it has a hint of its own");
}

#[test]
fn semantic_11_a_pod_update_is_as_specific_as_possible() {
    let everything = |world: &mut World, pod: &mut Pod| {
        pod.labels = world.labels(&[("a", "b")]);
        world.set_requests(pod, &[("cpu", "1")]);
        pod.scheduling_gates = Box::default();
        pod.tolerations = [crate::model::Toleration {
            key: world.sym("t"),
            op: crate::model::TolerationOp::Exists,
            value: world.sym(""),
            effect: None,
        }]
        .into();
        pod.claim_statuses = "claim".into();
    };
    let prepare = |world: &mut World, pod: &mut Pod| {
        world.set_requests(pod, &[("cpu", "2")]);
        pod.scheduling_gates = [world.sym("g")].into();
    };
    let names = [
        "UpdatePodLabel",
        "UpdatePodScaleDown",
        "UpdatePodSchedulingGatesEliminated",
        "UpdatePodToleration",
        "UpdatePodGeneratedResourceClaim",
    ];
    let mut rig = Rig::new();
    rig.create("p", prepare);
    let pending = rig.events(|rig| rig.update("p", everything));
    assert_eq!(pending, names.map(|name| format!("UnschedulablePod{name}")));
    rig.assigned("run", "n", prepare);
    let assigned = rig.events(|rig| rig.update("run", everything));
    assert_eq!(assigned, names.map(|name| format!("AssignedPod{name}")));
}

#[test]
fn semantic_11_everything_else_is_a_plain_update() {
    let mut rig = Rig::new();
    rig.create("p", |world, pod| {
        world.set_requests(pod, &[("cpu", "1")]);
        pod.scheduling_gates = [world.sym("g"), world.sym("h")].into();
    });
    let plain = ["UnschedulablePodUpdate"];
    let deleting = rig.events(|rig| rig.update("p", |_, pod| pod.terminating = true));
    assert_eq!(deleting, plain);
    let scaling = rig.events(|rig| {
        rig.update("p", |world, pod| world.set_requests(pod, &[("cpu", "2")]));
    });
    assert_eq!(scaling, plain, "up, not down");
    let ungating = rig.events(|rig| {
        rig.update("p", |world, pod| {
            pod.scheduling_gates = [world.sym("h")].into()
        });
    });
    assert_eq!(ungating, plain, "only one of two gates");
    // It interests NodeDeclaredFeatures alone, which says Skip.
    let mut rig = Rig::new();
    rig.unschedulable("p", &["NodeDeclaredFeatures", "NodeName"], |_, _| {});
    rig.update("p", |_, pod| pod.terminating = true);
    assert_eq!(rig.place("p"), "unschedulable");
}

#[test]
fn semantic_12_scale_down_compares_what_the_pod_takes_up() {
    let mut rig = Rig::new();
    rig.assigned("run", "n", |world, pod| {
        world.set_requests(pod, &[("cpu", "2")])
    });
    // The spec is lowered, but the kubelet has not acted: `total` is still the maximum.
    let asked = rig.events(|rig| {
        rig.update("run", |world, pod| {
            let total = pod.requests.clone();
            world.set_requests(pod, &[("cpu", "1")]);
            pod.requests.total = total.total;
        });
    });
    assert_eq!(asked, ["AssignedPodUpdate"]);
    let acted = rig.events(|rig| {
        rig.update("run", |world, pod| world.set_requests(pod, &[("cpu", "1")]));
    });
    assert_eq!(acted, ["AssignedPodUpdatePodScaleDown"]);
    let removed = rig.events(|rig| {
        rig.update("run", |world, pod| world.set_requests(pod, &[]));
    });
    assert_eq!(removed, ["AssignedPodUpdatePodScaleDown"]);
}

#[test]
fn semantic_13_only_assigned_pods_are_events_for_others() {
    let mut rig = Rig::new();
    assert!(rig.events(|rig| rig.pending("p")).is_empty());
    assert!(rig.events(|rig| rig.delete_pod("p")).is_empty());
    let added = rig.events(|rig| rig.assigned("run", "n", |_, _| {}));
    assert_eq!(added, ["AssignedPodAdd"]);
    // All pods of the pool are asked, whatever their terms.
    rig.unschedulable("p", &["NodePorts"], |_, _| {});
    rig.scheduler.queue.start_trace();
    rig.delete_pod("run");
    let trace = rig.scheduler.queue.take_trace().expect("started");
    assert_eq!(trace.hints.len(), 1);
    assert_eq!(trace.hints[0].plugin, "NodePorts");
}

#[test]
fn semantic_14_deletions_exist_for_pods_nodes_and_volume_attachments_only() {
    let mut rig = Rig::new();
    let objects = rig.build(|world| {
        vec![
            Object::PersistentVolume(Arc::new(world.volume("o", "c"))),
            Object::PersistentVolumeClaim(Arc::new(world.claim("default/o", "c"))),
            Object::StorageClass(Arc::new(world.class("o", "p", false))),
            Object::CSINode(Arc::new(world.csi_node("o", &[]))),
            Object::CSIDriver(Arc::new(world.csi_driver("o", false))),
            Object::CSIStorageCapacity(Arc::new(world.capacity("o", "c", "z", 1))),
            Object::VolumeAttachment(Arc::new(world.attachment("a", "n", "v"))),
        ]
    });
    let created = rig.events(|rig| objects.iter().for_each(|o| rig.upsert(o.clone())));
    assert_eq!(
        created,
        [
            "PersistentVolumeAdd",
            "PersistentVolumeClaimAdd",
            "storage.k8s.io/StorageClassAdd",
            "storage.k8s.io/CSINodeAdd",
            "storage.k8s.io/CSIStorageCapacityAdd",
        ],
        "drivers and attachments only when they change and go"
    );
    let deleted = rig.events(|rig| {
        for object in &objects {
            let (namespace, name) = object.key();
            let change = super::Change::Delete {
                kind: object.kind(),
                namespace,
                name,
            };
            rig.scheduler.apply(change, rig.now);
        }
        rig.delete(Kind::Namespace, "", "default");
    });
    assert_eq!(deleted, ["storage.k8s.io/VolumeAttachmentDelete"]);
}

#[test]
fn semantic_15_node_delete_interests_pod_topology_spread_only() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.unschedulable("spread", &["PodTopologySpread"], |_, _| {});
    rig.unschedulable("fit", &["NodeResourcesFit", "NodeAffinity"], |_, _| {});
    rig.scheduler.queue.start_trace();
    rig.delete(Kind::Node, "", "n");
    let trace = rig.scheduler.queue.take_trace().expect("started");
    let asked: Vec<_> = trace.hints.iter().map(|hint| hint.plugin).collect();
    assert_eq!(asked, ["PodTopologySpread"]);
    assert_eq!(rig.place("fit"), "unschedulable");
}

#[test]
fn semantic_16_a_dropped_nomination_is_a_deletion_for_pods_of_lower_or_equal_priority() {
    let setup = || {
        let mut rig = Rig::new();
        rig.node("n", |_, _| {});
        for (name, priority) in [("low", 1), ("equal", 5), ("high", 9)] {
            rig.unschedulable(name, &["NodeResourcesFit"], |_, pod| {
                pod.priority = priority
            });
        }
        rig.popped("flying", |_, _| {});
        rig.create("promised", |world, pod| {
            pod.priority = 5;
            pod.nominated_node_name = Some(world.sym("n"));
        });
        rig
    };
    let check = |mut rig: Rig| {
        assert_eq!(rig.place("low"), "backoff");
        assert_eq!(rig.place("equal"), "backoff");
        assert_eq!(rig.place("high"), "unschedulable");
        let remembered = rig.in_flight();
        assert!(
            remembered.contains(&"AssignedPodDelete".to_owned()),
            "for all in flight"
        );
    };
    let mut rig = setup();
    rig.delete_pod("promised");
    check(rig);
    let mut rig = setup();
    rig.update("promised", |_, pod| pod.nominated_node_name = None);
    check(rig);
    let mut rig = setup();
    rig.update("promised", |world, pod| {
        pod.nominated_node_name = Some(world.sym("m"))
    });
    check(rig);
}

#[test]
fn semantic_17_pods_without_a_profile_never_enter_the_queue() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.create("other", |world, pod| {
        pod.scheduler_name = world.sym("other")
    });
    assert_eq!(rig.place("other"), "nowhere");
    rig.unschedulable("p", &["NodeResourcesFit"], |_, _| {});
    let bound = rig.events(|rig| {
        rig.update("other", |world, pod| pod.node_name = Some(world.sym("n")));
    });
    assert_eq!(bound, ["AssignedPodAdd"]);
    let node = rig.sym("n");
    let info = rig.scheduler.cluster.node(node).expect("the node is there");
    assert_eq!(info.pods.len(), 1);
    rig.delete_pod("other");
    assert_eq!(rig.place("p"), "backoff");
}

#[test]
fn several_profiles_share_one_queue() {
    let mut batch: Framework = default_framework();
    batch.profile_name = "batch".to_owned();
    let mut rig = Rig::with_profiles(vec![default_framework(), batch]);
    rig.create("b", |world, pod| pod.scheduler_name = world.sym("batch"));
    rig.pending("a");
    assert_eq!(rig.place("b"), "active");
    assert_eq!(rig.pop().as_deref(), Some("b"));
}

#[test]
fn another_uid_is_another_pod() {
    let mut rig = Rig::new();
    rig.at(1_000).pending("p");
    rig.at(2_000).update("p", |_, pod| pod.uid = "new".into());
    assert_eq!(rig.queued("p").timestamp.as_millis(), 2_000);
    assert_eq!(rig.incoming("active/UnschedulablePodAdd"), 2);
}

#[test]
fn a_finished_pod_is_gone() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.assigned("run", "n", |_, _| {});
    let events = rig.events(|rig| rig.update("run", |_, pod| pod.finished = true));
    assert_eq!(events, ["AssignedPodDelete"]);
    rig.pending("p");
    rig.update("p", |_, pod| pod.finished = true);
    assert_eq!(rig.place("p"), "nowhere");
}
