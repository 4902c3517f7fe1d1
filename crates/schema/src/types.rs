//! What a value of the API may be.

use crate::go::Go;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// What a value may be, as server-side apply sees it: a scalar, a list, a map, or any of several
/// (`int-or-string` is all three). Built-in types know in addition how Go reads and writes them.
///
/// Upstream: `structured-merge-diff/v6/schema.Atom`, made from OpenAPI by
/// `kube-openapi/pkg/schemaconv`.
#[derive(Clone, Debug)]
pub struct Type {
    /// The name in OpenAPI of a built-in struct (`io.k8s.api.core.v1.Pod`), otherwise empty.
    pub name: Cow<'static, str>,
    /// May be a scalar, of this kind.
    pub scalar: Option<Scalar>,
    /// May be a list.
    pub list: Option<List>,
    /// May be a map or a struct.
    pub map: Option<Object>,
    pub(crate) go: Go,
}

/// The kinds of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// A number.
    Number,
    /// A text.
    String,
    /// True or false.
    Boolean,
    /// Any of them.
    Untyped,
}

/// What a list holds.
#[derive(Clone, Debug)]
pub struct List {
    /// What an element may be.
    pub item: TypeRef,
    /// How elements are told apart.
    pub kind: ListKind,
}

/// How the elements of a list are told apart, and so whether it can be merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListKind {
    /// Not at all: the list is replaced as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By the values of these fields.
    Map(Vec<Cow<'static, str>>),
}

/// The fields of a struct, or the values of a map.
#[derive(Clone, Debug)]
pub struct Object {
    /// Known fields, ordered by name.
    pub(crate) fields: Vec<Field>,
    /// What stands under other keys; `None` if there must not be any.
    pub rest: Option<TypeRef>,
    /// Replaced as a whole when merged.
    pub atomic: bool,
    /// How the names of `fields` begin, see [`head`].
    heads: Vec<u64>,
}

/// The first eight bytes of a name, as a number that is ordered like the name.
fn head(name: &str) -> u64 {
    match name.as_bytes().first_chunk() {
        Some(whole) => u64::from_be_bytes(*whole),
        None => {
            let mut padded = [0; 8];
            for (to, from) in padded.iter_mut().zip(name.bytes()) {
                *to = from;
            }
            u64::from_be_bytes(padded)
        }
    }
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// As in JSON.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub ty: TypeRef,
    /// The default in the schema. Only list keys are completed from it.
    pub default: Option<Value>,
    /// `patchStrategy`: empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`.
    pub patch_strategy: &'static str,
    /// `patchMergeKey`, or empty.
    pub patch_merge_key: &'static str,
    /// The embedded struct that it comes from, as Go names it; usually empty.
    pub(crate) embedded: &'static str,
    pub(crate) omit: Omit,
}

/// When Go's encoder leaves a field out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Omit {
    /// `omitempty`
    pub(crate) empty: bool,
    /// `omitzero`
    pub(crate) zero: bool,
}

/// A type that another one refers to. Reads as the type itself.
#[derive(Clone, Debug)]
pub struct TypeRef {
    target: Target,
    pub(crate) pointer: bool,
}

#[derive(Clone)]
enum Target {
    Static(&'static Type),
    /// A struct of the table, which may refer to itself.
    Cell(&'static OnceLock<Type>),
    Shared(Arc<Type>),
}

impl Type {
    /// A type that Go knows nothing of.
    pub const fn new(scalar: Option<Scalar>, list: Option<List>, map: Option<Object>) -> Self {
        Self {
            name: Cow::Borrowed(""),
            scalar,
            list,
            map,
            go: Go::NONE,
        }
    }

    /// The field of a struct.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.map.as_ref()?.field(name)
    }

    /// What stands under a key of a map or struct.
    pub fn key(&self, name: &str) -> Option<&Type> {
        self.map.as_ref()?.key(name)
    }

    /// What a list holds.
    pub fn item(&self) -> Option<&Type> {
        Some(&self.list.as_ref()?.item)
    }
}

impl Object {
    /// A struct with these fields, in any order.
    pub fn of_fields(mut fields: Vec<Field>) -> Self {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            heads: fields.iter().map(|field| head(&field.name)).collect(),
            fields,
            rest: None,
            atomic: false,
        }
    }

    /// A map of values.
    pub const fn of_values(rest: TypeRef) -> Self {
        Self {
            fields: Vec::new(),
            rest: Some(rest),
            atomic: false,
            heads: Vec::new(),
        }
    }

    /// The known fields, ordered by name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Adds fields, in place of those of the same name.
    pub fn add_fields(&mut self, fields: Vec<Field>) {
        let mut all = std::mem::take(&mut self.fields);
        all.retain(|field| !fields.iter().any(|other| other.name == field.name));
        all.extend(fields);
        let ordered = Self::of_fields(all);
        (self.fields, self.heads) = (ordered.fields, ordered.heads);
    }

    /// A known field.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(self.position(name)?)
    }

    /// Where in `fields` a known field is.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let head = head(name);
        let mut at = self.heads.partition_point(|other| *other < head);
        // Few names begin alike; those stand side by side.
        while self.heads.get(at) == Some(&head) {
            if self.fields.get(at)?.name == name {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// What stands under a key: a known field, or else the rest.
    pub fn key(&self, name: &str) -> Option<&Type> {
        match self.field(name) {
            Some(field) => Some(&field.ty),
            None => self.rest.as_deref(),
        }
    }
}

impl Field {
    /// A field without default and patch strategy.
    pub fn new(name: impl Into<Cow<'static, str>>, ty: impl Into<TypeRef>) -> Self {
        Self {
            name: name.into(),
            ty: ty.into(),
            default: None,
            patch_strategy: "",
            patch_merge_key: "",
            embedded: "",
            omit: Omit::default(),
        }
    }

    /// Whether the patch strategies have this word.
    pub fn patches_by(&self, strategy: &str) -> bool {
        self.patch_strategy.split(',').any(|word| word == strategy)
    }
}

impl TypeRef {
    /// A reference to a type that is always there.
    pub const fn to(target: &'static Type) -> Self {
        Self {
            target: Target::Static(target),
            pointer: false,
        }
    }

    /// Whether it refers to a struct of the table, which may not have been read yet.
    pub(crate) fn is_struct(&self) -> bool {
        matches!(self.target, Target::Cell(_))
    }

    pub(crate) const fn to_cell(target: &'static OnceLock<Type>) -> Self {
        Self {
            target: Target::Cell(target),
            pointer: false,
        }
    }
}

impl From<Type> for TypeRef {
    fn from(target: Type) -> Self {
        Arc::new(target).into()
    }
}

impl From<Arc<Type>> for TypeRef {
    fn from(target: Arc<Type>) -> Self {
        Self {
            target: Target::Shared(target),
            pointer: false,
        }
    }
}

impl From<&'static Type> for TypeRef {
    fn from(target: &'static Type) -> Self {
        Self::to(target)
    }
}

impl Deref for TypeRef {
    type Target = Type;

    fn deref(&self) -> &Type {
        match &self.target {
            Target::Static(target) => target,
            Target::Cell(cell) => cell.get().unwrap_or(&UNTYPED),
            Target::Shared(target) => target,
        }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Static(target) => target.fmt(f),
            // Not what is in it: it may hold itself.
            Self::Cell(cell) => f.write_str(cell.get().map_or("", |t| t.name.as_ref())),
            Self::Shared(target) => target.fmt(f),
        }
    }
}

/// Anything at all, replaced as a whole: upstream's `__untyped_atomic_`.
pub static UNTYPED: Type = Type::new(
    Some(Scalar::Untyped),
    Some(List {
        item: TypeRef::to(&UNTYPED),
        kind: ListKind::Atomic,
    }),
    Some(Object {
        fields: Vec::new(),
        rest: Some(TypeRef::to(&UNTYPED)),
        atomic: true,
        heads: Vec::new(),
    }),
);

/// Anything, where maps are merged key by key and lists are not: upstream's `__untyped_deduced_`.
pub static DEDUCED: Type = Type::new(
    Some(Scalar::Untyped),
    Some(List {
        item: TypeRef::to(&UNTYPED),
        kind: ListKind::Atomic,
    }),
    Some(Object::of_values(TypeRef::to(&DEDUCED))),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let names = ["terminationA", "terminationB", "a", "aa", "", "terminat"];
        let fields = names.map(|name| Field::new(name, TypeRef::to(&UNTYPED)));
        let object = Object::of_fields(fields.into());
        for name in names {
            assert_eq!(object.field(name).map(|f| f.name.as_ref()), Some(name));
        }
        let mut object = object;
        object.add_fields(vec![
            Field::new("b0", TypeRef::to(&UNTYPED)),
            Field::new("a", TypeRef::to(&DEDUCED)),
        ]);
        assert_eq!(object.fields().len(), names.len() + 1);
        assert!(object.field("b0").is_some());
        let is_new = |ty: &Type| ty.map.as_ref().is_some_and(|map| !map.atomic);
        assert!(object.field("a").is_some_and(|field| is_new(&field.ty)));
        for name in ["terminationC", "termination", "b", "aaa", "a\0", "z"] {
            assert!(object.field(name).is_none(), "{name}");
        }
    }
}
