//! Where the data of a volume comes from, as far as pods and persistent volumes agree on it.
//!
//! Upstream: `validate*VolumeSource` in `pkg/apis/core/validation/validation.go`.

use super::faults::Faults;
use super::{name_rules, paths};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// Says which of the texts are missing.
pub fn required_texts(source: &Value, fields: &[&str], path: &Path<'_>, errors: &mut ErrorList) {
    for field in fields {
        if source.text(field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
}

/// A folder or file of the host.
pub fn host_path(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let target = source.text("path");
    if target.is_empty() {
        errors.required(&path.child("path"), "");
        return;
    }
    paths::no_backsteps(target, &path.child("path"), errors);
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let kind = source.text("type");
    if !TYPES.contains(&kind) {
        errors.not_supported(&path.child("type"), kind, &TYPES);
    }
}

/// A number that counts partitions from one, or zero for none.
fn partition(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let partition = source.int("partition").unwrap_or_default();
    if !(0..=255).contains(&partition) {
        errors.invalid(
            &path.child("partition"),
            partition,
            names::range_error(1, 255),
        );
    }
}

/// A disk of Google's.
pub fn gce_persistent_disk(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["pdName"], path, errors);
    partition(source, path, errors);
}

/// A disk of Amazon's.
pub fn aws_elastic_block_store(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["volumeID"], path, errors);
    partition(source, path, errors);
}

/// A share on a server.
pub fn nfs(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["server", "path"], path, errors);
    let target = source.text("path");
    if !target.starts_with('/') {
        errors.invalid(&path.child("path"), target, "must be an absolute path");
    }
}

/// The name of an iSCSI party: `iqn.`, `eui.` or `naa.` and what each demands.
pub fn iscsi_name_fault(name: &str) -> Option<IscsiFault> {
    let alnum = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric());
    let of_length = |length: usize| {
        // The fourth character may be anything.
        let rest: String = name.chars().skip(4).collect();
        name.chars().count() == length + 4 && rest.len() == length && alnum(&rest)
    };
    let good = match name.get(..3) {
        Some("iqn") => is_iqn(name),
        Some("eui") => of_length(16),
        Some("naa") => of_length(32),
        _ => return Some(IscsiFault::Start),
    };
    (!good).then_some(IscsiFault::Format)
}

/// What is wrong with the name of an iSCSI party.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IscsiFault {
    /// It starts with none of the three words.
    Start,
    /// It is malformed.
    Format,
}

/// `iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`, anywhere in the text.
fn is_iqn(name: &str) -> bool {
    name.match_indices("iqn.").any(|(at, start)| {
        let rest = &name[at + start.len()..];
        let Some((date, rest)) = rest.split_at_checked(8) else {
            return false;
        };
        let digit = |i: usize| date.as_bytes().get(i).is_some_and(u8::is_ascii_digit);
        let dated = [0, 1, 2, 3, 5, 6].into_iter().all(digit)
            && date.as_bytes().get(4) == Some(&b'-')
            && date.ends_with('.');
        let Some((host, unique)) = rest.split_once(':') else {
            return false;
        };
        let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
        let free =
            |c: char| !",;*&$|".contains(c) && !matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r');
        dated
            && !host.is_empty()
            && host.bytes().all(word)
            && !unique.is_empty()
            && unique.chars().all(free)
    })
}

/// A disk over iSCSI. Persistent volumes say `must be valid format` of every bad name.
pub fn iscsi(source: &Value, persistent: bool, path: &Path<'_>, errors: &mut ErrorList) {
    const FORMAT: &str = "must be valid format";
    let start = match persistent {
        true => FORMAT,
        false => "must be valid format starting with iqn, eui, or naa",
    };
    let words = |fault: IscsiFault| match fault {
        IscsiFault::Start => start,
        IscsiFault::Format => FORMAT,
    };
    let iqn = source.text("iqn");
    if iqn.is_empty() {
        errors.required(&path.child("iqn"), "");
    } else if let Some(fault) = iscsi_name_fault(iqn) {
        errors.invalid(&path.child("iqn"), iqn, words(fault));
    }
    let lun = source.int("lun").unwrap_or_default();
    if !(0..=255).contains(&lun) {
        errors.invalid(&path.child("lun"), lun, names::range_error(0, 255));
    }
    let auth = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    if auth && !source.has("secretRef") {
        errors.required(&path.child("secretRef"), "");
    }
    if persistent && source.has("secretRef") {
        secret_name(source, path, errors);
    }
    if source.has("initiatorName") {
        let initiator = source.text("initiatorName");
        if let Some(fault) = iscsi_name_fault(initiator) {
            errors.invalid(&path.child("initiatorname"), initiator, words(fault));
        }
    }
}

/// The secret that is referred to has a name.
fn secret_name(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if source.at("secretRef").text("name").is_empty() {
        errors.required(&path.child("secretRef").child("name"), "");
    }
}

/// A disk over fibre channel.
pub fn fc(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let names_of_targets = source.list("targetWWNs");
    let ids = source.list("wwids");
    let at = path.child("targetWWNs");
    if names_of_targets.is_empty() && ids.is_empty() {
        errors.required(&at, "must specify either targetWWNs or wwids, but not both");
    }
    if !names_of_targets.is_empty() && !ids.is_empty() {
        errors.invalid(
            &at,
            source.at("targetWWNs"),
            "targetWWNs and wwids can not be specified simultaneously",
        );
    }
    if names_of_targets.is_empty() {
        return;
    }
    match source.int("lun") {
        None => errors.required(
            &path.child("lun"),
            "lun is required if targetWWNs is specified",
        ),
        Some(0..=255) => {}
        Some(lun) => errors.invalid(&path.child("lun"), lun, names::range_error(0, 255)),
    }
}

/// A volume of Quobyte's.
pub fn quobyte(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.text("registry");
    if registry.is_empty() {
        errors.required(&path.child("registry"), PAIRS);
    } else if source.text("tenant").len() >= 65 {
        errors.required(
            &path.child("tenant"),
            "must be a UUID and may not exceed a length of 64 characters",
        );
    } else {
        for pair in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            let _ = pair;
            errors.invalid(&path.child("registry"), registry, PAIRS);
        }
    }
    required_texts(source, &["volume"], path, errors);
}

/// What Go's `net.SplitHostPort` splits.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else {
        return false;
    };
    let inner = match host.strip_prefix('[') {
        Some(rest) => match rest.strip_suffix(']') {
            Some(inner) => inner,
            None => return false,
        },
        None if host.contains(':') => return false,
        None => host,
    };
    !inner.contains(['[', ']']) && !port.contains(['[', ']'])
}

/// A volume of Gluster's.
pub fn glusterfs(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["endpoints", "path"], path, errors);
}

/// A volume of Flocker's.
pub fn flocker(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let (name, uuid) = (source.text("datasetName"), source.text("datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        errors.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        errors.invalid(
            path,
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
        );
    }
    if name.contains('/') {
        errors.invalid(&path.child("datasetName"), name, "must not contain '/'");
    }
}

/// An image in a Ceph cluster.
pub fn rbd(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    ceph_fs(source, path, errors);
    required_texts(source, &["image"], path, errors);
}

/// A file system of a Ceph cluster.
pub fn ceph_fs(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if source.list("monitors").is_empty() {
        errors.required(&path.child("monitors"), "");
    }
}

/// A disk of OpenStack's. In persistent volumes the secret has a namespace.
pub fn cinder(source: &Value, persistent: bool, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["volumeID"], path, errors);
    if source.has("secretRef") {
        secret_name(source, path, errors);
        if persistent && source.at("secretRef").text("namespace").is_empty() {
            errors.required(&path.child("secretRef").child("namespace"), "");
        }
    }
}

/// A volume of a driver on the node's disk.
pub fn flex(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["driver"], path, errors);
    let options = path.child("options");
    for (key, _) in source.entries("options") {
        let domain = key.split_once('/').map_or(key, |(domain, _)| domain);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            errors.invalid(
                &options.key(key),
                key,
                "kubernetes.io and k8s.io namespaces are reserved",
            );
        }
    }
}

/// A share of Azure's.
pub fn azure_file(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["secretName", "shareName"], path, errors);
}

/// A disk of Azure's.
pub fn azure_disk(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const CACHING: [&str; 3] = ["None", "ReadOnly", "ReadWrite"];
    const KINDS: [&str; 3] = ["Dedicated", "Managed", "Shared"];
    required_texts(source, &["diskName", "diskURI"], path, errors);
    let caching = source.text("cachingMode");
    if source.has("cachingMode") && !CACHING.contains(&caching) {
        errors.not_supported(&path.child("cachingMode"), caching, &CACHING);
    }
    if !source.has("kind") {
        return;
    }
    let kind = source.text("kind");
    if !KINDS.contains(&kind) {
        errors.not_supported(&path.child("kind"), kind, &KINDS);
    }
    let (start, form) = match kind {
        "Managed" => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        _ => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    let uri = source.text("diskURI");
    if !uri.starts_with(start) {
        errors.not_supported(&path.child("diskURI"), uri, &[form]);
    }
}

/// A volume of StorageOS's.
pub fn storage_os(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    for (field, needed) in [("volumeName", true), ("volumeNamespace", false)] {
        let name = source.text(field);
        match name.is_empty() {
            true if needed => errors.required(&path.child(field), ""),
            true => {}
            false => {
                errors.invalid_each(&path.child(field), name, names::dns1123_label(name));
            }
        }
    }
    if source.has("secretRef") {
        secret_name(source, path, errors);
    }
}

/// A volume of ScaleIO's.
pub fn scale_io(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    required_texts(source, &["gateway", "system", "volumeName"], path, errors);
}

/// The name of a CSI driver.
pub fn csi_driver_name(driver: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if driver.is_empty() {
        errors.required(path, "");
        return;
    }
    if driver.len() > 63 {
        errors.push(Error::too_long(path, 63));
    }
    let faults = names::dns1123_subdomain(&driver.to_lowercase());
    errors.invalid_each(path, driver, faults);
}

/// A volume that a CSI driver makes for one pod.
pub fn csi(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    csi_driver_name(source.text("driver"), &path.child("driver"), errors);
    if source.has("nodePublishSecretRef") {
        let name = source.at("nodePublishSecretRef").text("name");
        if name.is_empty() {
            errors.required(&path.child("nodePublishSecretRef").child("name"), "");
        } else {
            let faults = name_rules::dns_subdomain(name, false);
            errors.invalid_each(&path.child("name"), name, faults);
        }
    }
}

#[cfg(test)]
#[path = "volume_sources_tests.rs"]
mod tests;
