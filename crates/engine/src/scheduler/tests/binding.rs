//! Reserve and Permit.

use super::Rig;
use crate::framework::PluginArgs;
use crate::framework::{
    Command, Cx, EnabledPlugin, Framework, Nomination, Permit, PermitResult, PluginBuilder,
    Plugins, expand,
};
use crate::model::{Object, PersistentVolume, Pod};
use crate::plugins::registry::in_tree;
use crate::scheduler::{Effect, Failure};
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym};

/// Holds every pod at Permit, for ten seconds at most.
struct Holder;

impl Permit for Holder {
    fn permit(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) -> PermitResult {
        PermitResult::Wait(Duration::from_secs(10))
    }
}

fn holding() -> Framework {
    let mut plugins = Plugins::default_plugins();
    plugins.multi_point.enabled.push(EnabledPlugin {
        name: "Holder".to_owned(),
        weight: 0,
    });
    let registry = in_tree().with("Holder", || PluginBuilder::new(Holder).permit().build());
    expand(
        "default-scheduler",
        &plugins,
        &PluginArgs::default(),
        &registry,
    )
    .expect("the profile is valid")
}

fn held() -> Rig {
    let mut rig = Rig::with_profiles(vec![holding()]);
    rig.at(1_000).node("n", |_, _| {});
    rig.pending("p");
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    let effects = rig.scheduler.take_effects();
    let [Effect::Request(told)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let node = rig.sym("n");
    let nomination = Nomination::Set(Some(node));
    assert!(
        matches!(told.command, Command::PatchStatus { nomination: set, .. } if set == nomination),
        "others are told where it will be"
    );
    assert_eq!(rig.place("p"), "assumed");
    assert_eq!(rig.in_flight(), ["pod p"], "it can still be rejected");
    rig
}

#[test]
fn a_held_pod_is_bound_when_it_is_allowed() {
    let mut rig = held();
    let uid = "default/p".into();
    rig.scheduler.cx().underway.handle.allow(&uid, "Another");
    rig.scheduler.tick(rig.now);
    assert!(rig.scheduler.take_effects().is_empty(), "Holder holds it");
    rig.scheduler.cx().underway.handle.allow(&uid, "Holder");
    rig.scheduler.tick(rig.now);
    let effects = rig.scheduler.take_effects();
    assert!(effects[0].as_bind().is_some(), "{effects:?}");
    assert!(rig.in_flight().is_empty());
    rig.at(60_000);
    assert_eq!(rig.place("p"), "assumed", "nobody waits any more");
}

#[test]
fn a_held_pod_is_given_back_when_it_waited_for_too_long() {
    let mut rig = held();
    assert_eq!(
        rig.scheduler.next_tick().map(|t| t.as_millis()),
        Some(11_000)
    );
    rig.at(10_999);
    assert_eq!(rig.place("p"), "assumed");
    rig.at(11_000);
    assert_eq!(rig.place("p"), "unschedulable");
    assert_eq!(rig.plugins("p"), ["Holder"]);
    let effects = rig.scheduler.take_effects();
    assert!(
        matches!(
            &effects[..],
            [Effect::BindFailed { .. }, Effect::Failed { .. }, ..]
        ),
        "{effects:?}"
    );
}

#[test]
fn a_plugin_that_names_no_events_listens_to_all() {
    let mut rig = held();
    let uid = "default/p".into();
    rig.scheduler
        .cx()
        .underway
        .handle
        .reject(&uid, "Holder", "not today");
    rig.scheduler.tick(rig.now);
    assert_eq!(rig.place("p"), "unschedulable");
    rig.node("n", |world, node| {
        node.annotations = world.labels(&[("a", "b")]);
    });
    assert_eq!(rig.place("p"), "backoff");
}

#[test]
fn a_held_pod_that_is_deleted_frees_its_place() {
    let mut rig = held();
    rig.delete_pod("p");
    let node = rig.sym("n");
    let info = rig.scheduler.cluster.node(node).expect("the node is there");
    assert!(info.pods.is_empty());
    assert!(rig.in_flight().is_empty());
    assert_eq!(rig.place("p"), "nowhere");
}

/// A pod whose claim waits for its first consumer, placed.
fn with_reserved_volume() -> Rig {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    let objects = rig.build(|world| {
        [
            Object::StorageClass(Arc::new(world.class("late", "none", true))),
            Object::PersistentVolume(Arc::new(world.volume("v", "late"))),
            Object::PersistentVolumeClaim(Arc::new(world.claim("default/c", "late"))),
        ]
    });
    objects.into_iter().for_each(|object| rig.upsert(object));
    let pod = rig.build(|world| world.pod_with_claims("default/p", &["c"]));
    rig.create("p", |_, p| *p = pod);
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    assert_eq!(rig.place("p"), "assumed");
    assert!(volume(&mut rig).claim_ref.is_some(), "the volume is taken");
    rig
}

fn volume(rig: &mut Rig) -> Arc<PersistentVolume> {
    let name = rig.sym("v");
    let volume = rig.scheduler.cluster.volumes.get(Sym::EMPTY, name);
    volume.expect("the volume is there").clone()
}

fn fail_binding(rig: &mut Rig) {
    let error = Failure::Error("conflict".into());
    rig.scheduler.bind_failed("default/p", error, rig.now);
}

#[test]
fn what_is_reserved_is_forgotten_when_the_binding_fails() {
    let mut rig = with_reserved_volume();
    fail_binding(&mut rig);
    assert!(volume(&mut rig).claim_ref.is_none());
}

#[test]
fn what_the_api_changed_meanwhile_stays() {
    let mut rig = with_reserved_volume();
    let mut changed = (*volume(&mut rig)).clone();
    changed.terminating = true;
    rig.upsert(Object::PersistentVolume(Arc::new(changed)));
    fail_binding(&mut rig);
    assert!(volume(&mut rig).terminating);

    let mut rig = with_reserved_volume();
    rig.delete(crate::model::Kind::PersistentVolume, "", "v");
    fail_binding(&mut rig);
    let name = rig.sym("v");
    assert!(
        rig.scheduler
            .cluster
            .volumes
            .get(Sym::EMPTY, name)
            .is_none()
    );
}
