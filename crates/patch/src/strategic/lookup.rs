//! What a type says of patching one of its fields.
//!
//! Upstream: `apimachinery/pkg/util/strategicpatch/meta.go` and
//! `apimachinery/third_party/forked/golang/json/fields.go`.

use super::fault::Fault;
use stowplan_apimachinery::go;
use stowplan_schema::Type;

/// How a field is patched.
pub(super) struct PatchMeta<'t> {
    /// The type of its value, or of the elements of its list.
    pub(super) ty: Option<&'t Type>,
    /// `merge`, `replace` or empty.
    pub(super) strategy: &'static str,
    /// By what the elements of the list are told apart; empty for lists of scalars.
    pub(super) merge_key: &'static str,
}

/// A field that holds a map.
pub(super) fn map_field<'t>(ty: Option<&'t Type>, name: &str) -> Result<PatchMeta<'t>, Fault> {
    let Some(ty) = ty.filter(|ty| is_struct(ty)) else {
        return Err(Fault::Other(format!(
            "merging an object in json but data type is not struct, instead is: {}",
            ty.map_or("map", go_kind)
        )));
    };
    let fields = ty.map.as_ref().map(|map| map.fields());
    let fields = fields.unwrap_or_default();
    let field = ty
        .field(name)
        .or_else(|| fields.iter().find(|f| f.name.eq_ignore_ascii_case(name)));
    let Some(field) = field else {
        let type_name = ty.name.rsplit('.').next().unwrap_or_default();
        return Err(Fault::Other(format!(
            "unable to find api field in struct {type_name} for the json field {}",
            go::quote(name)
        )));
    };
    let mut strategies = field.patch_strategy.split(',');
    Ok(PatchMeta {
        ty: Some(&field.ty),
        strategy: strategies.find(|word| *word != "retainKeys").unwrap_or(""),
        merge_key: field.patch_merge_key,
    })
}

/// A field that holds a list.
pub(super) fn list_field<'t>(ty: Option<&'t Type>, name: &str) -> Result<PatchMeta<'t>, Fault> {
    let field = map_field(ty, name)?;
    let item = field.ty.and_then(Type::item);
    match field.ty {
        Some(list) if list.list.is_none() => Err(Fault::Other(format!(
            "expected slice or array type, but got: {}",
            ty.map_or("map", go_kind)
        ))),
        _ => Ok(PatchMeta { ty: item, ..field }),
    }
}

fn is_struct(ty: &Type) -> bool {
    ty.map.as_ref().is_some_and(|map| !map.fields().is_empty()) || !ty.name.is_empty()
}

/// As Go's `reflect.Kind` prints it, as far as it can be told.
pub(super) fn go_kind(ty: &Type) -> &'static str {
    if is_struct(ty) {
        "struct"
    } else if ty.scalar.is_some() {
        "string"
    } else if ty.list.is_some() {
        "slice"
    } else {
        "map"
    }
}
