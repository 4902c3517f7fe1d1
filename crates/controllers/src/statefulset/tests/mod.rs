mod claims;
mod scale;
mod update;

use super::pod::{parent_and_ordinal, pod_revision};
use super::*;
use crate::Failure;
use crate::testing::World;
use serde_json::{Value, json};
use std::time::Duration;

/// A long time.
const LONG: Duration = Duration::from_secs(3600);

/// A world with a set `web` of so many replicas, with one claim for each pod.
fn world(replicas: i32, more: Value) -> World {
    let mut world = World::default();
    world.join(0, &StatefulSets);
    let mut spec = json!({
        "replicas": replicas,
        "serviceName": "svc",
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "one"}]},
        },
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}],
    });
    for (field, value) in more.as_object().expect("fields") {
        spec[field] = value.clone();
    }
    let set =
        json!({"metadata": {"name": "web", "namespace": "shop", "generation": 1}, "spec": spec});
    world.add_json::<StatefulSet>(set);
    world
}

fn settle(world: &mut World) {
    world.settle(&[&StatefulSets], Duration::ZERO);
}

fn change_set(world: &mut World, change: impl FnOnce(&mut Value)) {
    let set = world.get::<StatefulSet>("shop", "web");
    let mut value = serde_json::to_value(&*set).unwrap();
    change(&mut value["spec"]);
    let generation = set.metadata.generation.unwrap_or(1) + 1;
    value["metadata"]["generation"] = json!(generation);
    world.add_json::<StatefulSet>(value);
}

fn set_image(world: &mut World, image: &str) {
    change_set(world, |spec| {
        spec["template"]["spec"]["containers"][0]["image"] = json!(image)
    });
}

fn set_replicas(world: &mut World, replicas: i32) {
    change_set(world, |spec| spec["replicas"] = json!(replicas));
}

/// A node takes a pod, and says this of it.
fn set_state(world: &mut World, pod: &str, phase: &str, ready: bool) {
    let since = world.now;
    world.change::<Pod>("shop", pod, |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n1".to_owned());
        let status = if ready { "True" } else { "False" };
        let status = json!({"phase": phase, "conditions": [{
            "type": "Ready", "status": status, "lastTransitionTime": since,
        }]});
        pod.status = Some(serde_json::from_value(status).expect("a status"));
    });
}

fn run(world: &mut World, pod: &str) {
    set_state(world, pod, "Running", true);
}

/// Pods that are deleted go away, others run, until nothing changes.
fn live(world: &mut World) {
    for _ in 0..100 {
        settle(world);
        let pods = world.cluster.all::<Pod>();
        let (going, staying): (Vec<_>, Vec<_>) = pods.iter().partition(|pod| is_deleting(&***pod));
        let idle = |pod: &&&Arc<Pod>| !status::is_running_and_ready(pod);
        let idle: Vec<_> = staying.iter().filter(idle).collect();
        if going.is_empty() && idle.is_empty() {
            return;
        }
        going
            .iter()
            .for_each(|pod| world.remove::<Pod>("shop", name(&***pod)));
        idle.iter().for_each(|pod| run(world, name(&****pod)));
    }
    panic!("it never comes to rest");
}

fn pods(world: &World) -> Vec<String> {
    let pods = world.cluster.all::<Pod>();
    pods.iter().map(|pod| name(&**pod).to_owned()).collect()
}

/// The image of each pod.
fn images(world: &World) -> Vec<String> {
    let pods = world.cluster.all::<Pod>();
    let image = |pod: &Pod| pod.spec.as_ref()?.containers.first()?.image.clone();
    pods.iter().filter_map(|pod| image(pod)).collect()
}

fn revisions(world: &World) -> Vec<Arc<ControllerRevision>> {
    let mut all = world.cluster.all::<ControllerRevision>();
    history::sort(&mut all);
    all
}

/// replicas, ready, available, current, updated.
fn counts(world: &World) -> [i32; 5] {
    let set = world.get::<StatefulSet>("shop", "web");
    let status = set.status.clone().unwrap_or_default();
    [
        status.replicas,
        status.ready_replicas.unwrap_or(0),
        status.available_replicas.unwrap_or(0),
        status.current_replicas.unwrap_or(0),
        status.updated_replicas.unwrap_or(0),
    ]
}

fn deletes(world: &mut World) -> Vec<String> {
    let writes = world.take_writes().into_iter();
    writes
        .filter_map(|write| write.strip_prefix("DELETE ").map(str::to_owned))
        .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
        .collect()
}

fn failing(code: u16) -> Failure {
    Failure {
        code,
        message: "no".to_owned(),
        ..Failure::default()
    }
}

/// Upstream's `TestGetParentNameAndOrdinal`.
#[test]
fn a_name_says_whose_pod_it_is() {
    for (given, wanted) in [
        ("web-0", Some(("web", Some(0)))),
        ("my-web-12", Some(("my-web", Some(12)))),
        ("web-007", Some(("web", Some(7)))),
        ("web-99999999999", Some(("web", None))),
        ("web-", None),
        ("web-1a", None),
        ("web", None),
        ("1", None),
    ] {
        assert_eq!(parent_and_ordinal(given), wanted, "{given}");
    }
}

#[test]
fn a_pod_has_an_identity() {
    let mut world = world(1, json!({"ordinals": {"start": 3}}));
    settle(&mut world);
    let pod = world.get::<Pod>("shop", "web-3");
    let revision = revisions(&world)[0].clone();
    let value = serde_json::to_value(&*pod).unwrap();
    assert_eq!(
        value["metadata"]["labels"],
        json!({
            "app": "web",
            "statefulset.kubernetes.io/pod-name": "web-3",
            "apps.kubernetes.io/pod-index": "3",
            "controller-revision-hash": name(&*revision),
        })
    );
    assert_eq!(pod_revision(&pod), name(&*revision));
    assert_eq!(value["metadata"]["generateName"], "web-");
    assert_eq!(
        value["metadata"]["ownerReferences"][0]["kind"],
        "StatefulSet"
    );
    assert_eq!(value["spec"]["hostname"], "web-3");
    assert_eq!(value["spec"]["subdomain"], "svc");
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-web-3"}});
    assert_eq!(value["spec"]["volumes"], json!([volume]));
    let claim = world.get::<PersistentVolumeClaim>("shop", "data-web-3");
    assert_eq!(claim.metadata.labels.as_ref().unwrap()["app"], "web");
    assert_eq!(claim.metadata.owner_references, None);
}

/// Whatever write fails, and however, all comes to the same end.
#[test]
fn a_failure_in_the_middle_changes_nothing_in_the_end() {
    for policy in ["OrderedReady", "Parallel"] {
        let mut ends = Vec::new();
        for failing_at in 0..40 {
            let code = if failing_at % 2 == 0 { 500 } else { 0 };
            let more = json!({
                "podManagementPolicy": policy,
                "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"},
            });
            let mut world = world(3, more);
            let mut count = 0;
            world.refuse(move |_| {
                count += 1;
                (count == failing_at).then(|| failing(code))
            });
            let passed = |world: &mut World| {
                for _ in 0..5 {
                    live(world);
                    world.settle(&[&StatefulSets], LONG);
                }
            };
            passed(&mut world);
            set_image(&mut world, "two");
            passed(&mut world);
            set_replicas(&mut world, 2);
            passed(&mut world);
            assert_eq!(pods(&world), ["web-0", "web-1"]);
            assert_eq!(counts(&world), [2, 2, 2, 2, 2]);
            let claims = world.cluster.all::<PersistentVolumeClaim>();
            let owners = claims.iter().map(|claim| {
                let owners = claim
                    .metadata
                    .owner_references
                    .as_deref()
                    .unwrap_or_default();
                let owners: Vec<_> = owners.iter().map(|owner| owner.name.clone()).collect();
                (name(&**claim).to_owned(), owners)
            });
            let owners: Vec<_> = owners.collect();
            let numbers: Vec<_> = revisions(&world).iter().map(|of| of.revision).collect();
            ends.push((owners, images(&world), numbers));
        }
        ends.dedup();
        assert_eq!(ends.len(), 1, "{ends:?}");
    }
}
