//! The built-in types, read from the generated table when the first of them is asked for.

use crate::go::{Go, InProtobuf, Kind, Special, Struct, Wire, WireTarget};
use crate::types::{DEDUCED, Field, List, ListKind, Object, Omit, Scalar, Type, TypeRef, UNTYPED};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

pub(crate) static TEXT: &str = include_str!("generated/types.txt");

static TABLE: LazyLock<BTreeMap<&'static str, &'static OnceLock<Type>>> = LazyLock::new(read);

/// The built-in type of that name: `io.k8s.api.core.v1.Pod`.
pub fn type_of(name: &str) -> Option<&'static Type> {
    TABLE.get(name)?.get()
}

/// The names of all built-in structs.
pub fn type_names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// A struct of the table: its own line and those of its fields.
struct Lines {
    head: Vec<&'static str>,
    fields: Vec<Vec<&'static str>>,
}

#[derive(Default)]
struct Reader {
    structs: BTreeMap<&'static str, &'static OnceLock<Type>>,
    /// How Go prints the structs.
    struct_texts: BTreeMap<&'static str, &'static str>,
    /// Types without annotations of their own, by expression.
    shared: BTreeMap<&'static str, &'static Type>,
    /// Structs that a field wants atomic or not, whatever they say themselves.
    overridden: Vec<(&'static OnceLock<Type>, &'static OnceLock<Type>, bool)>,
}

fn read() -> BTreeMap<&'static str, &'static OnceLock<Type>> {
    let mut all: Vec<Lines> = Vec::new();
    for line in TEXT.lines() {
        let columns: Vec<&'static str> = line.split('\t').collect();
        match (columns.first(), all.last_mut()) {
            (Some(&"T"), _) => all.push(Lines {
                head: columns,
                fields: Vec::new(),
            }),
            (Some(&"F" | &"I"), Some(last)) => last.fields.push(columns),
            _ => {}
        }
    }
    let by_name: BTreeMap<&'static str, Lines> =
        all.into_iter().map(|s| (column(&s.head, 1), s)).collect();
    let mut reader = Reader::default();
    for (name, lines) in &by_name {
        reader.structs.insert(name, leak(OnceLock::new()));
        reader.struct_texts.insert(name, column(&lines.head, 2));
    }
    for (name, lines) in &by_name {
        let ty = reader.read_struct(name, lines, &by_name);
        if let Some(cell) = reader.structs.get(name) {
            cell.get_or_init(|| ty);
        }
    }
    for (cell, base, atomic) in reader.overridden {
        let mut ty = base.get().unwrap_or(&UNTYPED).clone();
        if let Some(map) = &mut ty.map {
            map.atomic = atomic;
        }
        cell.get_or_init(|| ty);
    }
    reader.structs
}

fn column(columns: &[&'static str], at: usize) -> &'static str {
    columns.get(at).copied().unwrap_or_default()
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

impl Reader {
    fn read_struct(
        &mut self,
        name: &'static str,
        lines: &Lines,
        all: &BTreeMap<&'static str, Lines>,
    ) -> Type {
        let fields = self.read_fields(lines, all, "");
        let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
        let mut object = Object::of_fields(fields);
        if object.fields.is_empty() {
            object.rest = Some(TypeRef::to(&DEDUCED));
        }
        object.atomic = column(&lines.head, 3) == "atomic";
        let mut wires = Vec::new();
        for line in &lines.fields {
            let Ok(number) = column(line, 5).parse() else {
                continue; // not in protobuf
            };
            let to = if column(line, 0) == "I" {
                WireTarget::Embedded(self.reference(column(line, 3)))
            } else if let Some(at) = object.position(column(line, 1)) {
                WireTarget::Field(at)
            } else {
                continue;
            };
            wires.push(Wire { number, to });
        }
        wires.sort_by_key(|wire| wire.number);
        let order = names.iter().filter_map(|name| object.position(name));
        let order: Vec<usize> = order.collect();
        let always = |at: &usize| object.fields.get(*at).is_some_and(Field::is_always_written);
        let known = Struct {
            always: order.iter().copied().filter(always).collect(),
            wires,
            order,
        };
        Type {
            name: Cow::Borrowed(name),
            scalar: None,
            list: None,
            map: Some(object),
            go: Go {
                kind: Kind::Struct(Box::new(known)),
                text: Cow::Borrowed(column(&lines.head, 2)),
            },
        }
    }

    /// The fields as JSON has them: those of embedded structs lie among the others.
    fn read_fields(
        &mut self,
        lines: &Lines,
        all: &BTreeMap<&'static str, Lines>,
        embedded: &'static str,
    ) -> Vec<Field> {
        let mut fields = Vec::new();
        for line in &lines.fields {
            if column(line, 0) == "F" {
                fields.push(self.read_field(line, embedded));
            } else if let Some(lines) = all.get(column(line, 3).trim_start_matches('@')) {
                fields.extend(self.read_fields(lines, all, column(line, 2)));
            }
        }
        fields
    }

    fn read_field(&mut self, line: &[&'static str], embedded: &'static str) -> Field {
        let (omit, default) = (column(line, 4), column(line, 10));
        Field {
            name: Cow::Borrowed(column(line, 1)),
            ty: self.field_type(line),
            default: serde_json::from_str(default).ok(),
            patch_strategy: column(line, 6),
            patch_merge_key: column(line, 7),
            embedded,
            omit: Omit {
                empty: omit.contains('e'),
                zero: omit.contains('z'),
            },
        }
    }

    /// A field's type, with what is annotated at the field.
    fn field_type(&mut self, line: &[&'static str]) -> TypeRef {
        let kind = list_kind(column(line, 8), column(line, 6), column(line, 7));
        let atomic = match column(line, 9) {
            "atomic" => Some(true),
            "granular" => Some(false),
            _ => None,
        };
        let plain = self.reference(column(line, 3));
        let mut ty = if plain.list.is_some() && kind != ListKind::Atomic {
            let mut ty = (*plain).clone();
            if let Some(list) = &mut ty.list {
                list.kind = kind;
            }
            TypeRef::to(leak(ty))
        } else if let Some(atomic) = atomic {
            self.overridden(column(line, 3), &plain, atomic)
        } else {
            return plain;
        };
        ty.pointer = plain.pointer;
        ty
    }

    fn overridden(&mut self, expression: &str, plain: &TypeRef, atomic: bool) -> TypeRef {
        let name = expression.trim_start_matches('*').strip_prefix('@');
        if let Some(base) = name.and_then(|name| self.structs.get(name)) {
            let cell = leak(OnceLock::new());
            self.overridden.push((cell, base, atomic));
            return TypeRef::to_cell(cell);
        }
        let mut ty = (**plain).clone();
        if let Some(map) = &mut ty.map {
            map.atomic = atomic;
        }
        TypeRef::to(leak(ty))
    }

    fn reference(&mut self, expression: &'static str) -> TypeRef {
        if let Some(pointed) = expression.strip_prefix('*') {
            let mut target = self.reference(pointed);
            target.pointer = true;
            return target;
        }
        if let Some(name) = expression.strip_prefix('@') {
            return match self.structs.get(name) {
                Some(cell) => TypeRef::to_cell(cell),
                None => TypeRef::to(&UNTYPED),
            };
        }
        if let Some(known) = self.shared.get(expression) {
            return TypeRef::to(known);
        }
        let ty = leak(self.read_expression(expression));
        self.shared.insert(expression, ty);
        TypeRef::to(ty)
    }

    fn read_expression(&mut self, expression: &'static str) -> Type {
        if let Some((name, item)) = bracketed(expression, '[', ']') {
            return self.read_list(name, item);
        }
        if let Some((name, value)) = bracketed(expression, '{', '}') {
            return self.read_map(name, value);
        }
        let (word, text) = expression
            .split_once('=')
            .unwrap_or((expression, expression));
        let (kind, scalar) = match word {
            "bool" => (Kind::Bool, Scalar::Boolean),
            "int32" => (Kind::Int(32), Scalar::Number),
            "int64" => (Kind::Int(64), Scalar::Number),
            "uint8" => (Kind::Uint(8), Scalar::Number),
            "uint32" => (Kind::Uint(32), Scalar::Number),
            "uint64" => (Kind::Uint(64), Scalar::Number),
            "float64" => (Kind::Float, Scalar::Number),
            "string" => (Kind::String, Scalar::String),
            "bytes" => return basic(Kind::Bytes, "[]uint8", Scalar::String),
            "any" => return free("interface {}", Kind::Any),
            _ => return read_special(word),
        };
        basic(kind, text, scalar)
    }

    /// How Go prints the type of an expression.
    fn go_text(&mut self, expression: &'static str) -> String {
        if let Some(pointed) = expression.strip_prefix('*') {
            return format!("*{}", self.go_text(pointed));
        }
        match expression.strip_prefix('@') {
            Some(name) => (*self.struct_texts.get(name).unwrap_or(&name)).to_owned(),
            None => self.reference(expression).go.text.to_string(),
        }
    }

    fn read_list(&mut self, name: &'static str, item: &'static str) -> Type {
        let item_text = self.go_text(item);
        let item = self.reference(item);
        let (text, in_protobuf) = match name.strip_suffix('!') {
            Some(name) => (Cow::Borrowed(name), InProtobuf::Message),
            None if name.is_empty() => (Cow::Owned(format!("[]{item_text}")), InProtobuf::Repeated),
            None => (Cow::Borrowed(name), InProtobuf::Repeated),
        };
        let kind = ListKind::Atomic;
        let mut ty = Type::new(None, Some(List { item, kind }), None);
        ty.go = Go {
            kind: Kind::Slice(in_protobuf),
            text,
        };
        ty
    }

    fn read_map(&mut self, name: &'static str, value: &'static str) -> Type {
        let text = match name {
            "" => Cow::Owned(format!("map[string]{}", self.go_text(value))),
            _ => Cow::Borrowed(name),
        };
        let values = Object::of_values(self.reference(value));
        let mut ty = Type::new(None, None, Some(values));
        ty.go = Go {
            kind: Kind::Map,
            text,
        };
        ty
    }
}

/// `[NAME]REST` as `(NAME, REST)`. Names may have brackets of their own.
fn bracketed(text: &'static str, open: char, close: char) -> Option<(&'static str, &'static str)> {
    let inner = text.strip_prefix(open)?;
    let mut depth = 0;
    for (at, c) in inner.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && depth == 0 {
            return Some((&inner[..at], &inner[at + close.len_utf8()..]));
        } else if c == close {
            depth -= 1;
        }
    }
    None
}

/// Upstream: `getListElementRelationship` in kube-openapi's `schemaconv/smd.go`.
fn list_kind(list_type: &'static str, strategy: &str, merge_key: &'static str) -> ListKind {
    let (word, keys) = list_type.split_once(':').unwrap_or((list_type, ""));
    match word {
        "map" => ListKind::Map(keys.split(',').map(Cow::Borrowed).collect()),
        "set" => ListKind::Set,
        "" if strategy.split(',').any(|word| word == "merge") => match merge_key {
            "" => ListKind::Set,
            key => ListKind::Map(vec![Cow::Borrowed(key)]),
        },
        _ => ListKind::Atomic,
    }
}

fn basic(kind: Kind, text: &'static str, scalar: Scalar) -> Type {
    let mut ty = Type::new(Some(scalar), None, None);
    ty.go = Go {
        kind,
        text: Cow::Borrowed(text),
    };
    ty
}

/// A schema without a type: anything goes, maps are merged.
fn free(text: &'static str, kind: Kind) -> Type {
    let mut ty = DEDUCED.clone();
    ty.go = Go {
        kind,
        text: Cow::Borrowed(text),
    };
    ty
}

fn read_special(word: &str) -> Type {
    use Special::*;
    match word {
        "!Quantity" => basic(
            Kind::Special(Quantity),
            "resource.Quantity",
            Scalar::Untyped,
        ),
        "!Time" => basic(Kind::Special(Time), "v1.Time", Scalar::Untyped),
        "!MicroTime" => basic(Kind::Special(MicroTime), "v1.MicroTime", Scalar::Untyped),
        "!IntOrString" => free("intstr.IntOrString", Kind::Special(IntOrString)),
        "!RawExtension" => Type {
            go: Go {
                kind: Kind::Special(RawExtension),
                text: Cow::Borrowed("runtime.RawExtension"),
            },
            ..UNTYPED.clone()
        },
        "!FieldsV1" => Type {
            scalar: None,
            list: None,
            ..free("v1.FieldsV1", Kind::Special(FieldsV1))
        },
        "!JSON" => free("v1.JSON", Kind::Special(Json)),
        "!SchemaOrArray" => free("v1.JSONSchemaPropsOrArray", Kind::Special(SchemaOrArray)),
        "!SchemaOrBool" => free("v1.JSONSchemaPropsOrBool", Kind::Special(SchemaOrBool)),
        "!SchemaOrStringArray" => free(
            "v1.JSONSchemaPropsOrStringArray",
            Kind::Special(SchemaOrStringArray),
        ),
        _ => UNTYPED.clone(),
    }
}
