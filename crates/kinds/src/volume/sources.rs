//! Where a persistent volume's bytes are: exactly one source.
//!
//! Upstream: `ValidatePersistentVolumeSpec` of `pkg/apis/core/validation/validation.go`.

use crate::common::faults::Faults;
use crate::common::{name_rules, paths, volume_sources as common};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

type Check = fn(&Value, &Path<'_>, &mut ErrorList);

/// A kind of source.
struct Source {
    field: &'static str,
    /// What it is called when it is one too many, and when it is faulty itself.
    names: (&'static str, &'static str),
    check: Check,
}

const fn source(field: &'static str, check: Check) -> Source {
    Source {
        field,
        names: (field, field),
        check,
    }
}

/// In the order in which upstream looks at them; two have names of their own in errors.
static SOURCES: &[Source] = &[
    source("hostPath", common::host_path),
    Source {
        names: ("gcePersistentDisk", "persistentDisk"),
        ..source("gcePersistentDisk", common::gce_persistent_disk)
    },
    source("awsElasticBlockStore", common::aws_elastic_block_store),
    source("glusterfs", glusterfs),
    source("flocker", common::flocker),
    source("nfs", common::nfs),
    source("rbd", common::rbd),
    source("quobyte", common::quobyte),
    Source {
        names: ("cephFS", "cephfs"),
        ..source("cephfs", common::ceph_fs)
    },
    source("iscsi", |source, path, errors| {
        common::iscsi(source, true, path, errors);
    }),
    source("cinder", |source, path, errors| {
        common::cinder(source, true, path, errors);
    }),
    source("fc", common::fc),
    source("flexVolume", common::flex),
    source("azureFile", azure_file),
    source("vsphereVolume", |source, path, errors| {
        common::required_texts(source, &["volumePath"], path, errors);
    }),
    source("photonPersistentDisk", |source, path, errors| {
        common::required_texts(source, &["pdID"], path, errors);
    }),
    source("portworxVolume", |source, path, errors| {
        common::required_texts(source, &["volumeID"], path, errors);
    }),
    source("azureDisk", common::azure_disk),
    source("scaleIO", common::scale_io),
    source("local", local),
    source("storageos", storage_os),
    source("csi", csi),
];

/// Faults of the sources of a spec; the volume's name counts for iSCSI.
pub(super) fn validate(spec: &Value, name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let mut found = false;
    for source in SOURCES.iter().filter(|source| spec.has(source.field)) {
        let value = spec.at(source.field);
        let (as_extra, as_one) = source.names;
        // A flex volume is never one too many.
        if found && source.field != "flexVolume" {
            let fault = "may not specify more than 1 volume type";
            errors.forbidden(&path.child(as_extra), fault);
            continue;
        }
        found = true;
        let path_of_source = path.child(as_one);
        if source.field == "iscsi" {
            validate_portal(value, name, &path_of_source, errors);
        }
        (source.check)(value, &path_of_source, errors);
        if source.field == "local" && !spec.has("nodeAffinity") {
            let fault = "Local volume requires node affinity";
            errors.required(&path.child("nodeAffinity"), fault);
        }
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

/// Whether a field of the spec is a source.
pub(super) fn is_source(field: &str) -> bool {
    SOURCES.iter().any(|source| source.field == field)
}

fn validate_portal(source: &Value, name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let portal = source.text("targetPortal");
    if portal.is_empty() {
        errors.required(&path.child("targetPortal"), "");
    }
    if source.has("initiatorName") && name.len() + 1 + portal.len() > 64 {
        let fault = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.invalid(&path.child("targetportal"), portal, fault);
    }
}

fn glusterfs(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    common::glusterfs(source, path, errors);
    let Some(namespace) = source.at("endpointsNamespace").as_str() else {
        return;
    };
    let path = path.child("endpointsNamespace");
    match namespace {
        "" => {
            let fault = "if the endpointnamespace is set, it must be a valid namespace name";
            errors.invalid(&path, namespace, fault);
        }
        namespace => errors.invalid_each(&path, namespace, names::dns1123_label(namespace)),
    }
}

fn azure_file(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    common::azure_file(source, path, errors);
    if source.at("secretNamespace") == "" {
        errors.required(&path.child("secretNamespace"), "");
    }
}

fn local(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let path = path.child("path");
    match source.text("path") {
        "" => errors.required(&path, ""),
        target => paths::no_backsteps(target, &path, errors),
    }
}

fn storage_os(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    common::storage_os(source, path, errors);
    if source.has("secretRef") && source.at("secretRef").text("namespace").is_empty() {
        errors.required(&path.child("secretRef").child("namespace"), "");
    }
}

fn csi(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    common::csi_driver_name(source.text("driver"), &path.child("driver"), errors);
    common::required_texts(source, &["volumeHandle"], path, errors);
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let secret = source.at(field);
        if secret.is_null() {
            continue;
        }
        let path = path.child(field);
        match secret.text("name") {
            "" => errors.required(&path.child("name"), ""),
            name => {
                let faults = name_rules::dns_subdomain(name, false);
                errors.invalid_each(&path.child("name"), name, faults);
            }
        }
        match secret.text("namespace") {
            "" => errors.required(&path.child("namespace"), ""),
            name => {
                let faults = names::dns1123_label(name);
                errors.invalid_each(&path.child("namespace"), name, faults);
            }
        }
    }
}
