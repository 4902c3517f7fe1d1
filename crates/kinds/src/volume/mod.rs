//! PersistentVolume and PersistentVolumeClaim.

mod claim;
mod claim_update;
mod persistent;
mod sources;
mod spec;

pub(crate) use claim::PersistentVolumeClaim;
pub(crate) use persistent::PersistentVolume;
pub(crate) use spec::validate_inline;

use crate::common::quantities;
use crate::pod::vendor_defaults;
use serde_json::Value;
use stowplan_apimachinery::{Edit, View};

/// The annotation that named a storage class before there was a field.
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Defaults of the sources in a volume's spec.
pub(crate) fn set_source_defaults(spec: &mut Value) {
    quantities::round_up_list(spec, "capacity");
    if let Some(source) = spec.child_mut("hostPath") {
        source.default_to("type", "");
    }
    vendor_defaults(spec);
}

/// The fields of a spec that differ, in the manner of upstream's diffs.
fn shown_diff(new: &Value, old: &Value, name: &str) -> String {
    let mut keys: Vec<&String> = Vec::new();
    for spec in [old, new] {
        keys.extend(spec.as_object().into_iter().flatten().map(|(key, _)| key));
    }
    keys.sort_unstable();
    keys.dedup();
    let mut out = format!("  core.{name}{{\n  \t... // identical fields\n");
    for key in keys.into_iter().filter(|key| new.at(key) != old.at(key)) {
        out.push_str(&format!("- \t{key}: {},\n", old.at(key)));
        out.push_str(&format!("+ \t{key}: {},\n", new.at(key)));
    }
    out.push_str("  }\n");
    out
}
