//! Namespaces, disruption budgets, and whoever selects pods.

use super::selector::{labels, map_selector, selector};
use super::{ConvertError, Interner};
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::api::policy::v1 as policy;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_base::Sym;
use stowplan_engine::model::{Kind, Namespace, PodDisruptionBudget, PodSelectorOwner, Selector};

/// (namespace, name) of a namespaced object, the namespace `default` if absent.
pub fn namespaced(interner: &mut Interner<'_>, meta: &meta::ObjectMeta) -> (Sym, Sym) {
    let namespace = meta
        .namespace
        .as_deref()
        .filter(|ns| !ns.is_empty())
        .unwrap_or("default");
    (
        interner.sym(namespace),
        interner.sym(meta.name.as_deref().unwrap_or_default()),
    )
}

/// A namespace.
pub fn namespace(interner: &mut Interner<'_>, namespace: &core::Namespace) -> Namespace {
    let meta = &namespace.metadata;
    Namespace {
        name: interner.sym(meta.name.as_deref().unwrap_or_default()),
        labels: labels(interner, meta.labels.as_ref()),
    }
}

/// A PodDisruptionBudget.
pub fn budget(
    interner: &mut Interner<'_>,
    budget: &policy::PodDisruptionBudget,
) -> Result<PodDisruptionBudget, ConvertError> {
    let (namespace, name) = namespaced(interner, &budget.metadata);
    let status = budget.status.as_ref();
    let wanted = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    Ok(PodDisruptionBudget {
        namespace,
        name,
        selector: selector(interner, wanted).map_err(|e| ConvertError::new("spec.selector", e))?,
        disruptions_allowed: status
            .and_then(|status| status.disruptions_allowed)
            .unwrap_or(0),
        disrupted_pods: status
            .and_then(|status| status.disrupted_pods.as_ref())
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(|name| interner.sym(name))
            .collect(),
    })
}

/// A Service or ReplicationController: selects by a plain map.
pub fn owner_by_map(
    interner: &mut Interner<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    map: Option<&BTreeMap<String, String>>,
) -> PodSelectorOwner {
    let selector = map_selector(interner, map);
    owner(interner, kind, meta, selector)
}

/// A ReplicaSet or StatefulSet: selects by a label selector.
pub fn owner_by_selector(
    interner: &mut Interner<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    wanted: Option<&meta::LabelSelector>,
) -> Result<PodSelectorOwner, ConvertError> {
    let selector = selector(interner, wanted).map_err(|e| ConvertError::new("spec.selector", e))?;
    Ok(owner(interner, kind, meta, selector))
}

fn owner(
    interner: &mut Interner<'_>,
    kind: Kind,
    meta: &meta::ObjectMeta,
    selector: Selector,
) -> PodSelectorOwner {
    let (namespace, name) = namespaced(interner, meta);
    PodSelectorOwner {
        kind,
        namespace,
        name,
        selector,
    }
}
