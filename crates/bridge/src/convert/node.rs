//! Nodes.

use super::pod::{effect, uid};
use super::selector::labels;
use super::{ConvertError, Interner, quantity};
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use stowplan_engine::model::{Node, NodeImage, ResourceList, Taint};

/// A node.
pub fn node(interner: &mut Interner<'_>, node: &core::Node) -> Result<Node, ConvertError> {
    let meta = &node.metadata;
    let no_status = core::NodeStatus::default();
    let status = node.status.as_ref().unwrap_or(&no_status);
    let spec = node.spec.as_ref();
    let taints = spec
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default();
    let allocatable_list =
        resource_list(interner, status.allocatable.as_ref(), "status.allocatable")?;
    let mut conditions: Vec<_> = status
        .conditions
        .iter()
        .flatten()
        .map(|condition| {
            (
                interner.sym(&condition.type_),
                interner.sym(&condition.status),
            )
        })
        .collect();
    conditions.sort();
    Ok(Node {
        name: interner.sym(meta.name.as_deref().unwrap_or_default()),
        uid: uid(meta),
        labels: labels(interner, meta.labels.as_ref()),
        annotations: labels(interner, meta.annotations.as_ref()),
        unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        taints: taints
            .iter()
            .enumerate()
            .map(|(i, taint)| self::taint(interner, taint, i))
            .collect::<Result<_, _>>()?,
        allocatable: interner
            .resource_names
            .resources(&allocatable_list, interner.names),
        allocatable_list,
        conditions: conditions.into(),
        images: status
            .images
            .iter()
            .flatten()
            .map(|image| NodeImage {
                names: image
                    .names
                    .iter()
                    .flatten()
                    .map(|name| interner.sym(name))
                    .collect(),
                size_bytes: image.size_bytes.unwrap_or(0),
            })
            .collect(),
        declared_features: status
            .declared_features
            .iter()
            .flatten()
            .map(|feature| interner.sym(feature))
            .collect(),
    })
}

fn taint(
    interner: &mut Interner<'_>,
    taint: &core::Taint,
    i: usize,
) -> Result<Taint, ConvertError> {
    Ok(Taint {
        key: interner.sym(&taint.key),
        value: interner.sym(taint.value.as_deref().unwrap_or_default()),
        effect: effect(Some(&taint.effect)).ok_or_else(|| {
            ConvertError::new(
                format!("spec.taints[{i}].effect"),
                format!(
                    "Unsupported value: {:?}: supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
                    taint.effect
                ),
            )
        })?,
    })
}

/// A map of resource names to amounts; `path` names the map in errors.
pub fn resource_list(
    interner: &mut Interner<'_>,
    list: Option<&BTreeMap<String, ApiQuantity>>,
    path: &str,
) -> Result<ResourceList, ConvertError> {
    let pairs: Result<Vec<_>, ConvertError> = list
        .into_iter()
        .flatten()
        .map(|(name, amount)| {
            let amount = quantity(&amount.0, || format!("{path}[{name}]"))?;
            Ok((interner.sym(name), amount))
        })
        .collect();
    Ok(ResourceList::new(pairs?))
}
