//! VolumeAttachment. Upstream: `pkg/apis/storage/validation/validation.go`,
//! `pkg/registry/storage/volumeattachment/strategy.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::volume_sources::csi_driver_name;
use crate::common::{IMMUTABLE, kube_metadata, name_rules};
use crate::device::keep_metadata;
use crate::subresource::{inherit, keep};
use crate::volume::{set_source_defaults, validate_inline};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct VolumeAttachment;

const METADATA_BYTES_MAX: usize = 256 * 1024;
const MESSAGE_BYTES_MAX: usize = 1024;
static SPEC: Path<'static> = Path::new("spec");

impl CreateStrategy for VolumeAttachment {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({"attached": false}));
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        let spec = object.at("spec");
        csi_driver_name(spec.text("attacher"), &SPEC.child("attacher"), &mut errors);
        validate_source(spec.at("source"), &SPEC.child("source"), &mut errors);
        let node = spec.text("nodeName");
        let faults = name_rules::dns_subdomain(node, false);
        errors.invalid_each(&SPEC.child("nodeName"), node, faults);
        validate_status(object.at("status"), &mut errors);
        if let Some(name) = spec.at("source").at("persistentVolumeName").as_str() {
            let path = Path::new("spec.source.persistentVolumeName");
            errors.invalid_each(&path, name, name_rules::dns_subdomain(name, false));
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for VolumeAttachment {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        let spec = new.at("spec");
        if !same(spec, old.at("spec")) {
            errors.invalid(&SPEC, Internal(spec), IMMUTABLE);
        }
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for VolumeAttachment {
    fn set_defaults(&self, object: &mut Value) {
        let inline = object
            .child_mut("spec")
            .and_then(|spec| spec.child_mut("source"))
            .and_then(|source| source.child_mut("inlineVolumeSpec"));
        if let Some(spec) = inline {
            set_source_defaults(spec);
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&VolumeAttachmentStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct VolumeAttachmentStatus;

impl CreateStrategy for VolumeAttachmentStatus {
    inherit!(create: VolumeAttachment);
}

impl UpdateStrategy for VolumeAttachmentStatus {
    inherit!(update: VolumeAttachment);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
        keep_metadata(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        VolumeAttachment.validate_update(new, old, cx)
    }
}

impl Strategy for VolumeAttachmentStatus {
    inherit!(VolumeAttachment);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"], &["spec"]]
    }
}

fn validate_source(source: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let inline = source.at("inlineVolumeSpec");
    let name = source.at("persistentVolumeName").as_str();
    let fault = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_null(), name) {
        (true, None) => errors.required(path, fault),
        (false, Some(_)) => errors.forbidden(path, fault),
        (true, Some("")) => {
            let fault = "must specify non empty persistentVolumeName";
            errors.required(&path.child("persistentVolumeName"), fault);
        }
        (true, Some(_)) => {}
        (false, None) => errors.extend(validate_inline(inline, &path.child("inlineVolumeSpec"))),
    }
}

fn validate_status(status: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    let metadata = status.entries("attachmentMetadata");
    let bytes: usize = metadata
        .map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len())
        .sum();
    if bytes > METADATA_BYTES_MAX {
        errors.push(Error::too_long(
            &path.child("attachmentMetadata"),
            METADATA_BYTES_MAX,
        ));
    }
    for field in ["attachError", "detachError"] {
        let path = path.child(field);
        let error = status.at(field);
        if error.text("message").len() > MESSAGE_BYTES_MAX {
            // Upstream names the larger bound here.
            errors.push(Error::too_long(&path.child("message"), METADATA_BYTES_MAX));
        }
        if let Some(code @ ..0) = error.int("errorCode") {
            let fault = names::range_error(0, i32::MAX.into());
            errors.invalid(&path.child("errorCode"), code, fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ALONE, faults, update_faults};

    fn attachment(spec: Value) -> Value {
        json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": spec})
    }

    #[test]
    fn one_volume_is_attached_to_one_node() {
        assert_eq!(
            faults(&VolumeAttachment, &attachment(json!({"nodeName": "n"}))),
            [
                "spec.attacher: Required value",
                "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
            ]
        );
        let inline = json!({"attacher": "a.io", "nodeName": "n", "source": {"inlineVolumeSpec": {
            "accessModes": ["ReadWriteOnce"], "csi": {"driver": "a.io", "volumeHandle": "h"}}}});
        assert!(faults(&VolumeAttachment, &attachment(inline)).is_empty());
    }

    #[test]
    fn the_spec_stays_and_a_status_write_changes_nothing_else() {
        let spec = |node: &str| {
            let source = json!({"persistentVolumeName": "v"});
            json!({"attacher": "a.io", "nodeName": node, "source": source})
        };
        let (old, mut new) = (attachment(spec("m")), attachment(spec("n")));
        assert_eq!(update_faults(&VolumeAttachment, &new, &old).len(), 1);
        new["metadata"]["labels"] = json!({"a": "b"});
        new["status"] = json!({"attached": true});
        VolumeAttachmentStatus.prepare_for_update(&mut new, &old, &ALONE);
        assert_eq!(new["spec"], old["spec"]);
        assert!(new["metadata"].get("labels").is_none());
        assert_eq!(new["status"], json!({"attached": true}));
    }
}
