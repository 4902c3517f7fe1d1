//! Revisions: going back, and what is kept.

use super::*;

const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

fn revision(world: &World, image: &str) -> String {
    let set = set_of(world, image);
    annotation(&*set, REVISION).unwrap_or_default().to_owned()
}

#[test]
fn going_back_is_a_new_revision_of_the_old_set() {
    let mut world = world(spec());
    finish(&mut world);
    roll_out(&mut world, "v2");
    finish(&mut world);
    assert_eq!(revision(&world, "v2"), "2");
    // As `kubectl rollout undo` does.
    roll_out(&mut world, "v1");
    finish(&mut world);
    assert_eq!(sets(&world).len(), 2);
    assert_eq!(revision(&world, "v1"), "3");
    assert_eq!(annotation(&*set_of(&world, "v1"), HISTORY), Some("1"));
    assert_eq!(annotation(&*web(&world), REVISION), Some("3"));
    assert_eq!(sizes_by_image(&world)["v1"], 3);
}

fn ask_for(world: &mut World, revision: &str) {
    world.change::<Deployment>("a", "web", |deployment| {
        let noted = deployment.metadata.annotations.get_or_insert_default();
        noted.insert(ROLLBACK_TO.to_owned(), revision.to_owned());
    });
}

#[test]
fn an_annotation_may_ask_for_a_revision() {
    let mut world = world(spec());
    finish(&mut world);
    world.change::<Deployment>("a", "web", |deployment| {
        let noted = deployment.metadata.annotations.get_or_insert_default();
        noted.insert("note".to_owned(), "y".to_owned());
    });
    roll_out(&mut world, "v2");
    finish(&mut world);
    assert_eq!(annotation(&*set_of(&world, "v2"), "note"), Some("y"));
    messages(&mut world);
    // 0 is the last one.
    ask_for(&mut world, "0");
    finish(&mut world);
    assert_eq!(
        messages(&mut world)[0],
        "Rolled back deployment \"web\" to revision 1"
    );
    assert_eq!(annotation(&*web(&world), ROLLBACK_TO), None);
    let hash = web(&world)
        .spec
        .clone()
        .and_then(|spec| spec.template.metadata);
    assert!(
        !hash
            .and_then(|meta| meta.labels)
            .expect("labels")
            .contains_key("pod-template-hash")
    );
    assert_eq!(sizes_by_image(&world)["v1"], 3);
    assert_eq!(annotation(&*web(&world), REVISION), Some("3"));
    // What was noted with the template comes back with it.
    assert_eq!(annotation(&*web(&world), "note"), Some("x"));
    // Of two revisions, one is the present one.
    ask_for(&mut world, "3");
    settle(&mut world);
    let unchanged =
        "The rollback revision contains the same template as current deployment \"web\"";
    assert_eq!(messages(&mut world), [unchanged]);
    ask_for(&mut world, "17");
    settle(&mut world);
    assert_eq!(
        messages(&mut world),
        ["Unable to find the revision to rollback to."]
    );
    ask_for(&mut world, "soon");
    settle(&mut world);
    assert!(messages(&mut world).is_empty());
    assert_eq!(annotation(&*web(&world), ROLLBACK_TO), Some("soon"));
}

#[test]
fn there_is_no_last_revision_at_first() {
    let mut world = world(spec());
    ask_for(&mut world, "0");
    settle(&mut world);
    assert!(messages(&mut world).contains(&"Unable to find last revision.".to_owned()));
    assert_eq!(annotation(&*web(&world), ROLLBACK_TO), None);
    assert_eq!(sizes_by_image(&world)["v1"], 3);
}

#[test]
fn only_so_many_old_sets_are_kept() {
    let mut spec = spec();
    spec["revisionHistoryLimit"] = json!(2);
    let mut world = world(spec);
    for version in ["v1", "v2", "v3", "v4", "v5"] {
        roll_out(&mut world, version);
        finish(&mut world);
    }
    let images: Vec<String> = sizes_by_image(&world).into_keys().collect();
    assert_eq!(images, ["v3", "v4", "v5"]);
    change(&mut world, |spec| {
        spec["revisionHistoryLimit"] = json!(0);
        spec["paused"] = json!(true);
    });
    finish(&mut world);
    assert_eq!(sets(&world).len(), 1);
}

fn orphan(name: &str, image: &str, replicas: i32, noted: Value) -> Value {
    let mut template = template(image);
    template["metadata"]["labels"]["tier"] = json!("front");
    json!({
        "metadata": {"namespace": "a", "name": name, "labels": {"app": "web", "tier": "front"}, "annotations": noted},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web", "tier": "front"}}, "template": template},
    })
}

/// As Kubernetes' own tests of roll-outs and of the clean-up policy do.
#[test]
fn a_set_that_was_there_before_is_adopted_and_replaced() {
    let mut spec = spec();
    spec["replicas"] = json!(1);
    let mut world = World::default();
    for (number, controller) in CONTROLLERS.into_iter().enumerate() {
        world.join(number, controller);
    }
    let noted = json!({REVISION: "3546343826724305832"});
    world.add_json::<ReplicaSet>(orphan("first", "v0", 1, noted));
    finish(&mut world);
    assert_eq!(pods(&world).len(), 1);
    let meta = json!({"namespace": "a", "name": "web"});
    world.add_json::<Deployment>(json!({"metadata": meta, "spec": spec}));
    finish(&mut world);
    let first = world.get::<ReplicaSet>("a", "first");
    assert_eq!(
        controller_of(&*first).map(|owner| owner.name.as_str()),
        Some("web")
    );
    assert_eq!(sets::replicas(&first), 0);
    assert_eq!(
        annotation(&*web(&world), REVISION),
        Some("3546343826724305833")
    );
    change(&mut world, |spec| spec["revisionHistoryLimit"] = json!(0));
    finish(&mut world);
    assert_eq!(sets(&world).len(), 1);
}

#[test]
fn a_set_with_the_same_template_is_the_new_one() {
    let mut world = world(spec());
    finish(&mut world);
    // The Deployment is deleted without its sets, and another one takes its place.
    let set = name(&*set_of(&world, "v1")).to_owned();
    let hash = label(&*set_of(&world, "v1"), "pod-template-hash").map(str::to_owned);
    world.remove::<Deployment>("a", "web");
    world.change::<ReplicaSet>("a", &set, |set| set.metadata.owner_references = None);
    settle(&mut world);
    let meta = json!({"namespace": "a", "name": "web"});
    world.add_json::<Deployment>(json!({"metadata": meta, "spec": spec()}));
    settle(&mut world);
    assert_eq!(sets(&world).len(), 1);
    let adopted = world.get::<ReplicaSet>("a", &set);
    assert_eq!(
        label(&*adopted, "pod-template-hash").map(str::to_owned),
        hash
    );
    assert!(crate::common::is_controlled_by(&*adopted, &*web(&world)));
    assert_eq!(pods(&world).len(), 3);
    assert_eq!(reason_of(&world, "Progressing"), "NewReplicaSetAvailable");
    assert_eq!(annotation(&*web(&world), REVISION), Some("1"));
}

#[test]
fn a_set_that_does_not_match_any_more_is_released() {
    let mut world = world(spec());
    finish(&mut world);
    let set = name(&*set_of(&world, "v1")).to_owned();
    world.change::<ReplicaSet>("a", &set, |set| {
        set.metadata.labels = Some([("app".to_owned(), "other".to_owned())].into());
    });
    settle(&mut world);
    assert_eq!(controller_of(&*world.get::<ReplicaSet>("a", &set)), None);
    // The name is taken, so that the next one has another hash.
    assert_eq!(sets(&world).len(), 2);
    assert_eq!(status_of(&world)["collisionCount"], 1);
}

#[test]
fn hashes_that_collide_are_made_anew() {
    let mut first = world(spec());
    settle(&mut first);
    let taken = name(&*set_of(&first, "v1")).to_owned();
    let mut world = World::default();
    for (number, controller) in CONTROLLERS.into_iter().enumerate() {
        world.join(number, controller);
    }
    let mut other = orphan(&taken, "other", 0, json!({}));
    other["metadata"]["labels"] = json!({"app": "other"});
    world.add_json::<ReplicaSet>(other);
    let meta = json!({"namespace": "a", "name": "web"});
    world.add_json::<Deployment>(json!({"metadata": meta, "spec": spec()}));
    finish(&mut world);
    assert_eq!(status_of(&world)["collisionCount"], 1);
    assert_ne!(name(&*set_of(&world, "v1")), taken);
    assert_eq!(status_of(&world)["availableReplicas"], 3);
}
