//! Defaults of volumes.

use super::containers::field_ref;
use super::{default_text, resources};
use crate::pod::image;
use serde_json::{Map, Value};
use stowplan_apimachinery::{Edit, View};

const MODE: i64 = 0o644;
const TOKEN_SECONDS: i64 = 3600;

pub(super) fn volume(volume: &mut Value) {
    let sourced = volume
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(k, v)| k != "name" && !v.is_null()));
    if !sourced {
        volume.set("emptyDir", Map::new());
        return;
    }
    for field in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.child_mut(field) {
            source.default_to("defaultMode", MODE);
        }
    }
    if let Some(source) = volume.child_mut("downwardAPI") {
        downward(source);
    }
    if let Some(source) = volume.child_mut("projected") {
        source.each_mut("sources").for_each(projection);
    }
    if let Some(source) = volume.child_mut("hostPath") {
        source.default_to("type", "");
    }
    if let Some(source) = volume.child_mut("image") {
        let policy = match image::is_latest(source.text("reference")) {
            true => "Always",
            false => "IfNotPresent",
        };
        default_text(source, "pullPolicy", policy);
    }
    if let Some(template) = volume
        .child_mut("ephemeral")
        .and_then(|source| source.child_mut("volumeClaimTemplate"))
    {
        claim_spec(template.at_mut("spec"));
    }
    of_vendors(volume);
}

/// The defaults of a claim's spec, wherever it stands.
pub(crate) fn claim_spec(spec: &mut Value) {
    spec.default_to("volumeMode", "Filesystem");
    if let Some(own) = spec.child_mut("resources") {
        resources::round(own);
    }
}

fn downward(source: &mut Value) {
    for item in source.each_mut("items") {
        if let Some(field) = item.child_mut("fieldRef") {
            field_ref(field);
        }
    }
}

fn projection(source: &mut Value) {
    if let Some(own) = source.child_mut("downwardAPI") {
        downward(own);
    }
    if let Some(token) = source.child_mut("serviceAccountToken") {
        token.default_to("expirationSeconds", TOKEN_SECONDS);
    }
}

/// Defaults of the sources that pods and persistent volumes share.
pub(crate) fn of_vendors(volume: &mut Value) {
    if let Some(source) = volume.child_mut("iscsi") {
        default_text(source, "iscsiInterface", "default");
    }
    if let Some(source) = volume.child_mut("rbd") {
        default_text(source, "pool", "rbd");
        default_text(source, "user", "admin");
        default_text(source, "keyring", "/etc/ceph/keyring");
    }
    if let Some(source) = volume.child_mut("azureDisk") {
        source.default_to("cachingMode", "ReadWrite");
        source.default_to("fsType", "ext4");
        source.default_to("readOnly", false);
        source.default_to("kind", "Shared");
    }
    if let Some(source) = volume.child_mut("scaleIO") {
        default_text(source, "storageMode", "ThinProvisioned");
        default_text(source, "fsType", "xfs");
    }
}
