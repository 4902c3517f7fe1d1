//! Namespaces, disruption budgets, and whoever selects pods.

use super::selector::{labels, map_selector, selector};
use super::{ConvertError, Door};
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::api::policy::v1 as policy;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_base::Sym;
use stowplan_engine::model::{Kind, Namespace, PodDisruptionBudget, PodSelectorOwner, Selector};

/// (namespace, name) of a namespaced object, the namespace `default` if absent.
pub fn namespaced(door: &mut Door<'_>, meta: &meta::ObjectMeta) -> (Sym, Sym) {
    let namespace = meta
        .namespace
        .as_deref()
        .filter(|ns| !ns.is_empty())
        .unwrap_or("default");
    (
        door.sym(namespace),
        door.sym(meta.name.as_deref().unwrap_or_default()),
    )
}

/// A namespace.
pub fn namespace(door: &mut Door<'_>, namespace: &core::Namespace) -> Namespace {
    let meta = &namespace.metadata;
    Namespace {
        name: door.sym(meta.name.as_deref().unwrap_or_default()),
        labels: labels(door, meta.labels.as_ref()),
    }
}

/// A PodDisruptionBudget.
pub fn budget(
    door: &mut Door<'_>,
    budget: &policy::PodDisruptionBudget,
) -> Result<PodDisruptionBudget, ConvertError> {
    let (namespace, name) = namespaced(door, &budget.metadata);
    let status = budget.status.as_ref();
    let wanted = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    Ok(PodDisruptionBudget {
        namespace,
        name,
        selector: selector(door, wanted).map_err(|e| ConvertError::new("spec.selector", e))?,
        disruptions_allowed: status
            .and_then(|status| status.disruptions_allowed)
            .unwrap_or(0),
        disrupted_pods: status
            .and_then(|status| status.disrupted_pods.as_ref())
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(|name| door.sym(name))
            .collect(),
    })
}

/// A Service or ReplicationController: selects by a plain map.
pub fn owner_by_map(
    door: &mut Door<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    map: Option<&BTreeMap<String, String>>,
) -> PodSelectorOwner {
    let selector = map_selector(door, map);
    owner(door, kind, meta, selector)
}

/// A ReplicaSet or StatefulSet: selects by a label selector.
pub fn owner_by_selector(
    door: &mut Door<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    wanted: Option<&meta::LabelSelector>,
) -> Result<PodSelectorOwner, ConvertError> {
    let selector = selector(door, wanted).map_err(|e| ConvertError::new("spec.selector", e))?;
    Ok(owner(door, kind, meta, selector))
}

fn owner(
    door: &mut Door<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    selector: Selector,
) -> PodSelectorOwner {
    let (namespace, name) = namespaced(door, meta);
    PodSelectorOwner {
        kind,
        namespace,
        name,
        selector,
    }
}
