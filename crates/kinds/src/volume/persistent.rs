//! PersistentVolume.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`, `pkg/registry/core/persistentvolume`,
//! `pkg/api/persistentvolume/util.go`, `pkg/volume/validation/pv_validation.go`.

use super::{OLD_CLASS, set_source_defaults, shown_diff, sources, spec};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::{self, Internal};
use crate::common::{IMMUTABLE, kube_metadata, name_rules, node_labels, node_selector};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, meta};

pub(crate) struct PersistentVolume;

static SPEC: Path<'static> = Path::new("spec");
static METADATA: Path<'static> = Path::new("metadata");
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

impl CreateStrategy for PersistentVolume {
    fn prepare_for_create(&self, object: &mut Value, cx: &Context<'_>) {
        let status = json!({"phase": "Pending", "lastPhaseTransitionTime": cx.now});
        object.set("status", status);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = validate(object, false);
        errors.extend(validate_mount_options(object));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for PersistentVolume {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let required = old.path(&["spec", "nodeAffinity", "required"]);
        let allow = node_selector::has_invalid_value(required);
        let mut errors = validate(new, allow);
        errors.extend(validate_mount_options(new));
        errors.extend(validate(new, allow));
        errors.extend(validate_change(new, old));
        errors
    }
}

impl Strategy for PersistentVolume {
    fn set_defaults(&self, object: &mut Value) {
        let status = object.at_mut("status");
        if status.text("phase").is_empty() {
            status.set("phase", "Pending");
        }
        let spec = object.at_mut("spec");
        if spec.text("persistentVolumeReclaimPolicy").is_empty() {
            spec.set("persistentVolumeReclaimPolicy", "Retain");
        }
        spec.default_to("volumeMode", "Filesystem");
        set_source_defaults(spec);
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings(new)
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&PersistentVolumeStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct PersistentVolumeStatus;

impl CreateStrategy for PersistentVolumeStatus {
    inherit!(create: PersistentVolume);
}

impl UpdateStrategy for PersistentVolumeStatus {
    inherit!(update: PersistentVolume);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, cx: &Context<'_>) {
        keep(new, old, "spec");
        let (now, before) = (new.at("status"), old.at("status"));
        let time = "lastPhaseTransitionTime";
        let given = now.has(time) && now.at(time) != before.at(time);
        if now.text("phase") != before.text("phase") {
            if !given {
                new.at_mut("status").set(time, cx.now);
            }
        } else if !now.has(time) {
            keep(new.at_mut("status"), before, time);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        if new.at("metadata").text("resourceVersion").is_empty() {
            errors.required(&Path::new("resourceVersion"), "");
        }
        errors
    }
}

impl Strategy for PersistentVolumeStatus {
    inherit!(PersistentVolume);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

fn validate(volume: &Value, allow_invalid_values: bool) -> ErrorList {
    let mut errors = kube_metadata::validate(volume, false, &name_rules::dns_subdomain);
    let name = meta::name(volume);
    errors.extend(spec::validate(
        volume.at("spec"),
        name,
        allow_invalid_values,
        &SPEC,
    ));
    errors
}

/// Sources that are mounted with options of their own.
const WITH_OPTIONS: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

fn validate_mount_options(volume: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let takes_options = WITH_OPTIONS
        .iter()
        .any(|field| volume.at("spec").has(field));
    if !takes_options && volume.at("metadata").at("annotations").has(MOUNT_OPTIONS) {
        let path = METADATA.child("annotations");
        let fault = "may not specify mount options for this volume type";
        errors.forbidden(&path.child(MOUNT_OPTIONS), fault);
    }
    errors
}

fn source_of(spec: &Value) -> Value {
    let fields = spec.as_object().into_iter().flatten();
    let own = fields.filter(|(field, _)| sources::is_source(field));
    Value::Object(
        own.map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Map<_, _>>(),
    )
}

fn validate_change(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let (now, before) = (new.at("spec"), old.at("spec"));
    let (mut source, old_source) = (source_of(now), source_of(before));
    // The secret for growing may come later.
    let secret = "controllerExpandSecretRef";
    if old_source.has("csi")
        && !old_source.at("csi").has(secret)
        && let Some(csi) = source.child_mut("csi")
    {
        csi.unset(secret);
    }
    if !same(&source, &old_source) {
        let diff = shown_diff(&source, &old_source, "PersistentVolumeSource");
        let fault = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        errors.forbidden(&SPEC.child("persistentvolumesource"), fault);
    }
    let mode = now.at("volumeMode");
    if mode != before.at("volumeMode") {
        errors.invalid(&Path::new("volumeMode"), mode, IMMUTABLE);
    }
    let (affinity, old_affinity) = (now.at("nodeAffinity"), before.at("nodeAffinity"));
    if !old_affinity.is_null() && !same(affinity, &with_stable_labels(old_affinity, affinity)) {
        let fault = format!("{IMMUTABLE}, except for updating from beta label to GA");
        let path = Path::new("nodeAffinity");
        let affinity = internal::whole(affinity, &["required"], &Value::Null);
        errors.invalid(&path, Internal(&affinity), fault);
    }
    let class = "volumeAttributesClassName";
    if before.has(class) && !now.has(class) {
        let fault = "update from non-nil value to nil is forbidden";
        errors.forbidden(&SPEC.child(class), fault);
    }
    errors
}

/// The old affinity, with old labels renamed where the new one has renamed them.
fn with_stable_labels(old: &Value, new: &Value) -> Value {
    let mut out = old.clone();
    let terms = |affinity: &'_ Value| affinity.at("required").list("nodeSelectorTerms").to_vec();
    let new_terms = terms(new);
    let Some(required) = out.child_mut("required") else {
        return out;
    };
    for (i, term) in required.each_mut("nodeSelectorTerms").enumerate() {
        let now = new_terms.get(i).cloned().unwrap_or_default();
        for list in ["matchExpressions", "matchFields"] {
            let keys: Vec<String> = now
                .list(list)
                .iter()
                .map(|expression| expression.text("key").to_owned())
                .collect();
            for (j, expression) in term.each_mut(list).enumerate() {
                let stable = stable_label(expression.text("key"));
                if keys.get(j).is_some_and(|key| key == stable) {
                    expression.set("key", stable);
                }
            }
        }
    }
    out
}

/// The label that has taken the place of `key`; none is empty, which a new key may be too.
fn stable_label(key: &str) -> &'static str {
    match key {
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        _ => "",
    }
}

fn warnings(volume: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = volume.at("metadata").at("annotations");
    for (key, text) in [
        (
            OLD_CLASS,
            r#"deprecated since v1.8; use "storageClassName" attribute instead"#,
        ),
        (
            MOUNT_OPTIONS,
            r#"deprecated since v1.31; use "mountOptions" attribute instead"#,
        ),
    ] {
        if annotations.has(key) {
            warnings.push(format!("metadata.annotations[{key}]: {text}"));
        }
    }
    let spec = volume.at("spec");
    if spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        warnings.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".to_owned());
    }
    let path = SPEC.child("nodeAffinity");
    let path = path.child("required");
    let path = path.child("nodeSelectorTerms");
    let required = spec.at("nodeAffinity").at("required");
    for (i, term) in required.list("nodeSelectorTerms").iter().enumerate() {
        warnings.extend(node_labels::warnings_for_term(term, false, &path.index(i)));
    }
    for (field, name, text) in [
        (
            "cephfs",
            "cephfs",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "scaleIO",
            "scaleIO",
            "deprecated in v1.16, non-functional in v1.22+",
        ),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
        (
            "rbd",
            "rbd",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
    ] {
        if spec.has(field) {
            warnings.push(format!("spec.{name}: {text}"));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ALONE, faults, update_faults};

    fn volume(spec: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": spec});
        PersistentVolume.set_defaults(&mut object);
        object
    }

    fn plain() -> Value {
        json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"}})
    }

    #[test]
    fn a_volume_has_room_access_and_one_source() {
        assert!(faults(&PersistentVolume, &volume(plain())).is_empty());
        assert_eq!(
            faults(&PersistentVolume, &volume(json!({}))),
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                "spec.capacity: Unsupported value: null: supported values: \"storage\"",
                "spec: Required value: must specify a volume type",
            ]
        );
        let mut two = plain();
        two["local"] = json!({"path": "/x"});
        two["capacity"] = json!({"storage": "0"});
        assert_eq!(
            faults(&PersistentVolume, &volume(two)),
            [
                "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero",
                "spec.local: Forbidden: may not specify more than 1 volume type",
            ]
        );
    }

    #[test]
    fn a_local_volume_is_somewhere() {
        let mut spec = plain();
        spec["hostPath"] = json!(null);
        spec["local"] = json!({"path": "/x/../y"});
        assert_eq!(
            faults(&PersistentVolume, &volume(spec)),
            [
                "spec.local.path: Invalid value: \"/x/../y\": must not contain '..'",
                "spec.nodeAffinity: Required value: Local volume requires node affinity",
            ]
        );
    }

    #[test]
    fn the_source_stays() {
        let old = volume(plain());
        let mut new = old.clone();
        new["spec"]["hostPath"]["path"] = json!("/other");
        new["spec"]["volumeMode"] = json!("Block");
        let found = update_faults(&PersistentVolume, &new, &old);
        let first = "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n";
        assert!(found[0].starts_with(first), "{}", found[0]);
        assert_eq!(
            found[1],
            "volumeMode: Invalid value: \"Block\": field is immutable"
        );
    }

    #[test]
    fn old_labels_may_be_renamed() {
        let affinity = |key: &str| {
            let expression = json!({"key": key, "operator": "In", "values": ["a"]});
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}})
        };
        let with = |key: &str| {
            let mut spec = plain();
            spec["nodeAffinity"] = affinity(key);
            volume(spec)
        };
        let old = with("failure-domain.beta.kubernetes.io/zone");
        let renamed = with("topology.kubernetes.io/zone");
        assert!(update_faults(&PersistentVolume, &renamed, &old).is_empty());
        assert_eq!(
            update_faults(&PersistentVolume, &with("other"), &old).len(),
            1
        );
    }

    #[test]
    fn phases_are_dated() {
        let mut new = volume(plain());
        crate::tests::create(&PersistentVolume, &mut new);
        let time = "lastPhaseTransitionTime";
        assert_eq!(new["status"][time], ALONE.now);
        let mut old = new.clone();
        old["status"][time] = json!("2000-01-01T00:00:00Z");
        new["status"] = json!({"phase": "Pending"});
        PersistentVolumeStatus.prepare_for_update(&mut new, &old, &ALONE);
        assert_eq!(new["status"][time], old["status"][time]);
        new["status"]["phase"] = json!("Bound");
        PersistentVolumeStatus.prepare_for_update(&mut new, &old, &ALONE);
        assert_eq!(new["status"][time], ALONE.now);
    }
}
