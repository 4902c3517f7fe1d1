//! The typed view of an object, made once, after the road.

use serde_json::Value;
use stowplan_api::load::{Kind, Object};
use stowplan_apimachinery::View;

fn kind_of(object: &Value) -> Option<Kind> {
    let (api_version, kind) = (object.text("apiVersion"), object.text("kind"));
    let fits = |known: &&Kind| known.as_str() == kind && known.api_version() == api_version;
    Kind::ALL.iter().find(fits).copied()
}

/// Whether scheduling reads objects of its kind.
pub(super) fn is_read(object: &Value) -> bool {
    kind_of(object).is_some()
}

/// The object as scheduling reads it.
pub(super) fn object(object: &Value) -> Result<Object, String> {
    let kind = kind_of(object).ok_or("scheduling does not read it")?;
    Object::of(kind, object).map_err(|error| error.to_string())
}
