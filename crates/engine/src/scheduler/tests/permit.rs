//! How long pods wait at Permit.

use super::Rig;
use crate::framework::{
    Cx, EnabledPlugin, Permit, PermitResult, PluginArgs, PluginBuilder, Plugins, expand,
};
use crate::model::Pod;
use crate::plugins::registry::in_tree;
use crate::scheduler::Effect;
use stowplan_base::{Duration, Rng, Sym};

/// Holds every pod for so long.
struct Holder(Duration);

impl Permit for Holder {
    fn permit(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) -> PermitResult {
        PermitResult::Wait(self.0)
    }
}

/// A pod that `First` and `Second` hold for so many seconds since 1 000 ms.
fn held(first: i64, second: i64) -> Rig {
    let mut plugins = Plugins::default_plugins();
    let mut registry = in_tree();
    for (name, seconds) in [("First", first), ("Second", second)] {
        plugins.multi_point.enabled.push(EnabledPlugin {
            name: name.to_owned(),
            weight: 0,
        });
        let holder = move || PluginBuilder::new(Holder(Duration::from_secs(seconds)));
        registry = registry.with(name, move || holder().permit().build());
    }
    let args = PluginArgs::default();
    let framework = expand("default-scheduler", &plugins, &args, &registry);
    let mut rig = Rig::with_profiles(vec![framework.expect("the profile is valid")]);
    rig.at(1_000).node("n", |_, _| {});
    rig.pending("p");
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    rig.scheduler.take_effects();
    assert_eq!(rig.place("p"), "assumed");
    rig
}

fn next_tick(rig: &Rig) -> Option<i64> {
    rig.scheduler.next_tick().map(|time| time.as_millis())
}

/// Why the pod was given back.
fn message(rig: &mut Rig) -> Option<String> {
    let effects = rig.scheduler.take_effects().into_iter();
    effects
        .filter_map(|effect| match effect {
            Effect::BindFailed { failure, .. } => Some(failure.message().to_string()),
            _ => None,
        })
        .next()
}

fn allow(rig: &mut Rig, plugin: &'static str) {
    rig.scheduler
        .cx()
        .underway
        .handle
        .allow(&"default/p".into(), plugin);
    rig.scheduler.tick(rig.now);
}

#[test]
fn the_plugin_whose_time_is_up_first_gives_the_pod_back() {
    for (first, second, plugin) in [(20, 5, "Second"), (5, 20, "First")] {
        let mut rig = held(first, second);
        assert_eq!(next_tick(&rig), Some(6_000));
        rig.at(5_999);
        assert_eq!(rig.place("p"), "assumed");
        rig.at(6_000);
        assert_eq!(rig.place("p"), "unschedulable");
        assert_eq!(rig.plugins("p"), [plugin]);
        let told = format!("rejected due to timeout after waiting 5s at plugin {plugin}");
        let told = format!("0/1 nodes are available: 1 {told}.");
        assert_eq!(message(&mut rig), Some(told));
    }
}

#[test]
fn a_plugin_that_has_allowed_the_pod_cannot_run_out_of_time() {
    let mut rig = held(5, 20);
    allow(&mut rig, "First");
    assert_eq!(next_tick(&rig), Some(21_000));
    rig.at(20_999);
    assert_eq!(rig.place("p"), "assumed");
    rig.at(21_000);
    assert_eq!(rig.plugins("p"), ["Second"]);
}

#[test]
fn a_late_permission_does_not_bring_the_pod_back() {
    let mut rig = held(5, 5);
    rig.at(6_000);
    rig.scheduler.take_effects();
    allow(&mut rig, "First");
    allow(&mut rig, "Second");
    assert!(rig.scheduler.take_effects().is_empty());
    assert_eq!(rig.place("p"), "unschedulable");
    let node = rig.sym("n");
    let info = rig.scheduler.cluster.node(node).expect("the node is there");
    assert!(info.pods.is_empty(), "its place is free");
}

#[test]
fn nobody_waits_for_longer_than_a_quarter_of_an_hour() {
    let mut rig = held(3_600, 7_200);
    assert_eq!(next_tick(&rig), Some(901_000));
    rig.at(901_000);
    let told = message(&mut rig).expect("it is given back");
    assert!(told.contains("after waiting 15m0s"), "{told}");
}
