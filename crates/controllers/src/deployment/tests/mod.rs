//! Deployments together with ReplicaSets, and what the tests of their parts share.

mod faults;
mod history;
mod progress;
mod rollouts;

use super::*;
use crate::common::{annotation, is_pod_active, is_pod_ready, label, name};
use crate::replicaset::ReplicaSets;
use crate::testing::World;
use crate::{Failure, Method};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const CONTROLLERS: [&dyn Controller; 2] = [&ReplicaSets, &Deployments];

/// A Deployment with this spec.
pub(super) fn deployment(mut spec: Value) -> Deployment {
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    spec["template"] = template("v1");
    let meta = json!({"namespace": "a", "name": "web", "uid": "d", "generation": 1});
    let deployment = json!({"metadata": meta, "spec": spec});
    serde_json::from_value(deployment).expect("a deployment")
}

/// A ReplicaSet with this spec that nobody has looked at.
pub(super) fn set(name: &str, mut spec: Value) -> Arc<ReplicaSet> {
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    let meta = json!({"namespace": "a", "name": name, "uid": name});
    let set = json!({"metadata": meta, "spec": spec});
    Arc::new(serde_json::from_value(set).expect("a set"))
}

/// How large sets become by these writes.
pub(super) fn sizes(writes: &[Write]) -> BTreeMap<String, i32> {
    let size = |write: &Write| {
        let set: ReplicaSet = serde_json::from_slice(&write.body).expect("a set");
        (name(&set).to_owned(), sets::replicas(&set))
    };
    writes.iter().map(size).collect()
}

fn template(image: &str) -> Value {
    let spec = json!({"containers": [{"name": "c", "image": image}]});
    json!({"metadata": {"labels": {"app": "web"}}, "spec": spec})
}

/// A Deployment of three pods; one may be missing, and there may be one more.
fn spec() -> Value {
    let limits = json!({"maxSurge": 1, "maxUnavailable": 1});
    json!({
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("v1"),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": limits},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    })
}

/// A world with a Deployment.
fn world(spec: Value) -> World {
    let mut world = World::default();
    for (number, controller) in CONTROLLERS.into_iter().enumerate() {
        world.join(number, controller);
    }
    let meta = json!({"namespace": "a", "name": "web", "annotations": {"note": "x"}});
    world.add_json::<Deployment>(json!({"metadata": meta, "spec": spec}));
    world
}

/// Lets controllers work until nothing is left to do now.
fn settle(world: &mut World) {
    world.settle(&CONTROLLERS, Duration::ZERO);
}

fn web(world: &World) -> Arc<Deployment> {
    world.get::<Deployment>("a", "web")
}

fn change(world: &mut World, change: impl FnOnce(&mut Value)) {
    let mut spec = serde_json::to_value(&web(world).spec).expect("a spec");
    change(&mut spec);
    world.change::<Deployment>("a", "web", |deployment| {
        deployment.spec = serde_json::from_value(spec).expect("a spec");
    });
}

fn roll_out(world: &mut World, image: &str) {
    change(world, |spec| spec["template"] = template(image));
}

fn sets(world: &World) -> Vec<Arc<ReplicaSet>> {
    world.cluster.namespace::<ReplicaSet>("a")
}

/// The set of an image.
fn set_of(world: &World, image: &str) -> Arc<ReplicaSet> {
    let is_it = |set: &Arc<ReplicaSet>| image_of(set) == image;
    let found = sets(world).into_iter().find(is_it);
    found.unwrap_or_else(|| panic!("no set of {image}"))
}

fn image_of(set: &ReplicaSet) -> String {
    let set = serde_json::to_value(set).expect("a set");
    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
    image.as_str().unwrap_or_default().to_owned()
}

/// The sizes of sets by image.
fn sizes_by_image(world: &World) -> BTreeMap<String, i32> {
    let sets = sets(world).into_iter();
    sets.map(|set| (image_of(&set), sets::replicas(&set)))
        .collect()
}

fn pods(world: &World) -> Vec<Arc<Pod>> {
    world.cluster.namespace::<Pod>("a")
}

/// Runs one pod that does not run yet, or takes one away that has been deleted. Returns whether there was
/// any.
fn run_one(world: &mut World) -> bool {
    let all = pods(world);
    if let Some(pod) = all.iter().find(|pod| is_deleting(&***pod)) {
        world.remove::<Pod>("a", name(&**pod));
        return true;
    }
    let since = world.now.to_string();
    let Some(pod) = all
        .iter()
        .find(|pod| is_pod_active(pod) && !is_pod_ready(pod))
    else {
        return false;
    };
    world.change::<Pod>("a", name(&**pod), |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n1".to_owned());
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
        let status = json!({"phase": "Running", "conditions": [ready]});
        pod.status = serde_json::from_value(status).expect("a status");
    });
    true
}

/// Runs all pods until the roll-out is over.
fn finish(world: &mut World) {
    settle(world);
    while run_one(world) {
        settle(world);
    }
}

/// A condition: its status, reason and message.
fn condition_of(world: &World, type_: &str) -> Option<(String, String, String)> {
    let deployment = web(world);
    let found = of(&deployment, type_)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some((
        found.status.clone(),
        text(&found.reason),
        text(&found.message),
    ))
}

fn reason_of(world: &World, type_: &str) -> String {
    condition_of(world, type_).map_or_else(String::new, |(_, reason, _)| reason)
}

fn status_of(world: &World) -> Value {
    let mut status = serde_json::to_value(&web(world).status).expect("a status");
    status
        .as_object_mut()
        .expect("a status")
        .remove("conditions");
    status
}

fn messages(world: &mut World) -> Vec<String> {
    let about_web = |event: &Event| event.about.kind == "Deployment";
    let events = world.events.drain(..).filter(about_web);
    events.map(|event| event.message).collect()
}

fn refused(code: u16, message: &str) -> Failure {
    Failure {
        code,
        message: message.to_owned(),
        ..Failure::default()
    }
}
