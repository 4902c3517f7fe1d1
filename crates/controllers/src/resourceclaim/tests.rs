//! Upstream's table (`controller_test.go`) in our own words.

use super::*;
use crate::Failure;
use crate::common::annotation;
use crate::testing::World;
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

fn template(world: &mut World) {
    world.add_json::<ResourceClaimTemplate>(json!({
        "metadata": {"namespace": "shop", "name": "gpu"},
        "spec": {
            "metadata": {"labels": {"tier": "a"}, "annotations": {"why": "x"}},
            "spec": {"devices": {"requests": [{"name": "r"}]}},
        },
    }));
}

/// A pod with these entries of `resourceClaims`.
fn pod(world: &mut World, name: &str, claims: Value, node: Option<&str>) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": name, "uid": format!("uid-of-{name}")},
        "spec": {"containers": [], "nodeName": node, "resourceClaims": claims},
    }));
}

fn from_template() -> Value {
    json!([{"name": "card", "resourceClaimTemplateName": "gpu"}])
}

fn consumer(name: &str) -> Value {
    json!({"resource": "pods", "name": name, "uid": format!("uid-of-{name}")})
}

/// A claim that is allocated and reserved for these; made for the pod `of`, if it is.
fn claim(world: &mut World, name: &str, of: Option<&str>, reserved: &[Value]) {
    let owners = of.map(|of| {
        json!([{"apiVersion": "v1", "kind": "Pod", "name": of,
            "uid": format!("uid-of-{of}"), "controller": true}])
    });
    let annotations = of.map(|_| json!({"resource.kubernetes.io/pod-claim-name": "card"}));
    world.add_json::<ResourceClaim>(json!({
        "metadata": {"namespace": "shop", "name": name, "finalizers": [FINALIZER],
            "ownerReferences": owners, "annotations": annotations},
        "spec": {},
        "status": {"allocation": {}, "reservedFor": reserved},
    }));
}

fn sync_claim(world: &mut World, name: &str) {
    world.sync(&ResourceClaims, "shop", &format!("/{name}"));
}

/// Consumers, whether it is allocated, finalizers.
fn state(world: &World, name: &str) -> (Vec<String>, bool, usize) {
    let claim = world.get::<ResourceClaim>("shop", name);
    let status = claim.status.clone().unwrap_or_default();
    let consumers = status.reserved_for.unwrap_or_default();
    (
        consumers.into_iter().map(|one| one.name).collect(),
        status.allocation.is_some(),
        claim.metadata.finalizers.as_ref().map_or(0, Vec::len),
    )
}

fn told(world: &World, pod: &str) -> Vec<(String, Option<String>)> {
    let pod = world.get::<Pod>("shop", pod);
    let status = pod.status.clone().unwrap_or_default();
    let all = status.resource_claim_statuses.unwrap_or_default();
    all.into_iter()
        .map(|one| (one.name, one.resource_claim_name))
        .collect()
}

#[test]
fn a_claim_is_made_from_a_template_and_the_pod_is_told() {
    let mut world = World::default();
    template(&mut world);
    pod(&mut world, "a", from_template(), None);
    world.sync(&ResourceClaims, "shop", "a");
    let claims = world.cluster.all::<ResourceClaim>();
    let [made] = &claims[..] else {
        panic!("{claims:?}")
    };
    assert!(name(&**made).starts_with("a-card-"));
    assert_eq!(
        annotation(&**made, "resource.kubernetes.io/pod-claim-name"),
        Some("card")
    );
    assert_eq!(annotation(&**made, "why"), Some("x"));
    let owner = &made.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.uid.as_str(), owner.block_owner_deletion),
        ("uid-of-a", None)
    );
    let expected = [("card".to_owned(), made.metadata.name.clone())];
    assert_eq!(told(&world, "a"), expected);
    // That is all there is to do.
    world.take_writes();
    world.sync(&ResourceClaims, "shop", "a");
    assert!(world.take_writes().is_empty());
    // If somebody deletes it, there is a new one.
    let name = name(&**made).to_owned();
    world.remove::<ResourceClaim>("shop", &name);
    world.sync(&ResourceClaims, "shop", "a");
    assert_eq!(world.cluster.all::<ResourceClaim>().len(), 1);
    assert_ne!(told(&world, "a")[0].1.as_deref(), Some(name.as_str()));
}

#[test]
fn long_names_lose_a_part_each() {
    let mut world = World::default();
    template(&mut world);
    let (long, entry) = ("p".repeat(60), "c".repeat(30));
    let claims = json!([{"name": entry, "resourceClaimTemplateName": "gpu"}]);
    pod(&mut world, &long, claims, None);
    world.sync(&ResourceClaims, "shop", &long);
    let made = &world.cluster.all::<ResourceClaim>()[0];
    let base = made.metadata.generate_name.clone().unwrap();
    assert_eq!(base, format!("{}-{}", "p".repeat(37), "c".repeat(18)));
}

#[test]
fn without_the_template_the_pod_waits_and_users_are_told() {
    let mut world = World::default();
    world.join(0, &ResourceClaims);
    pod(&mut world, "a", from_template(), None);
    world.settle(&[&ResourceClaims], Duration::from_millis(500));
    assert_eq!(world.take_reasons(), ["FailedResourceClaimCreation"]);
    assert!(
        world.errors[0].contains("\"gpu\" not found"),
        "{:?}",
        world.errors
    );
    template(&mut world);
    world.settle(&[&ResourceClaims], Duration::from_secs(5));
    assert_eq!(told(&world, "a").len(), 1);
}

/// Whichever write fails: in the end there is one claim for each entry, and the pod says so.
#[test]
fn each_write_may_fail_and_the_process_may_restart() {
    for at in 0..4 {
        let mut world = World::default();
        template(&mut world);
        let claims = json!([
            {"name": "card", "resourceClaimTemplateName": "gpu"},
            {"name": "net", "resourceClaimTemplateName": "gpu"},
        ]);
        pod(&mut world, "a", claims, None);
        let count = Rc::new(Cell::new(0));
        world.refuse(move |_| {
            count.set(count.get() + 1);
            let failure = Failure {
                code: 500,
                message: "it broke".to_owned(),
                ..Failure::default()
            };
            (count.get() == at + 1).then_some(failure)
        });
        for _ in 0..3 {
            world.sync(&ResourceClaims, "shop", "a");
        }
        assert_eq!(world.cluster.all::<ResourceClaim>().len(), 2, "{at}");
        assert_eq!(told(&world, "a").len(), 2, "{at}");
    }
}

#[test]
fn a_pod_that_has_a_node_gets_its_claims_reserved() {
    let mut world = World::default();
    claim(&mut world, "shared", None, &[consumer("b")]);
    pod(
        &mut world,
        "b",
        json!([{"name": "card", "resourceClaimName": "shared"}]),
        Some("n"),
    );
    pod(
        &mut world,
        "a",
        json!([{"name": "card", "resourceClaimName": "shared"}]),
        Some("n"),
    );
    world.sync(&ResourceClaims, "shop", "a");
    assert_eq!(state(&world, "shared").0, ["b", "a"]);
    world.take_writes();
    world.sync(&ResourceClaims, "shop", "a");
    assert!(world.take_writes().is_empty());
    // Without a node that is for the scheduler to do.
    pod(
        &mut world,
        "c",
        json!([{"name": "card", "resourceClaimName": "shared"}]),
        None,
    );
    world.sync(&ResourceClaims, "shop", "c");
    assert!(world.take_writes().is_empty());
}

#[test]
fn reservations_end_with_their_pods() {
    let finished = |world: &mut World, name: &str| {
        world.change::<Pod>("shop", name, |pod| {
            pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
        });
    };
    let uses = || json!([{"name": "card", "resourceClaimName": "shared"}]);
    let mut world = World::default();
    pod(&mut world, "a", uses(), Some("n"));
    pod(&mut world, "b", uses(), Some("n"));
    let other = json!({"apiGroup": "x.io", "resource": "things", "name": "t", "uid": "t"});
    claim(
        &mut world,
        "shared",
        None,
        &[consumer("a"), consumer("b"), other],
    );
    finished(&mut world, "a");
    sync_claim(&mut world, "shared");
    assert_eq!(
        state(&world, "shared"),
        (vec!["b".to_owned(), "t".to_owned()], true, 1)
    );
    // The last one takes the allocation and the finalizer with it.
    world.change::<ResourceClaim>("shop", "shared", |claim| {
        let status = claim.status.get_or_insert_default();
        status.reserved_for.get_or_insert_default().truncate(1);
    });
    finished(&mut world, "b");
    sync_claim(&mut world, "shared");
    assert_eq!(state(&world, "shared"), (vec![], false, 0));
    // A claim of a user stays.
    assert_eq!(world.cluster.all::<ResourceClaim>().len(), 1);
}

#[test]
fn a_pod_that_is_not_known_may_be_new() {
    let mut world = World::default();
    claim(
        &mut world,
        "shared",
        None,
        &[consumer("new"), consumer("gone")],
    );
    let path = "/api/v1/namespaces/shop/pods/new";
    world.serve(path, Ok(json!({"metadata": {"uid": "uid-of-new"}})));
    sync_claim(&mut world, "shared");
    assert_eq!(state(&world, "shared").0, ["new"]);
    // Another pod of the same name.
    world.serve(path, Ok(json!({"metadata": {"uid": "other"}})));
    sync_claim(&mut world, "shared");
    assert_eq!(state(&world, "shared"), (vec![], false, 0));
    // A server that does not answer says nothing.
    claim(&mut world, "mine", None, &[consumer("new")]);
    let failure = Failure {
        code: 500,
        message: "it broke".to_owned(),
        ..Failure::default()
    };
    world.serve(path, Err(failure));
    sync_claim(&mut world, "mine");
    assert_eq!(state(&world, "mine").0, ["new"]);
    assert_eq!(world.errors, ["it broke"]);
}

#[test]
fn a_claim_that_was_made_for_a_pod_goes_when_the_pod_is_done() {
    let mut world = World::default();
    pod(&mut world, "a", from_template(), Some("n"));
    claim(&mut world, "a-card-1", Some("a"), &[consumer("a")]);
    world.change::<Pod>("shop", "a", |pod| {
        pod.status.get_or_insert_default().phase = Some("Failed".to_owned());
    });
    for _ in 0..2 {
        if world.cluster.all::<ResourceClaim>().is_empty() {
            break;
        }
        sync_claim(&mut world, "a-card-1");
    }
    assert!(world.cluster.all::<ResourceClaim>().is_empty());
    // One that is still in use stays.
    pod(&mut world, "b", from_template(), Some("n"));
    claim(&mut world, "b-card-1", Some("b"), &[consumer("b")]);
    sync_claim(&mut world, "b-card-1");
    assert_eq!(state(&world, "b-card-1"), (vec!["b".to_owned()], true, 1));
}

#[test]
fn a_claim_that_a_user_deletes_is_let_go_once_nobody_uses_it() {
    let mut world = World::default();
    claim(&mut world, "shared", None, &[]);
    world.change::<ResourceClaim>("shop", "shared", |claim| {
        claim.metadata.deletion_timestamp = Some(crate::common::time(jiff::Timestamp::UNIX_EPOCH));
    });
    sync_claim(&mut world, "shared");
    assert!(world.cluster.all::<ResourceClaim>().is_empty());
}

#[test]
fn claims_of_extended_resources_are_set_free() {
    let mut world = World::default();
    world.join(0, &ResourceClaims);
    claim(&mut world, "ext", Some("a"), &[consumer("a")]);
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": "a", "uid": "uid-of-a"},
        "spec": {"containers": [], "nodeName": "n"},
        "status": {"phase": "Succeeded", "extendedResourceClaimStatus":
            {"resourceClaimName": "ext", "requestMappings": []}},
    }));
    world.settle(&[&ResourceClaims], Duration::from_secs(5));
    assert!(world.cluster.all::<ResourceClaim>().is_empty());
}

#[test]
fn changes_wake_what_they_concern() {
    let mut world = World::default();
    template(&mut world);
    world.join(0, &ResourceClaims);
    pod(&mut world, "a", from_template(), None);
    world.settle(&[&ResourceClaims], Duration::from_secs(1));
    let made = told(&world, "a")[0].1.clone().unwrap();
    // The scheduler allocates and reserves it, and binds the pod.
    world.change::<ResourceClaim>("shop", &made, |claim| {
        claim.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        claim.status =
            serde_json::from_value(json!({"allocation": {}, "reservedFor": [consumer("a")]}))
                .unwrap();
    });
    world.change::<Pod>("shop", "a", |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n".to_owned());
    });
    world.settle(&[&ResourceClaims], Duration::from_secs(1));
    assert_eq!(state(&world, &made), (vec!["a".to_owned()], true, 1));
    world.change::<Pod>("shop", "a", |pod| {
        pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
    });
    world.settle(&[&ResourceClaims], Duration::from_secs(1));
    assert!(world.cluster.all::<ResourceClaim>().is_empty());
}
