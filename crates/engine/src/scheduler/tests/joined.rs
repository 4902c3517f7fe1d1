//! A plugin from outside at the points that no in-tree plugin uses alone: Reserve, Permit, PostBind.

use super::Rig;
use crate::framework::PluginArgs;
use crate::framework::{
    Command, Cx, FieldChange, Patch, Permit, PermitResult, Plugin, PluginBuilder, Point, PostBind,
    Reserve, Slot, Status, Target,
};
use crate::framework::{EnabledPlugin, Plugins, expand};
use crate::model::{Object, Pod};
use crate::plugins::registry::in_tree;
use crate::scheduler::Effect;
use stowplan_base::{Duration, Rng, Sym, Time};

/// What the plugin does to every pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Refuse,
    Hold,
    LetGo,
}

struct Gatekeeper(Mood);

impl Plugin for Gatekeeper {
    type FilterState = ();
    type ScoreState = ();
}

impl Reserve for Gatekeeper {
    fn reserve(
        &self,
        cx: Cx<'_>,
        _state: Slot<&()>,
        pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Object>, Status> {
        assert!(
            cx.cluster.pod(&pod.uid).is_some(),
            "the pod is assumed by now"
        );
        match self.0 {
            Mood::Refuse => Err(Status::unschedulable("not on my watch")),
            Mood::Hold | Mood::LetGo => Ok(Vec::new()),
        }
    }
}

impl Permit for Gatekeeper {
    fn permit(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) -> PermitResult {
        match self.0 {
            Mood::Hold => PermitResult::Wait(Duration::from_secs(10)),
            Mood::Refuse | Mood::LetGo => PermitResult::Allow,
        }
    }
}

impl PostBind for Gatekeeper {
    fn post_bind(&self, cx: Cx<'_>, pod: &Pod, _node: Sym) -> Vec<Command> {
        let pod = cx.cluster.pod(&pod.uid).expect("the pod is on its node");
        let annotation = FieldChange::Annotation("seen-by".into(), Some("Gatekeeper".into()));
        vec![Command::Patch(Box::new(Patch {
            target: Target::pod(pod),
            changes: vec![annotation],
            expect: None,
        }))]
    }
}

/// A rig with one node and one pod, tried once.
fn tried(mood: Mood) -> (Rig, Vec<Effect>) {
    let mut plugins = Plugins::default_plugins();
    plugins.multi_point.enabled.push(EnabledPlugin {
        name: "Gatekeeper".to_owned(),
        weight: 0,
    });
    let registry = in_tree().with("Gatekeeper", move || {
        PluginBuilder::new(Gatekeeper(mood))
            .reserve()
            .permit()
            .post_bind()
            .build()
    });
    let framework = expand(
        "default-scheduler",
        &plugins,
        &PluginArgs::default(),
        &registry,
    );
    let mut rig = Rig::with_profiles(vec![framework.expect("the profile is valid")]);
    rig.node("n", |_, _| {});
    rig.pending("p");
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    let effects = rig.scheduler.take_effects();
    (rig, effects)
}

#[test]
fn a_pod_that_reserve_refuses_leaves_its_node_again() {
    let (mut rig, effects) = tried(Mood::Refuse);
    let [Effect::Failed { failure, .. }, ..] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        failure.message(),
        "0/1 nodes are available: 1 not on my watch."
    );
    assert_eq!(rig.plugins("p"), ["Gatekeeper"]);
    assert_eq!(rig.place("p"), "unschedulable");
    assert!(rig.scheduler.cluster.nodes()[0].pods.is_empty());
}

#[test]
fn a_pod_held_at_permit_for_too_long_goes_back() {
    let (mut rig, effects) = tried(Mood::Hold);
    assert!(effects[0].as_bind().is_none(), "{effects:?}");
    assert_eq!(rig.place("p"), "assumed");
    let late: Time = rig.now + Duration::from_secs(10);
    rig.scheduler.tick(late);
    let effects = rig.scheduler.take_effects();
    let [
        Effect::BindFailed { failure, .. },
        Effect::Failed { .. },
        ..,
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!(
        failure.message(),
        "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Gatekeeper."
    );
}

#[test]
fn post_bind_runs_once_the_pod_is_bound() {
    let (mut rig, effects) = tried(Mood::LetGo);
    let (pod, _) = effects[0].as_bind().expect("a binding");
    rig.upsert(Object::Pod(pod.clone()));
    rig.scheduler.bound(&pod.uid);
    let effects = rig.scheduler.take_effects();
    let [
        Effect::Bound { .. },
        Effect::Request(_),
        Effect::Request(asked),
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (asked.plugin, asked.point),
        ("Gatekeeper", Some(Point::PostBind))
    );
}
