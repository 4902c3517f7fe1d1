//! Volumes of a pod.

mod projected;

use super::env::{self, Downward};
use crate::common::faults::Faults;
use crate::common::{claim_spec, labels, metadata, name_rules, paths, volume_sources as sources};
use crate::pod::options::Options;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, go, names};

/// Volumes without fault, by name.
pub(super) type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

/// Faults of the volumes; `pod` is the name of the pod, if it is one and has one.
pub(super) fn validate<'a>(
    volumes: &'a [Value],
    pod: Option<&str>,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) -> Volumes<'a> {
    // The claims that will be made for this very pod.
    let created: BTreeSet<String> = volumes
        .iter()
        .filter(|volume| volume.has("ephemeral"))
        .filter_map(|volume| Some(format!("{}-{}", pod?, volume.text("name"))))
        .collect();
    let mut known = Volumes::new();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let at = path.child("name");
        let name = volume.text("name");
        let mut own = ErrorList::new();
        validate_source(volume, pod, options, &path, &mut own);
        if name.is_empty() {
            own.required(&at, "");
        } else {
            own.invalid_each(&at, name, names::dns1123_label(name));
        }
        if known.contains_key(name) {
            own.duplicate(&at, name);
        }
        if own.is_empty() {
            known.insert(name, volume);
        }
        errors.extend(own);
        let claim = volume.at("persistentVolumeClaim").text("claimName");
        if volume.has("persistentVolumeClaim") && created.contains(claim) {
            errors.invalid(
                &path.child("persistentVolumeClaim").child("claimName"),
                claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            );
        }
    }
    known
}

/// The sources in upstream's order of checks: the field, how a second one is called in its refusal,
/// and how its faults are placed.
const SOURCES: &[(&str, &str, &str)] = &[
    ("hostPath", "hostPath", "hostPath"),
    ("gitRepo", "gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk"),
    (
        "awsElasticBlockStore",
        "awsElasticBlockStore",
        "awsElasticBlockStore",
    ),
    ("secret", "secret", "secret"),
    ("nfs", "nfs", "nfs"),
    ("iscsi", "iscsi", "iscsi"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    (
        "persistentVolumeClaim",
        "persistentVolumeClaim",
        "persistentVolumeClaim",
    ),
    ("rbd", "rbd", "rbd"),
    ("cinder", "cinder", "cinder"),
    ("cephfs", "cephFS", "cephfs"),
    ("quobyte", "quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI", "downwardAPI"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("configMap", "configMap", "configMap"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "photonPersistentDisk",
    ),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("storageos", "storageos", "storageos"),
    ("projected", "projected", "projected"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("csi", "csi", "csi"),
    ("ephemeral", "ephemeral", "ephemeral"),
    ("image", "image", "image"),
];

fn validate_source(
    volume: &Value,
    pod: Option<&str>,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut found = volume.has("emptyDir");
    if found && Quantity::of(volume.at("emptyDir").at("sizeLimit")).is_negative() {
        errors.forbidden(
            &path.child("emptyDir").child("sizeLimit"),
            "SizeLimit field must be a valid resource quantity",
        );
    }
    for (field, second, at) in SOURCES {
        if !volume.has(field) {
            continue;
        }
        let source = volume.at(field);
        if found {
            errors.forbidden(
                &path.child(second),
                "may not specify more than 1 volume type",
            );
        } else {
            found = true;
            validate_fields(field, source, options, &path.child(at), errors);
            if *field == "ephemeral" {
                validate_claim_name(volume, pod, path, errors);
            }
        }
        if *field == "iscsi" {
            validate_portal_length(volume, path, errors);
        }
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

fn validate_fields(
    field: &str,
    source: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let required = |fields: &[&str], errors: &mut ErrorList| {
        sources::required_texts(source, fields, path, errors);
    };
    match field {
        "hostPath" => sources::host_path(source, path, errors),
        "gitRepo" => {
            required(&["repository"], errors);
            let directory = source.text("directory");
            paths::local_descending(directory, &path.child("directory"), errors);
        }
        "gcePersistentDisk" => sources::gce_persistent_disk(source, path, errors),
        "awsElasticBlockStore" => sources::aws_elastic_block_store(source, path, errors),
        "secret" => validate_keys(source, "secretName", path, errors),
        "configMap" => validate_keys(source, "name", path, errors),
        "nfs" => sources::nfs(source, path, errors),
        "iscsi" => {
            required(&["targetPortal"], errors);
            sources::iscsi(source, false, path, errors);
        }
        "glusterfs" => sources::glusterfs(source, path, errors),
        "flocker" => sources::flocker(source, path, errors),
        "persistentVolumeClaim" => required(&["claimName"], errors),
        "rbd" => sources::rbd(source, path, errors),
        "cinder" => sources::cinder(source, false, path, errors),
        "cephfs" => sources::ceph_fs(source, path, errors),
        "quobyte" => sources::quobyte(source, path, errors),
        "downwardAPI" => validate_downward(source, path, errors),
        "fc" => sources::fc(source, path, errors),
        "flexVolume" => sources::flex(source, path, errors),
        "azureFile" => sources::azure_file(source, path, errors),
        "vsphereVolume" => required(&["volumePath"], errors),
        "photonPersistentDisk" => required(&["pdID"], errors),
        "portworxVolume" => required(&["volumeID"], errors),
        "azureDisk" => sources::azure_disk(source, path, errors),
        "storageos" => sources::storage_os(source, path, errors),
        "projected" => {
            validate_mode(source, "defaultMode", path, errors);
            projected::validate(source, options, path, errors);
        }
        "scaleIO" => sources::scale_io(source, path, errors),
        "csi" => sources::csi(source, path, errors),
        "ephemeral" => validate_ephemeral(source, path, errors),
        "image" => {
            if options.is_pod {
                required(&["reference"], errors);
            }
            super::validate_pull_policy(
                source.text("pullPolicy"),
                &path.child("pullPolicy"),
                errors,
            );
        }
        _ => {}
    }
}

fn validate_portal_length(volume: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let (name, source) = (volume.text("name"), volume.at("iscsi"));
    let length = name.len() + 1 + source.text("targetPortal").len();
    if source.has("initiatorName") && length > 64 {
        errors.invalid(
            &path.child("name"),
            name,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
        );
    }
}

/// Bits of permission, where they are given.
fn validate_mode(object: &Value, field: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if let Some(mode) = object.int(field).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.invalid(
            &path.child(field),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        );
    }
}

/// Keys of a secret or config map that become files.
fn validate_keys(source: &Value, name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    sources::required_texts(source, &[name], path, errors);
    validate_mode(source, "defaultMode", path, errors);
    let items = path.child("items");
    for (i, item) in source.list("items").iter().enumerate() {
        validate_key_to_path(item, &items.index(i), errors);
    }
}

fn validate_key_to_path(item: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    sources::required_texts(item, &["key", "path"], path, errors);
    paths::local_non_reserved(item.text("path"), &path.child("path"), errors);
    validate_mode(item, "mode", path, errors);
}

fn validate_downward(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    validate_mode(source, "defaultMode", path, errors);
    for item in source.list("items") {
        validate_downward_file(item, path, errors);
    }
}

/// A field of the pod that becomes a file. Upstream places the faults of all files at their list.
fn validate_downward_file(item: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    sources::required_texts(item, &["path"], path, errors);
    paths::local_non_reserved(item.text("path"), &path.child("path"), errors);
    if item.has("fieldRef") {
        let at = path.child("fieldRef");
        env::validate_field_ref(item.at("fieldRef"), Downward::Volume, &at, errors);
        if item.has("resourceFieldRef") {
            errors.invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            );
        }
    } else if item.has("resourceFieldRef") {
        let at = path.child("resourceFieldRef");
        env::validate_resource_ref(item.at("resourceFieldRef"), Downward::Volume, &at, errors);
    } else {
        errors.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    validate_mode(item, "mode", path, errors);
}

fn validate_ephemeral(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let at = path.child("volumeClaimTemplate");
    let template = source.at("volumeClaimTemplate");
    if template.is_null() {
        errors.required(&at, "");
        return;
    }
    let metadata = template.at("metadata");
    let place = at.child("metadata");
    errors.extend(metadata::validate_annotations(
        metadata.at("annotations"),
        &place.child("annotations"),
    ));
    errors.extend(labels::validate(
        metadata.at("labels"),
        &place.child("labels"),
    ));
    // In the order of the fields in Go's struct.
    for (field, shown) in [
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ] {
        if metadata.has(field) {
            errors.forbidden(&place.child(shown), "cannot be set");
        }
    }
    let options = claim_spec::ClaimOptions::default();
    errors.extend(claim_spec::validate(
        template.at("spec"),
        options,
        &at.child("spec"),
    ));
}

/// The claim that is made for an ephemeral volume needs a name that claims may have.
fn validate_claim_name(volume: &Value, pod: Option<&str>, path: &Path<'_>, errors: &mut ErrorList) {
    let name = volume.text("name");
    let Some(pod) = pod.filter(|_| !name.is_empty()) else {
        return;
    };
    let claim = format!("{pod}-{name}");
    let faults = name_rules::dns_subdomain(&claim, false).into_iter();
    let quoted = go::quote(&claim);
    let faults = faults.map(|fault| format!("PVC name {quoted}: {fault}"));
    errors.invalid_each(&path.child("name"), name, faults.collect());
}

/// Whether a stored pod projects a token to a path that leads outside.
pub(in crate::pod) fn has_non_local_token_path(spec: &Value) -> bool {
    let mut errors = ErrorList::new();
    for volume in spec.list("volumes") {
        for source in volume.at("projected").list("sources") {
            let token = source.at("serviceAccountToken");
            if !token.is_null() {
                paths::local_non_reserved(token.text("path"), &Path::ROOT, &mut errors);
            }
        }
    }
    !errors.is_empty()
}
