//! Volumes, claims and what provisions and attaches them.

use super::csi_translation::{migrated_volume, migration};
use super::selector::{labels, node_selector, node_selector_term, selector};
use super::{ConvertError, Interner, quantity};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::api::storage::v1 as storage;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_base::{Quantity, Sym, sym};
use stowplan_engine::model::{
    AccessMode, BindingMode, ClaimRef, CsiDriver, CsiDriverLimit, CsiNode, CsiSource,
    CsiStorageCapacity, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, PodVolume,
    Selector, StorageClass, VolumeAttachment, VolumeMode, VolumeSource,
};

const STORAGE_CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const MIGRATED_PLUGINS_ANNOTATION: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// A pod's `spec.volumes`.
pub fn pod_volumes(interner: &mut Interner<'_>, pod: &core::Pod) -> Box<[PodVolume]> {
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    pod.spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten())
        .map(|volume| PodVolume {
            name: interner.sym(&volume.name),
            source: volume_source(interner, pod_name, volume),
            migration: migration(interner, volume),
        })
        .collect()
}

fn volume_source(
    interner: &mut Interner<'_>,
    pod_name: &str,
    volume: &core::Volume,
) -> VolumeSource {
    if let Some(source) = &volume.persistent_volume_claim {
        VolumeSource::Claim {
            claim: interner.sym(&source.claim_name),
        }
    } else if volume.ephemeral.is_some() {
        VolumeSource::Ephemeral {
            claim: interner.sym(&format!("{pod_name}-{}", volume.name)),
        }
    } else if let Some(source) = &volume.csi {
        VolumeSource::Csi {
            driver: interner.sym(&source.driver),
        }
    } else if let Some(source) = &volume.gce_persistent_disk {
        VolumeSource::GcePersistentDisk {
            name: interner.sym(&source.pd_name),
            read_only: source.read_only.unwrap_or(false),
        }
    } else if let Some(source) = &volume.aws_elastic_block_store {
        VolumeSource::AwsElasticBlockStore {
            id: interner.sym(&source.volume_id),
        }
    } else if let Some(source) = &volume.iscsi {
        VolumeSource::Iscsi {
            iqn: interner.sym(&source.iqn),
            read_only: source.read_only.unwrap_or(false),
        }
    } else if let Some(source) = &volume.rbd {
        VolumeSource::Rbd {
            monitors: source.monitors.iter().map(|m| interner.sym(m)).collect(),
            pool: sym_or_empty(interner, source.pool.as_deref()),
            image: interner.sym(&source.image),
            read_only: source.read_only.unwrap_or(false),
        }
    } else {
        VolumeSource::Other
    }
}

/// A PersistentVolume.
pub fn persistent_volume(
    interner: &mut Interner<'_>,
    volume: &core::PersistentVolume,
) -> Result<PersistentVolume, ConvertError> {
    let meta = &volume.metadata;
    let no_spec = core::PersistentVolumeSpec::default();
    let spec = volume.spec.as_ref().unwrap_or(&no_spec);
    let status = volume.status.as_ref();
    Ok(PersistentVolume {
        name: sym_or_empty(interner, meta.name.as_deref()),
        labels: labels(interner, meta.labels.as_ref()),
        annotations: labels(interner, meta.annotations.as_ref()),
        terminating: meta.deletion_timestamp.is_some(),
        capacity: storage_amount(spec.capacity.as_ref(), "spec.capacity[storage]")?
            .unwrap_or(Quantity::ZERO),
        access_modes: access_modes(spec.access_modes.as_deref())?,
        volume_mode: volume_mode(spec.volume_mode.as_deref())?,
        storage_class: storage_class_name(interner, meta, spec.storage_class_name.as_deref()),
        attributes_class: sym_or_empty(interner, spec.volume_attributes_class_name.as_deref()),
        node_affinity: spec
            .node_affinity
            .as_ref()
            .and_then(|affinity| affinity.required.as_ref())
            .map(|required| node_selector(interner, required)),
        claim_ref: spec.claim_ref.as_ref().map(|claim| ClaimRef {
            namespace: sym_or_empty(interner, claim.namespace.as_deref()),
            name: sym_or_empty(interner, claim.name.as_deref()),
            uid: claim.uid.clone().unwrap_or_default().into(),
        }),
        phase: sym_or_empty(interner, status.and_then(|status| status.phase.as_deref())),
        topology: topology(interner, meta.labels.as_ref()),
        csi: spec.csi.as_ref().map(|source| CsiSource {
            driver: interner.sym(&source.driver),
            handle: interner.sym(&source.volume_handle),
        }),
        migrated: migrated_volume(interner, volume),
    })
}

/// A PersistentVolumeClaim.
pub fn persistent_volume_claim(
    interner: &mut Interner<'_>,
    claim: &core::PersistentVolumeClaim,
) -> Result<PersistentVolumeClaim, ConvertError> {
    let meta = &claim.metadata;
    let no_spec = core::PersistentVolumeClaimSpec::default();
    let spec = claim.spec.as_ref().unwrap_or(&no_spec);
    let status = claim.status.as_ref();
    let requests = spec.resources.as_ref().and_then(|r| r.requests.as_ref());
    Ok(PersistentVolumeClaim {
        namespace: namespace(interner, meta),
        name: sym_or_empty(interner, meta.name.as_deref()),
        uid: meta.uid.clone().unwrap_or_default().into(),
        annotations: labels(interner, meta.annotations.as_ref()),
        terminating: meta.deletion_timestamp.is_some(),
        controller_uid: controller_uid(meta),
        storage_class: storage_class_name(interner, meta, spec.storage_class_name.as_deref()),
        attributes_class: sym_or_empty(interner, spec.volume_attributes_class_name.as_deref()),
        volume_name: sym_or_empty(interner, spec.volume_name.as_deref()),
        access_modes: access_modes(spec.access_modes.as_deref())?,
        volume_mode: volume_mode(spec.volume_mode.as_deref())?,
        request: storage_amount(requests, "spec.resources.requests[storage]")?,
        selector: spec
            .selector
            .as_ref()
            .map(|parsed| selector(interner, Some(parsed)).map_err(Into::into)),
        phase: sym_or_empty(interner, status.and_then(|status| status.phase.as_deref())),
    })
}

/// A StorageClass.
pub fn storage_class(
    interner: &mut Interner<'_>,
    class: &storage::StorageClass,
) -> Result<StorageClass, ConvertError> {
    let binding_mode = match class.volume_binding_mode.as_deref() {
        None => None,
        Some("Immediate") => Some(BindingMode::Immediate),
        Some("WaitForFirstConsumer") => Some(BindingMode::WaitForFirstConsumer),
        Some(other) => {
            return Err(unsupported(
                "volumeBindingMode",
                other,
                "Immediate or WaitForFirstConsumer",
            ));
        }
    };
    Ok(StorageClass {
        name: sym_or_empty(interner, class.metadata.name.as_deref()),
        provisioner: interner.sym(&class.provisioner),
        binding_mode,
        allowed_topologies: class
            .allowed_topologies
            .iter()
            .flatten()
            .map(|term| topology_term(interner, term))
            .collect(),
    })
}

/// A topology selector term, which is a node selector term that only knows `In`.
fn topology_term(
    interner: &mut Interner<'_>,
    term: &core::TopologySelectorTerm,
) -> NodeSelectorTerm {
    let expressions = term.match_label_expressions.iter().flatten();
    let term = core::NodeSelectorTerm {
        match_expressions: Some(
            expressions
                .map(|expression| core::NodeSelectorRequirement {
                    key: expression.key.clone(),
                    operator: "In".to_owned(),
                    values: Some(expression.values.clone()),
                })
                .collect(),
        ),
        match_fields: None,
    };
    node_selector_term(interner, &term)
}

/// A CSINode.
pub fn csi_node(interner: &mut Interner<'_>, node: &storage::CSINode) -> CsiNode {
    let migrated = node
        .metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(MIGRATED_PLUGINS_ANNOTATION))
        .filter(|plugins| !plugins.is_empty());
    CsiNode {
        name: sym_or_empty(interner, node.metadata.name.as_deref()),
        migrated_plugins: migrated
            .iter()
            .flat_map(|plugins| plugins.split(','))
            .map(|plugin| interner.sym(plugin))
            .collect(),
        drivers: node
            .spec
            .drivers
            .iter()
            .map(|driver| CsiDriverLimit {
                name: interner.sym(&driver.name),
                count: driver.allocatable.as_ref().and_then(|a| a.count),
            })
            .collect(),
    }
}

/// A CSIDriver.
pub fn csi_driver(interner: &mut Interner<'_>, driver: &storage::CSIDriver) -> CsiDriver {
    CsiDriver {
        name: sym_or_empty(interner, driver.metadata.name.as_deref()),
        storage_capacity: driver.spec.storage_capacity.unwrap_or(false),
    }
}

/// A CSIStorageCapacity.
pub fn csi_storage_capacity(
    interner: &mut Interner<'_>,
    capacity: &storage::CSIStorageCapacity,
) -> Result<CsiStorageCapacity, ConvertError> {
    let amount = |amount: Option<&ApiQuantity>, field: &str| {
        amount
            .map(|amount| quantity(&amount.0, || field.to_owned()))
            .transpose()
    };
    Ok(CsiStorageCapacity {
        namespace: namespace(interner, &capacity.metadata),
        name: sym_or_empty(interner, capacity.metadata.name.as_deref()),
        storage_class: interner.sym(&capacity.storage_class_name),
        node_topology: selector(interner, capacity.node_topology.as_ref())
            .unwrap_or(Selector::Nothing),
        capacity: amount(capacity.capacity.as_ref(), "capacity")?,
        maximum_volume_size: amount(capacity.maximum_volume_size.as_ref(), "maximumVolumeSize")?,
    })
}

/// A VolumeAttachment.
pub fn volume_attachment(
    interner: &mut Interner<'_>,
    attachment: &storage::VolumeAttachment,
) -> VolumeAttachment {
    let spec = &attachment.spec;
    VolumeAttachment {
        name: sym_or_empty(interner, attachment.metadata.name.as_deref()),
        attacher: interner.sym(&spec.attacher),
        node_name: interner.sym(&spec.node_name),
        volume_name: spec
            .source
            .persistent_volume_name
            .as_deref()
            .map(|name| interner.sym(name)),
    }
}

fn sym_or_empty(interner: &mut Interner<'_>, text: Option<&str>) -> Sym {
    text.map_or(Sym::EMPTY, |text| interner.sym(text))
}

fn namespace(interner: &mut Interner<'_>, meta: &meta::ObjectMeta) -> Sym {
    interner
        .some_sym(meta.namespace.as_deref())
        .unwrap_or(sym::DEFAULT_NAMESPACE)
}

/// The uid of the owner with `controller: true`.
fn controller_uid(meta: &meta::ObjectMeta) -> Option<Arc<str>> {
    let mut owners = meta.owner_references.iter().flatten();
    owners
        .find(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str().into())
}

/// The class of a claim or volume: the old annotation, even if empty, comes before the field.
fn storage_class_name(
    interner: &mut Interner<'_>,
    meta: &meta::ObjectMeta,
    field: Option<&str>,
) -> Sym {
    let annotated = meta
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(STORAGE_CLASS_ANNOTATION));
    sym_or_empty(interner, annotated.map(String::as_str).or(field))
}

fn storage_amount(
    amounts: Option<&BTreeMap<String, ApiQuantity>>,
    field: &str,
) -> Result<Option<Quantity>, ConvertError> {
    amounts
        .and_then(|amounts| amounts.get("storage"))
        .map(|amount| quantity(&amount.0, || field.to_owned()))
        .transpose()
}

fn access_modes(modes: Option<&[String]>) -> Result<Box<[AccessMode]>, ConvertError> {
    let modes = modes.unwrap_or_default().iter();
    modes
        .map(|mode| {
            Ok(match mode.as_str() {
                "ReadWriteOnce" => AccessMode::ReadWriteOnce,
                "ReadOnlyMany" => AccessMode::ReadOnlyMany,
                "ReadWriteMany" => AccessMode::ReadWriteMany,
                "ReadWriteOncePod" => AccessMode::ReadWriteOncePod,
                other => {
                    return Err(unsupported(
                        "spec.accessModes",
                        other,
                        "ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod",
                    ));
                }
            })
        })
        .collect()
}

fn volume_mode(mode: Option<&str>) -> Result<VolumeMode, ConvertError> {
    match mode {
        None | Some("Filesystem") => Ok(VolumeMode::Filesystem),
        Some("Block") => Ok(VolumeMode::Block),
        Some(other) => Err(unsupported("spec.volumeMode", other, "Filesystem or Block")),
    }
}

fn unsupported(field: &str, value: &str, expected: &str) -> ConvertError {
    ConvertError::new(
        field,
        format!("Unsupported value: {value:?}: expected {expected}"),
    )
}

/// The zones and regions that a volume's labels name, as VolumeZone reads them
/// (`cloud-provider/volume/helpers/zones.go`): several are joined by `__`, and a label with an
/// empty name among them is ignored.
fn topology(
    interner: &mut Interner<'_>,
    labels: Option<&BTreeMap<String, String>>,
) -> Box<[(Sym, Box<[Sym]>)]> {
    let keys = [sym::ZONE_BETA, sym::REGION_BETA, sym::ZONE, sym::REGION];
    keys.into_iter()
        .filter_map(|key| {
            let value = labels?.get(interner.names.text(key))?;
            let zones = value.split("__").map(str::trim);
            if zones.clone().any(str::is_empty) {
                return None;
            }
            let mut values: Vec<Sym> = zones.map(|zone| interner.sym(zone)).collect();
            values.sort();
            values.dedup();
            Some((key, values.into()))
        })
        .collect()
}

#[cfg(test)]
mod tests;
