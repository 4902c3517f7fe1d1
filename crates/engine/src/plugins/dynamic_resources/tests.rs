use super::*;
use crate::framework::{Framework, NodeStatuses, Point, PostFilterCx};
use crate::model::{DeviceClass, NodeSelector, NodeSelectorTerm, OwnerRef, PodClaim};
use crate::model::{Requirement, ResourceList};
use crate::plugins::node_affinity::{NodeAffinity, NodeAffinityArgs};
use crate::testing::World;
use stowplan_base::{Quantity, sym};

fn plugin() -> DynamicResources {
    DynamicResources::new(DynamicResourcesArgs::default())
}

fn claim(world: &mut World, name: &str) -> ResourceClaim {
    ResourceClaim {
        namespace: world.sym("ns"),
        name: world.sym(name),
        uid: name.into(),
        terminating: false,
        controller: None,
        allocated: false,
        reserved_for: Box::default(),
        status: "".into(),
    }
}

fn add_claim(world: &mut World, claim: ResourceClaim) {
    let claim = Object::ResourceClaim(Arc::new(claim));
    world.snapshot.upsert(claim);
}

fn owned_by(world: &mut World, claim: ResourceClaim, uid: &str) -> ResourceClaim {
    let controller = Some(OwnerRef {
        api_version: world.sym("v1"),
        kind: world.sym("Pod"),
        name: world.sym("p"),
        uid: uid.into(),
    });
    ResourceClaim {
        controller,
        ..claim
    }
}

fn pod(world: &mut World, source: PodClaimSource) -> Pod {
    let name = world.sym("gpu");
    Pod {
        resource_claims: [PodClaim { name, source }].into(),
        ..world.pod("ns/p", &[])
    }
}

fn refusal(world: &World, pod: &Pod) -> Option<String> {
    let status = plugin().pre_enqueue(world.cx(), pod).err()?;
    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
    Some(status.message(&world.snapshot))
}

#[test]
fn a_pod_waits_outside_the_queue_until_its_claims_are_there() {
    let mut world = World::default();
    let named = PodClaimSource::Named(world.sym("c"));
    let named = pod(&mut world, named);
    let missing = "could not find ResourceClaim \"ns/c\"";
    assert_eq!(refusal(&world, &named).as_deref(), Some(missing));
    let there = claim(&mut world, "c");
    add_claim(&mut world, there.clone());
    assert_eq!(refusal(&world, &named), None);
    add_claim(
        &mut world,
        ResourceClaim {
            terminating: true,
            ..there
        },
    );
    let leaving = "resourceclaim \"c\" is being deleted";
    assert_eq!(refusal(&world, &named).as_deref(), Some(leaving));
    let unsupported = pod(&mut world, PodClaimSource::Unsupported);
    let unknown = "pod \"ns/p\", spec.resourceClaim \"gpu\": none of the supported fields are set";
    assert_eq!(refusal(&world, &unsupported).as_deref(), Some(unknown));
}

#[test]
fn a_generated_claim_must_be_the_pods_own() {
    let mut world = World::default();
    let template = |generated, claim| PodClaimSource::Template { generated, claim };
    let pending = pod(&mut world, template(false, None));
    let early = "pod \"ns/p\": ResourceClaim not created yet";
    assert_eq!(refusal(&world, &pending).as_deref(), Some(early));
    let needless = pod(&mut world, template(true, None));
    assert_eq!(refusal(&world, &needless), None);
    let name = world.sym("c");
    let generated = pod(&mut world, template(true, Some(name)));
    let foreign = claim(&mut world, "c");
    add_claim(&mut world, foreign.clone());
    let not_owner = "ResourceClaim ns/c was not created for Pod ns/p (Pod is not owner)";
    assert_eq!(refusal(&world, &generated).as_deref(), Some(not_owner));
    let own = owned_by(&mut world, foreign, "ns/p");
    add_claim(&mut world, own);
    assert_eq!(refusal(&world, &generated), None);
}

#[test]
fn only_pods_that_need_devices_are_checked() {
    let mut world = World::default();
    let plain = world.pod("ns/q", &[]);
    let skipped = plugin().pre_filter(world.cx(), &plain);
    assert!(matches!(skipped, PreFilterResult::Skip));
    let name = world.sym("c");
    let needy = pod(&mut world, PodClaimSource::Named(name));
    let rejected = plugin().pre_filter(world.cx(), &needy);
    assert!(matches!(rejected, PreFilterResult::Rejected(_)));
    let there = claim(&mut world, "c");
    add_claim(&mut world, there);
    let PreFilterResult::Ready(needs) = plugin().pre_filter(world.cx(), &needy) else {
        panic!("the pod needs devices");
    };
    let node = NodeInfo::new(Arc::new(world.node("n", &[])));
    let fit = plugin().filter(world.cx(), &needs, &needy, &node);
    let reason = "resource claims cannot be allocated yet";
    assert_eq!(fit, Err(Status::unresolvable(reason)));
}

#[test]
fn an_extended_resource_may_come_from_a_device_plugin() {
    let mut world = World::default();
    let gpu = world.sym("example.com/gpu");
    let column = world.snapshot.resource_names.id(gpu);
    let mut pod = world.pod("ns/p", &[]);
    pod.requests.spec_columns.set(column, 2);
    let skipped = plugin().pre_filter(world.cx(), &pod);
    assert!(
        matches!(skipped, PreFilterResult::Skip),
        "no class stands for it"
    );
    let class = DeviceClass {
        name: world.sym("gpus"),
        created: None,
        extended_resource_name: Some(gpu),
        implicit_resource_name: world.sym("deviceclass.resource.kubernetes.io/gpus"),
    };
    world.snapshot.upsert(Object::DeviceClass(Arc::new(class)));
    let PreFilterResult::Ready(needs) = plugin().pre_filter(world.cx(), &pod) else {
        panic!("a class stands for it");
    };
    for (offered, fits) in [(None, false), (Some(0), false), (Some(4), true)] {
        let mut node = world.node("n", &[]);
        let offered = offered.map(|n| (gpu, Quantity::from_units(n)));
        node.allocatable_list = ResourceList::new(offered);
        let list = node.allocatable_list.clone();
        let names = world.snapshot.names.clone();
        node.allocatable = world.snapshot.resource_names.resources(&list, &names);
        let node = NodeInfo::new(Arc::new(node));
        let fit = plugin().filter(world.cx(), &needs, &pod, &node);
        assert_eq!(fit.is_ok(), fits, "{offered:?}");
    }
}

/// A profile that runs NodeAffinity and this plugin.
fn profile() -> Framework {
    let mut enabled: [Vec<usize>; Point::ALL.len()] = Default::default();
    enabled[Point::PreFilter as usize] = vec![0, 1];
    enabled[Point::PostFilter as usize] = vec![1];
    let plugins = vec![
        NodeAffinity::new(NodeAffinityArgs::default()).build(),
        plugin().build(),
    ];
    Framework::new("test".to_owned(), plugins, enabled, vec![1, 1])
}

fn post_filter(world: &World, pod: &Pod) -> Status {
    let framework = profile();
    let Ok(outcome) = framework.run_pre_filter(world.cx(), pod) else {
        panic!("no plugin breaks");
    };
    let statuses = NodeStatuses::new(0);
    let mut cx = PostFilterCx {
        cx: world.cx(),
        framework: &framework,
        cycle: &outcome.cycle,
        statuses: &statuses,
        kept: None,
    };
    let result = framework.run_post_filters(&mut cx, pod);
    result.status.expect_err("nothing can be done")
}

/// Semantic 1 of the oracle.
#[test]
fn without_claims_there_is_nothing_to_deallocate() {
    let mut world = World::default();
    let plain = world.pod("ns/p", &[]);
    let nothing = "no new claims to deallocate";
    let status = post_filter(&world, &plain);
    assert_eq!(status.code, Code::Unschedulable);
    assert_eq!(status.message(&world.snapshot), nothing);
    let missing = PodClaimSource::Named(world.sym("c"));
    let rejected = pod(&mut world, missing);
    let status = post_filter(&world, &rejected);
    assert_eq!(status.message(&world.snapshot), nothing);
}

/// Semantic 2 of the oracle.
#[test]
fn after_an_earlier_rejection_post_filter_fails() {
    let mut world = World::default();
    let names = ["a", "b"].map(|name| Requirement::equals(sym::METADATA_NAME, world.sym(name)));
    let term = NodeSelectorTerm {
        fields: names.into(),
        ..NodeSelectorTerm::default()
    };
    let mut pod = world.pod("ns/p", &[]);
    pod.node_affinity.required = Some(NodeSelector {
        terms: [term].into(),
    });
    let status = post_filter(&world, &pod);
    assert_eq!(status.code, Code::Error);
    assert_eq!(status.message(&world.snapshot), "not found");
}

/// Rule 23 of the queue.
#[test]
fn a_claim_helps_who_uses_it_and_freed_devices_help_anybody() {
    let mut world = World::default();
    let name = world.sym("mine");
    let waiting = pod(&mut world, PodClaimSource::Named(name));
    let idle = world.pod("ns/q", &[]);
    let event = plugin().events()[1].event;
    let [mine, other] = ["mine", "other"].map(|name| claim(&mut world, name));
    let allocated = |claim: &ResourceClaim| ResourceClaim {
        allocated: true,
        status: "allocated".into(),
        ..claim.clone()
    };
    let object = |claim: &ResourceClaim| Object::ResourceClaim(Arc::new(claim.clone()));
    let hint = |world: &World, pod: &Pod, old: Option<&ResourceClaim>, new: &ResourceClaim| {
        let old = old.map(object);
        plugin().hint(world.cx(), &event, pod, old.as_ref(), Some(&object(new)))
    };
    let freed = (allocated(&other), &other);
    let missing = hint(&world, &waiting, Some(&freed.0), freed.1);
    assert_eq!(missing, Hint::Skip, "its own claim is missing");
    assert_eq!(hint(&world, &idle, Some(&freed.0), freed.1), Hint::Queue);
    add_claim(&mut world, mine.clone());
    for (old, new, expected) in [
        (Some(allocated(&other)), &other, Hint::Queue),
        (Some(other.clone()), &allocated(&other), Hint::Skip),
        (None, &other, Hint::Skip),
        (None, &mine, Hint::Queue),
        (Some(mine.clone()), &mine, Hint::Skip),
        (Some(mine.clone()), &allocated(&mine), Hint::Queue),
    ] {
        assert_eq!(
            hint(&world, &waiting, old.as_ref(), new),
            expected,
            "{old:?}"
        );
    }
}

#[test]
fn a_generated_claim_helps_the_pod_that_got_it() {
    let mut world = World::default();
    let event = plugin().events()[2].event;
    let template = |claim| PodClaimSource::Template {
        generated: true,
        claim,
    };
    let name = world.sym("c");
    let got = pod(&mut world, template(Some(name)));
    let hint = |world: &World, pod: &Pod, new: &Pod| {
        let new = Object::Pod(Arc::new(new.clone()));
        plugin().hint(world.cx(), &event, pod, None, Some(&new))
    };
    assert_eq!(hint(&world, &got, &got), Hint::Skip, "the claim is missing");
    let own = claim(&mut world, "c");
    let own = owned_by(&mut world, own, "ns/p");
    add_claim(&mut world, own);
    assert_eq!(hint(&world, &got, &got), Hint::Queue);
    let other = world.pod("ns/q", &[]);
    assert_eq!(hint(&world, &other, &got), Hint::Skip);
}
