//! Volumes, claims, and storage.k8s.io.

use super::text::{annotation, or, terminating};
use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static PERSISTENT_VOLUMES: Columns =
    Columns::new("persistentvolumes", |object, now_s| {
        let spec = object.at("spec");
        let claim = match spec.at("claimRef") {
            Value::Null => String::new(),
            claim => format!("{}/{}", claim.text("namespace"), claim.text("name")),
        };
        vec![
            json!(meta::name(object)),
            json!(or(spec.at("capacity").text("storage"), "0")),
            json!(access_modes(spec)),
            json!(spec.text("persistentVolumeReclaimPolicy")),
            json!(phase(object)),
            json!(claim),
            json!(class(object)),
            json!(set_or_not(spec, "volumeAttributesClassName")),
            json!(object.at("status").text("reason")),
            json!(age::of(object, now_s)),
            json!(set_or_not(spec, "volumeMode")),
        ]
    });

pub(crate) static PERSISTENT_VOLUME_CLAIMS: Columns =
    Columns::new("persistentvolumeclaims", |object, now_s| {
        let (spec, status) = (object.at("spec"), object.at("status"));
        let (capacity, modes) = match spec.text("volumeName") {
            "" => ("", String::new()),
            _ => (
                or(status.at("capacity").text("storage"), "0"),
                access_modes(status),
            ),
        };
        vec![
            json!(meta::name(object)),
            json!(phase(object)),
            json!(spec.text("volumeName")),
            json!(capacity),
            json!(modes),
            json!(class(object)),
            json!(set_or_not(spec, "volumeAttributesClassName")),
            json!(age::of(object, now_s)),
            json!(set_or_not(spec, "volumeMode")),
        ]
    });

pub(crate) static STORAGE_CLASSES: Columns = Columns::new("storageclasses", |object, now_s| {
    let default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    let mark = match default.iter().any(|key| annotation(object, key) == "true") {
        true => " (default)",
        false => "",
    };
    vec![
        json!(format!("{}{mark}", meta::name(object))),
        json!(object.text("provisioner")),
        json!(object.at("reclaimPolicy").as_str().unwrap_or("Delete")),
        json!(
            object
                .at("volumeBindingMode")
                .as_str()
                .unwrap_or("Immediate")
        ),
        json!(object.flag("allowVolumeExpansion")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static VOLUME_ATTRIBUTES_CLASSES: Columns =
    Columns::new("volumeattributesclasses", |object, now_s| {
        vec![
            json!(meta::name(object)),
            json!(object.text("driverName")),
            json!(age::of(object, now_s)),
        ]
    });

pub(crate) static CSI_NODES: Columns = Columns::new("csinodes", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(object.at("spec").list("drivers").len()),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static CSI_DRIVERS: Columns = Columns::new("csidrivers", |object, now_s| {
    let spec = object.at("spec");
    let tokens = match spec.at("tokenRequests") {
        Value::Null => "<unset>".to_owned(),
        _ => {
            let requests = spec.list("tokenRequests").iter();
            let audiences: Vec<&str> = requests.map(|r| r.text("audience")).collect();
            audiences.join(",")
        }
    };
    let modes = spec.list("volumeLifecycleModes").iter();
    let modes: Vec<&str> = modes.filter_map(Value::as_str).collect();
    vec![
        json!(meta::name(object)),
        json!(spec.at("attachRequired").as_bool().unwrap_or(true)),
        json!(spec.flag("podInfoOnMount")),
        json!(spec.flag("storageCapacity")),
        json!(tokens),
        json!(spec.flag("requiresRepublish")),
        json!(or(&modes.join(","), "<none>")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static VOLUME_ATTACHMENTS: Columns =
    Columns::new("volumeattachments", |object, now_s| {
        let spec = object.at("spec");
        vec![
            json!(meta::name(object)),
            json!(spec.text("attacher")),
            json!(spec.at("source").text("persistentVolumeName")),
            json!(spec.text("nodeName")),
            json!(object.at("status").flag("attached")),
            json!(age::of(object, now_s)),
        ]
    });

fn phase(object: &Value) -> &str {
    match terminating(object) {
        true => "Terminating",
        false => object.at("status").text("phase"),
    }
}

/// The storage class; the old annotation goes first.
fn class(object: &Value) -> &str {
    let annotations = object.at("metadata").at("annotations");
    match annotations.at("volume.beta.kubernetes.io/storage-class") {
        Value::String(class) => class,
        _ => object.at("spec").text("storageClassName"),
    }
}

fn set_or_not<'a>(spec: &'a Value, key: &str) -> &'a str {
    spec.at(key).as_str().unwrap_or("<unset>")
}

fn access_modes(holder: &Value) -> String {
    let has = |mode: &str| holder.list("accessModes").iter().any(|m| m == mode);
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let held = short.iter().filter(|(mode, _)| has(mode));
    held.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_show_capacity_once_bound() {
        let mut claim = json!({"spec": {"accessModes": ["ReadWriteOnce"]}, "status": {
            "phase": "Bound", "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"]}});
        let row = |claim: &Value| (PERSISTENT_VOLUME_CLAIMS.row)(claim, 0)[3..5].to_vec();
        assert_eq!(row(&claim), ["", ""]);
        claim["spec"]["volumeName"] = json!("v");
        assert_eq!(row(&claim), ["1Gi", "RWO,RWX"]);
    }

    #[test]
    fn default_classes_are_marked() {
        let class = json!({"metadata": {"name": "a", "annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}}});
        assert_eq!((STORAGE_CLASSES.row)(&class, 0)[0], "a (default)");
    }
}
