//! Deployments, ReplicaSets, ReplicationControllers.
//!
//! Upstream: `pkg/controller/deployment`, `pkg/controller/replicaset`.

use super::template::{controller_of, hash, label};
use super::{Id, World, controlled_by, id, is_controlled};
use crate::load::{Kind, Loaded, Object, Source};
use crate::selector;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

const HASH_LABEL: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Makes the ReplicaSets of Deployments that have none, with their pods; says by how many pods to
/// scale up the newest ReplicaSet of the others.
pub(super) fn scale(world: &mut World<'_>, objects: &[Loaded]) -> BTreeMap<Id, i32> {
    let mut sets: BTreeMap<Id, Vec<&ReplicaSet>> = BTreeMap::new();
    for loaded in objects {
        if let Object::ReplicaSet(set) = &loaded.object
            && let Some(owner) = controller_of(&set.metadata)
            && owner.kind == Kind::Deployment.as_str()
        {
            let namespace = set.metadata.namespace.clone().unwrap_or_default();
            sets.entry((namespace, owner.name.clone()))
                .or_default()
                .push(set);
        }
    }
    let mut scaled = BTreeMap::new();
    for loaded in objects {
        let Object::Deployment(deployment) = &loaded.object else {
            continue;
        };
        let own = sets
            .get(&id(&deployment.metadata))
            .into_iter()
            .flatten()
            .copied();
        let own: Vec<_> = own
            .filter(|set| is_controlled(&set.metadata, Kind::Deployment, &deployment.metadata))
            .collect();
        match own.iter().max_by_key(|set| revision(set)) {
            Some(newest) => {
                let present: i64 = own.iter().map(|set| i64::from(replicas_of(set))).sum();
                let wanted = deployment
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.replicas)
                    .unwrap_or(1);
                let more = i32::try_from(i64::from(wanted) - present)
                    .unwrap_or(0)
                    .max(0);
                scaled.insert(id(&newest.metadata), more);
            }
            None => from_scratch(world, &loaded.source, deployment),
        }
    }
    scaled
}

/// What tells which ReplicaSet of a Deployment is the newest.
pub(super) fn revision(set: &ReplicaSet) -> (u64, Option<String>) {
    let annotation = set
        .metadata
        .annotations
        .as_ref()
        .and_then(|a| a.get(REVISION));
    let revision = annotation.and_then(|text| text.parse().ok()).unwrap_or(0);
    let created = set
        .metadata
        .creation_timestamp
        .as_ref()
        .map(|time| time.0.to_string());
    (revision, created)
}

fn replicas_of(set: &ReplicaSet) -> i32 {
    set.spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1)
}

/// Makes the ReplicaSet of a Deployment that has none, with the pods that it lacks.
pub(super) fn from_scratch(world: &mut World<'_>, at: &Source, deployment: &Deployment) {
    let Some(spec) = &deployment.spec else { return };
    let metadata = &deployment.metadata;
    let existing = pods_of_unknown_sets(world, deployment);
    // Dumps may hold pods without their ReplicaSets: the one that most pods name is the present one.
    let known = most_common(
        existing
            .iter()
            .filter_map(|pod| controller_of(&pod.metadata)),
    );
    let hash = known
        .and_then(|owner| {
            existing
                .iter()
                .find(|pod| controller_of(&pod.metadata) == Some(owner))
        })
        .and_then(|pod| pod.metadata.labels.as_ref()?.get(HASH_LABEL).cloned())
        .unwrap_or_else(|| hash(&spec.template));
    let name = metadata.name.as_deref().unwrap_or_default();
    let mut template = spec.template.clone();
    label(
        template.metadata.get_or_insert_default(),
        &[(HASH_LABEL, &hash)],
    );
    let mut wanted = spec.selector.clone();
    wanted
        .match_labels
        .get_or_insert_default()
        .insert(HASH_LABEL.to_owned(), hash.clone());
    let set_name = known.map_or_else(|| format!("{name}-{hash}"), |owner| owner.name.clone());
    let set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(set_name.clone()),
            namespace: metadata.namespace.clone(),
            uid: Some(known.map_or_else(
                || {
                    crate::prepare::made_up_uid(
                        Kind::ReplicaSet,
                        metadata.namespace.as_deref(),
                        &set_name,
                    )
                },
                |owner| owner.uid.clone(),
            )),
            labels: template
                .metadata
                .as_ref()
                .and_then(|metadata| metadata.labels.clone()),
            owner_references: Some(vec![controlled_by("apps/v1", "Deployment", metadata)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: spec.replicas,
            selector: wanted,
            template: Some(template.clone()),
            ..ReplicaSetSpec::default()
        }),
        status: None,
    };
    let missing = missing(spec.replicas, existing.len());
    let owner = controlled_by("apps/v1", "ReplicaSet", &set.metadata);
    world.make_numbered(at, name, missing, &template, (metadata, &owner));
    world.made.push(Loaded {
        source: at.clone(),
        object: set.into(),
    });
}

/// The pods of ReplicaSets that are not in the input, where the Deployment selects them.
fn pods_of_unknown_sets<'a>(world: &World<'a>, deployment: &Deployment) -> Vec<&'a Pod> {
    let Some(spec) = &deployment.spec else {
        return Vec::new();
    };
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let in_namespace = (namespace, Kind::ReplicaSet.as_str(), "")..;
    world
        .controlled
        .range(in_namespace)
        .take_while(|((there, kind, _), _)| {
            *there == namespace && *kind == Kind::ReplicaSet.as_str()
        })
        .flat_map(|(_, pods)| pods.iter().copied())
        .filter(|pod| selector::matches(&spec.selector, pod.metadata.labels.as_ref()))
        .collect()
}

fn most_common<'a>(owners: impl Iterator<Item = &'a OwnerReference>) -> Option<&'a OwnerReference> {
    let mut counts: BTreeMap<&str, (usize, &OwnerReference)> = BTreeMap::new();
    for owner in owners {
        counts.entry(&owner.name).or_insert((0, owner)).0 += 1;
    }
    counts
        .into_values()
        .max_by_key(|(count, _)| *count)
        .map(|(_, owner)| owner)
}

/// The pods that a ReplicaSet lacks, and `more`.
pub(super) fn replica_set(world: &mut World<'_>, at: &Source, set: &ReplicaSet, more: i32) {
    let Some(spec) = &set.spec else { return };
    let Some(template) = &spec.template else {
        return;
    };
    let owner = controlled_by("apps/v1", "ReplicaSet", &set.metadata);
    let base = match controller_of(&set.metadata) {
        Some(owner) if owner.kind == Kind::Deployment.as_str() => &owner.name,
        _ => set.metadata.name.as_ref().unwrap_or(&owner.name),
    };
    let existing = world.pods_of(Kind::ReplicaSet, &set.metadata).len();
    let wanted = spec.replicas.unwrap_or(1).saturating_add(more);
    world.make_numbered(
        at,
        base,
        missing(Some(wanted), existing),
        template,
        (&set.metadata, &owner),
    );
}

/// The pods that a ReplicationController lacks.
pub(super) fn replication_controller(
    world: &mut World<'_>,
    at: &Source,
    given: &ReplicationController,
) {
    let Some(spec) = &given.spec else { return };
    let Some(template) = &spec.template else {
        return;
    };
    let owner = controlled_by("v1", "ReplicationController", &given.metadata);
    let existing = world
        .pods_of(Kind::ReplicationController, &given.metadata)
        .len();
    let missing = missing(spec.replicas, existing);
    world.make_numbered(
        at,
        &owner.name,
        missing,
        template,
        (&given.metadata, &owner),
    );
}

fn missing(replicas: Option<i32>, existing: usize) -> usize {
    usize::try_from(replicas.unwrap_or(1))
        .unwrap_or(0)
        .saturating_sub(existing)
}
