//! In-tree volumes as their CSI drivers know them. Upstream's `k8s.io/csi-translation-lib`.
//!
//! Only what scheduling reads is translated: the volume handle and the topology. Handles of Azure
//! File and vSphere are never read, because no scheduling rule counts these two as migrated.

use super::Interner;
use super::selector::node_selector;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_base::{Sym, sym};
use stowplan_engine::model::{CsiMigration, MigratedVolume};

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONE_BETA: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const REGION_BETA: &str = "failure-domain.beta.kubernetes.io/region";
const UNSPECIFIED: &str = "UNSPECIFIED";

/// What an in-tree volume of a pod becomes; `None` for volumes of any other kind.
pub(super) fn migration(
    interner: &mut Interner<'_>,
    volume: &core::Volume,
) -> Option<CsiMigration> {
    let (plugin, handle) = if let Some(source) = &volume.gce_persistent_disk {
        (sym::GCE_PD_PLUGIN, Ok(gce_handle(None, &source.pd_name)))
    } else if let Some(source) = &volume.aws_elastic_block_store {
        (sym::AWS_EBS_PLUGIN, aws_handle(&source.volume_id))
    } else if let Some(source) = &volume.cinder {
        (sym::CINDER_PLUGIN, Ok(source.volume_id.clone()))
    } else if let Some(source) = &volume.azure_disk {
        (sym::AZURE_DISK_PLUGIN, azure_disk_handle(source))
    } else if volume.azure_file.is_some() {
        (sym::AZURE_FILE_PLUGIN, Ok(String::new()))
    } else if volume.vsphere_volume.is_some() {
        (sym::VSPHERE_PLUGIN, Ok(String::new()))
    } else if let Some(source) = &volume.portworx_volume {
        (sym::PORTWORX_PLUGIN, Ok(source.volume_id.clone()))
    } else {
        return None;
    };
    Some(csi_migration(interner, plugin, handle))
}

/// What a persistent volume with an in-tree source becomes; `None` for any other.
pub(super) fn migrated_volume(
    interner: &mut Interner<'_>,
    volume: &core::PersistentVolume,
) -> Option<MigratedVolume> {
    let spec = volume.spec.as_ref()?;
    let labels = volume.metadata.labels.as_ref();
    let (plugin, handle, topology_key) = if let Some(source) = &spec.gce_persistent_disk {
        let handle = gce_volume_handle(labels, &source.pd_name);
        (sym::GCE_PD_PLUGIN, handle, Some("topology.gke.io/zone"))
    } else if let Some(source) = &spec.aws_elastic_block_store {
        let key = "topology.ebs.csi.aws.com/zone";
        (
            sym::AWS_EBS_PLUGIN,
            aws_handle(&source.volume_id),
            Some(key),
        )
    } else if let Some(source) = &spec.cinder {
        let key = "topology.cinder.csi.openstack.org/zone";
        (sym::CINDER_PLUGIN, Ok(source.volume_id.clone()), Some(key))
    } else if let Some(source) = &spec.azure_disk {
        (sym::AZURE_DISK_PLUGIN, azure_disk_handle(source), None)
    } else if spec.azure_file.is_some() {
        (sym::AZURE_FILE_PLUGIN, Ok(String::new()), None)
    } else if spec.vsphere_volume.is_some() {
        (sym::VSPHERE_PLUGIN, Ok(String::new()), None)
    } else if let Some(source) = &spec.portworx_volume {
        (sym::PORTWORX_PLUGIN, Ok(source.volume_id.clone()), None)
    } else {
        return None;
    };
    let affinity = spec.node_affinity.as_ref().and_then(|a| a.required.clone());
    let affinity = match topology_key {
        Some(key) => translate_topology(affinity, labels, key),
        None => affinity,
    };
    Some(MigratedVolume {
        migration: csi_migration(interner, plugin, handle),
        node_affinity: affinity.map(|affinity| node_selector(interner, &affinity)),
    })
}

fn csi_migration(
    interner: &mut Interner<'_>,
    plugin: Sym,
    handle: Result<String, String>,
) -> CsiMigration {
    CsiMigration {
        plugin,
        handle: handle
            .map(|handle| interner.sym(&handle))
            .map_err(Into::into),
    }
}

/// `aws://ZONE/vol-1`, `aws:///vol-1` or `vol-1` → `vol-1`.
fn aws_handle(id: &str) -> Result<String, String> {
    let Some(rest) = id.strip_prefix("aws://") else {
        return Ok(id.to_owned());
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let volume = path.trim_matches('/');
    if volume.starts_with("vol-") && !volume.contains('/') {
        return Ok(volume.to_owned());
    }
    Err(format!(
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({id})"
    ))
}

fn azure_disk_handle(source: &core::AzureDiskVolumeSource) -> Result<String, String> {
    match &source.kind {
        Some(kind) if !kind.eq_ignore_ascii_case("Managed") => {
            Err(format!("kind({kind}) is not supported in csi migration"))
        }
        _ => Ok(source.disk_uri.clone()),
    }
}

fn gce_handle(zone: Option<&str>, disk: &str) -> String {
    let zone = zone.unwrap_or(UNSPECIFIED);
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{disk}")
}

/// The zone or, if there are several, the region is part of the handle.
fn gce_volume_handle(
    labels: Option<&BTreeMap<String, String>>,
    disk: &str,
) -> Result<String, String> {
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .filter(|value| !value.is_empty())
    };
    let Some(zones) = label(ZONE_BETA).or_else(|| label(ZONE)) else {
        return Ok(gce_handle(None, disk));
    };
    if !zones.contains("__") {
        return Ok(gce_handle(Some(zones), disk));
    }
    let region =
        gce_region(zones).map_err(|error| format!("failed to get region from zones: {error}"))?;
    Ok(format!(
        "projects/{UNSPECIFIED}/regions/{region}/disks/{disk}"
    ))
}

/// `us-central1-a__us-central1-b` → `us-central1`.
fn gce_region(zones: &str) -> Result<&str, String> {
    let mut regions = BTreeSet::new();
    for zone in zones.split("__") {
        if zone.split('-').count() != 3 {
            return Err(format!(
                "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            ));
        }
        regions.extend(zone.rsplit_once('-').map(|(region, _)| region));
    }
    if regions.len() > 1 {
        return Err(format!(
            "multiple or no regions gotten from zones, got: {regions:?}"
        ));
    }
    regions
        .pop_first()
        .ok_or_else(|| "no zones specified".to_owned())
}

/// Replaces the zone of a volume's node affinity by the driver's own topology key; if there is
/// none, the zone label is added instead. Beta region keys become GA ones.
fn translate_topology(
    mut affinity: Option<core::NodeSelector>,
    labels: Option<&BTreeMap<String, String>>,
    csi_key: &str,
) -> Option<core::NodeSelector> {
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let beta = !has_key(affinity.as_ref(), ZONE)
        && (has_key(affinity.as_ref(), ZONE_BETA)
            || label(ZONE).is_none() && label(ZONE_BETA).is_some());
    let zone_key = if beta { ZONE_BETA } else { ZONE };
    if has_values(affinity.as_ref(), zone_key) {
        replace_key(affinity.as_mut(), zone_key, csi_key);
    } else if let Some(zones) = label(zone_key) {
        affinity = add_topology(affinity, csi_key, zones);
    }
    if beta && has_values(affinity.as_ref(), REGION_BETA) {
        replace_key(affinity.as_mut(), REGION_BETA, REGION);
    }
    affinity
}

fn requirements(
    affinity: Option<&core::NodeSelector>,
) -> impl Iterator<Item = &core::NodeSelectorRequirement> {
    affinity
        .into_iter()
        .flat_map(|affinity| &affinity.node_selector_terms)
        .flat_map(|term| term.match_expressions.iter().flatten())
}

fn has_key(affinity: Option<&core::NodeSelector>, key: &str) -> bool {
    requirements(affinity).any(|r| r.key == key)
}

fn has_values(affinity: Option<&core::NodeSelector>, key: &str) -> bool {
    requirements(affinity).any(|r| r.key == key && r.values.as_ref().is_some_and(|v| !v.is_empty()))
}

fn replace_key(affinity: Option<&mut core::NodeSelector>, old: &str, new: &str) {
    let requirements = affinity
        .into_iter()
        .flat_map(|affinity| &mut affinity.node_selector_terms)
        .flat_map(|term| term.match_expressions.iter_mut().flatten());
    for requirement in requirements.filter(|r| r.key == old) {
        new.clone_into(&mut requirement.key);
    }
}

/// Adds `key in zones` to every term, or as the only term.
fn add_topology(
    affinity: Option<core::NodeSelector>,
    key: &str,
    zones: &str,
) -> Option<core::NodeSelector> {
    let zones: BTreeSet<&str> = zones
        .split("__")
        .map(str::trim)
        .filter(|zone| !zone.is_empty())
        .collect();
    if zones.is_empty() {
        return affinity;
    }
    let mut affinity = affinity.unwrap_or_default();
    if affinity.node_selector_terms.is_empty() {
        affinity.node_selector_terms.push(Default::default());
    }
    for term in &mut affinity.node_selector_terms {
        let requirement = core::NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: Some(zones.iter().map(|zone| (*zone).to_owned()).collect()),
        };
        term.match_expressions
            .get_or_insert_default()
            .push(requirement);
    }
    Some(affinity)
}
