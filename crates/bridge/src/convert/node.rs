//! Nodes.

use super::pod::{effect, uid};
use super::selector::labels;
use super::{ConvertError, Door, quantity};
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use stowplan_engine::model::{Node, NodeImage, ResourceList, Taint};

/// A node.
pub fn node(door: &mut Door<'_>, node: &core::Node) -> Result<Node, ConvertError> {
    let meta = &node.metadata;
    let no_status = core::NodeStatus::default();
    let status = node.status.as_ref().unwrap_or(&no_status);
    let spec = node.spec.as_ref();
    let taints = spec
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default();
    let allocatable_list = resource_list(door, status.allocatable.as_ref(), "status.allocatable")?;
    let mut conditions: Vec<_> = status
        .conditions
        .iter()
        .flatten()
        .map(|condition| (door.sym(&condition.type_), door.sym(&condition.status)))
        .collect();
    conditions.sort();
    Ok(Node {
        name: door.sym(meta.name.as_deref().unwrap_or_default()),
        uid: uid(meta),
        labels: labels(door, meta.labels.as_ref()),
        annotations: labels(door, meta.annotations.as_ref()),
        unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        taints: taints
            .iter()
            .enumerate()
            .map(|(i, taint)| self::taint(door, taint, i))
            .collect::<Result<_, _>>()?,
        allocatable: door.resource_names.resources(&allocatable_list, door.names),
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
                    .map(|name| door.sym(name))
                    .collect(),
                size_bytes: image.size_bytes.unwrap_or(0),
            })
            .collect(),
        declared_features: status
            .declared_features
            .iter()
            .flatten()
            .map(|feature| door.sym(feature))
            .collect(),
    })
}

fn taint(door: &mut Door<'_>, taint: &core::Taint, i: usize) -> Result<Taint, ConvertError> {
    Ok(Taint {
        key: door.sym(&taint.key),
        value: door.sym(taint.value.as_deref().unwrap_or_default()),
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
    door: &mut Door<'_>,
    list: Option<&BTreeMap<String, ApiQuantity>>,
    path: &str,
) -> Result<ResourceList, ConvertError> {
    let pairs: Result<Vec<_>, ConvertError> = list
        .into_iter()
        .flatten()
        .map(|(name, amount)| {
            let amount = quantity(&amount.0, || format!("{path}[{name}]"))?;
            Ok((door.sym(name), amount))
        })
        .collect();
    Ok(ResourceList::new(pairs?))
}
