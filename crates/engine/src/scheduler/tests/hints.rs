//! What plugins say to events.

use super::Rig;
use crate::framework::Nomination;
use crate::model::{
    AffinityTerm, ClaimReservation, Kind, Labels, Object, Pod, PodAffinity, PodClaim,
    PodClaimSource, ResourceClaim, Selector, SpreadConstraint, UnsatisfiableAction,
};
use crate::testing::World;
use std::sync::Arc;

#[test]
fn semantic_18_only_rejecting_plugins_are_asked_and_one_queue_is_enough() {
    let mut rig = Rig::new();
    rig.unschedulable("p", &["NodeAffinity", "NodeName"], |world, pod| {
        pod.node_selector = world.labels(&[("disk", "ssd")]);
    });
    rig.scheduler.queue.start_trace();
    rig.node("n", |_, _| {});
    let trace = rig.scheduler.queue.take_trace().expect("started");
    let asked: Vec<_> = trace.hints.iter().map(|hint| hint.plugin).collect();
    assert!(
        asked
            .iter()
            .all(|plugin| ["NodeAffinity", "NodeName"].contains(plugin))
    );
    assert_eq!(rig.place("p"), "backoff", "NodeName says Queue");

    let mut rig = Rig::new();
    rig.unschedulable("p", &["NodeAffinity"], |world, pod| {
        pod.node_selector = world.labels(&[("disk", "ssd")]);
    });
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "unschedulable", "nobody else is asked");
}

#[test]
fn semantic_18_queue_from_a_pending_plugin_skips_backoff() {
    let mut rig = Rig::new();
    rig.popped("p", |_, _| {});
    rig.leave_pending("p", &["NodeName"]);
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "active");

    // The other plugin's answer decides nothing as long as the pending one has not spoken.
    let mut rig = Rig::new();
    rig.popped("p", |world, pod| {
        pod.node_selector = world.labels(&[("disk", "ssd")]);
    });
    let failure = rig.rejected(&["NodeName"], &["NodeAffinity"]);
    rig.fail("p", failure, Nomination::Keep);
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff");
}

#[test]
fn semantic_18_an_error_counts_as_queue() {
    let mut rig = Rig::new();
    rig.unschedulable("p", &["NodeAffinity"], |world, pod| {
        let mut term = world.node_selector("disk", "ssd").terms[0].clone();
        term.error = Some("bad operator".into());
        pod.node_affinity.required = Some(crate::model::NodeSelector {
            terms: [term].into(),
        });
    });
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff");
}

fn cpu(amount: &'static str) -> impl Fn(&mut World, &mut Pod) {
    move |world, pod| world.set_requests(pod, &[("cpu", amount)])
}

#[test]
fn semantic_19_fit_asks_for_room_on_the_empty_node_and_for_an_increase() {
    let fit: &[&str] = &["NodeResourcesFit"];
    let mut rig = Rig::new();
    rig.unschedulable("p", fit, cpu("6"));
    rig.node("small", |_, _| {});
    assert_eq!(rig.place("p"), "unschedulable");
    // More memory does not help, more cpu that is not enough does not either.
    rig.node("small", |world, node| {
        world.set_allocatable(node, &[("cpu", "4"), ("memory", "16Gi")]);
    });
    rig.node("small", |world, node| {
        world.set_allocatable(node, &[("cpu", "5"), ("memory", "16Gi")]);
    });
    assert_eq!(rig.place("p"), "unschedulable");
    rig.node("small", |world, node| {
        world.set_allocatable(node, &[("cpu", "6"), ("memory", "16Gi")]);
    });
    assert_eq!(rig.place("p"), "backoff");

    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.unschedulable("p", fit, cpu("1"));
    rig.node("n", |world, node| {
        world.set_allocatable(node, &[("cpu", "4"), ("memory", "8Gi"), ("pods", "200")]);
    });
    assert_eq!(rig.place("p"), "backoff", "room for more pods always helps");
}

#[test]
fn semantic_19_any_deleted_assigned_pod_is_queue_for_fit() {
    let mut rig = Rig::new();
    rig.assigned("run", "n", |_, _| {});
    rig.unschedulable("p", &["NodeResourcesFit"], cpu("6"));
    rig.delete_pod("run");
    assert_eq!(rig.place("p"), "backoff");
}

fn affinity(
    namespaces: &'static [&'static str],
    selector: Option<Selector>,
) -> impl FnOnce(&mut World, &mut Pod) {
    move |world, pod| {
        let term = AffinityTerm {
            namespaces: namespaces.iter().map(|name| world.sym(name)).collect(),
            namespace_selector: selector.unwrap_or(Selector::Nothing),
            selector: world.selector(&[("app", "db")]),
            topology_key: world.sym("kubernetes.io/hostname"),
        };
        pod.pod_affinity = Some(PodAffinity {
            required: [term].into(),
            preferred: Box::default(),
        });
    }
}

fn db(world: &mut World, pod: &mut Pod) {
    pod.labels = world.labels(&[("app", "db")]);
}

#[test]
fn semantic_20_inter_pod_affinity_hints_know_no_namespace_labels() {
    let woken_by_db = |selector: fn(&mut World) -> Option<Selector>, namespaces| {
        let mut rig = Rig::new();
        rig.build(|world| world.add_namespace("default", &[("team", "a")]));
        let selector = rig.build(selector);
        rig.unschedulable("p", &["InterPodAffinity"], affinity(namespaces, selector));
        rig.assigned("run", "n", db);
        rig.place("p") == "backoff"
    };
    assert!(woken_by_db(|_| None, &["default"]));
    assert!(!woken_by_db(|_| None, &["elsewhere"]));
    assert!(woken_by_db(|_| Some(Selector::everything()), &[]));
    // The filter would find the namespace by its labels.
    assert!(!woken_by_db(
        |world| Some(world.selector(&[("team", "a")])),
        &[]
    ));

    // The anti-affinity of a deleted pod kept others away.
    let mut rig = Rig::new();
    rig.assigned("run", "n", |world, pod| {
        affinity(&["default"], None)(world, pod);
        pod.pod_anti_affinity = pod.pod_affinity.take();
    });
    rig.unschedulable("p", &["InterPodAffinity"], db);
    rig.unschedulable("q", &["InterPodAffinity"], |_, _| {});
    rig.delete_pod("run");
    assert_eq!(rig.place("p"), "backoff");
    assert_eq!(rig.place("q"), "unschedulable");
}

fn spread(world: &mut World, pod: &mut Pod) {
    pod.labels = world.labels(&[("app", "db")]);
    pod.spread_constraints = [SpreadConstraint {
        max_skew: 1,
        topology_key: world.sym("zone"),
        when_unsatisfiable: UnsatisfiableAction::DoNotSchedule,
        selector: world.selector(&[("app", "db")]),
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    }]
    .into();
}

#[test]
fn semantic_21_spread_counts_its_own_namespace_and_nodes_with_all_keys() {
    let spread_only: &[&str] = &["PodTopologySpread"];
    let mut rig = Rig::new();
    rig.unschedulable("p", spread_only, spread);
    let other = rig.build(|world| {
        let mut pod = world.pod("elsewhere/run", &[("app", "db")]);
        pod.node_name = Some(world.sym("n"));
        pod
    });
    rig.upsert_pod(other);
    assert_eq!(rig.place("p"), "unschedulable", "another namespace");
    rig.node("bare", |_, _| {});
    assert_eq!(rig.place("p"), "unschedulable", "a node without the key");
    rig.node("bare", |world, node| {
        node.taints = [crate::model::Taint {
            key: world.sym("t"),
            value: world.sym(""),
            effect: crate::model::Effect::NoSchedule,
        }]
        .into();
    });
    assert_eq!(rig.place("p"), "unschedulable", "its taints neither");
    rig.assigned("run", "n", db);
    assert_eq!(rig.place("p"), "backoff");

    let mut rig = Rig::new();
    let zoned = |world: &mut World| world.labels(&[("zone", "a")]);
    rig.node("n", |world, node| node.labels = zoned(world));
    rig.unschedulable("p", spread_only, spread);
    rig.node("n", |world, node| {
        node.labels = zoned(world);
        node.taints = [crate::model::Taint {
            key: world.sym("t"),
            value: world.sym(""),
            effect: crate::model::Effect::NoSchedule,
        }]
        .into();
    });
    assert_eq!(rig.place("p"), "backoff", "a taint on a node that counts");
}

#[test]
fn semantic_22_some_volume_plugins_overlook_ephemeral_volumes() {
    let woken = |plugin: &'static str| {
        let mut rig = Rig::new();
        let pod = rig.build(|world| world.pod_with_ephemeral("default/p"));
        rig.unschedulable("p", &[plugin], |_, p| *p = pod);
        let claim = rig.build(|world| world.claim("default/p-scratch", "c"));
        rig.upsert(Object::PersistentVolumeClaim(Arc::new(claim)));
        rig.place("p") == "backoff"
    };
    assert!(!woken("VolumeRestrictions"));
    assert!(!woken("VolumeZone"));
    assert!(woken("VolumeBinding"));
    assert!(woken("NodeVolumeLimits"));
}

fn resource_claim(world: &mut World, name: &str, allocated: bool) -> ResourceClaim {
    ResourceClaim {
        namespace: world.sym("default"),
        name: world.sym(name),
        uid: name.into(),
        terminating: false,
        controller: None,
        allocated,
        reserved_for: Box::<[ClaimReservation]>::default(),
        status: if allocated { "allocated" } else { "" }.into(),
    }
}

#[test]
fn semantic_23_claims_are_skip_while_an_own_claim_is_missing_and_deallocation_is_queue() {
    let claimed = |world: &mut World, pod: &mut Pod| {
        pod.resource_claims = ["own", "second"]
            .map(|name| PodClaim {
                name: world.sym(name),
                source: PodClaimSource::Named(world.sym(name)),
            })
            .into();
    };
    let put = |rig: &mut Rig, name: &str, allocated: bool| {
        let claim = rig.build(|world| resource_claim(world, name, allocated));
        rig.upsert(Object::ResourceClaim(Arc::new(claim)));
    };
    let mut rig = Rig::new();
    put(&mut rig, "own", false);
    put(&mut rig, "second", false);
    put(&mut rig, "foreign", true);
    rig.unschedulable("p", &["DynamicResources"], claimed);
    rig.delete(Kind::ResourceClaim, "default", "second");
    put(&mut rig, "foreign", false);
    assert_eq!(
        rig.place("p"),
        "unschedulable",
        "a claim of its own is missing"
    );
    put(&mut rig, "second", false);
    assert_eq!(rig.place("p"), "backoff", "now it is there");

    let mut rig = Rig::new();
    put(&mut rig, "own", false);
    put(&mut rig, "second", false);
    put(&mut rig, "foreign", true);
    rig.unschedulable("p", &["DynamicResources"], claimed);
    put(&mut rig, "foreign", false);
    assert_eq!(rig.place("p"), "backoff", "devices became free");
}

#[test]
fn semantic_24_the_hint_sees_the_present_version_of_the_pod() {
    let ssd = |world: &mut World| world.labels(&[("disk", "ssd")]);
    let mut rig = Rig::new();
    rig.unschedulable("p", &["NodeAffinity"], |world, pod| {
        pod.node_selector = ssd(world);
    });
    rig.update("p", |_, pod| pod.node_selector = Labels::default());
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff");

    // While replaying: the version that the API has at the moment of failure.
    let mut rig = Rig::new();
    rig.popped("p", |world, pod| pod.node_selector = ssd(world));
    rig.node("n", |_, _| {});
    rig.update("p", |_, pod| pod.node_selector = Labels::default());
    rig.reject("p", &["NodeAffinity"]);
    assert_eq!(rig.place("p"), "backoff");
}
