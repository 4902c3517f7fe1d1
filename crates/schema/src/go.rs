//! How Go sees a type.

use crate::types::TypeRef;
use std::borrow::Cow;

/// The Go side of a type.
#[derive(Clone, Debug)]
pub(crate) struct Go {
    pub(crate) kind: Kind,
    /// As `reflect` prints it: `[]v1.Container`.
    pub(crate) text: Cow<'static, str>,
}

/// What a Go type is, as far as reading and writing it goes.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Not a Go type: a custom resource.
    None,
    Bool,
    /// A signed number of so many bits.
    Int(u8),
    Uint(u8),
    Float,
    String,
    Bytes,
    /// `interface{}`
    Any,
    Struct(Box<Struct>),
    Slice(InProtobuf),
    Map,
    /// Types that read and write themselves.
    Special(Special),
}

/// How a list is written in protobuf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InProtobuf {
    /// Its elements, one after the other.
    Repeated,
    /// One message that holds the elements.
    Message,
}

/// Types with a form of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    RawExtension,
    FieldsV1,
    Json,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStringArray,
}

/// What Go knows of a struct beyond its fields in JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Struct {
    /// Fields in protobuf, by number.
    pub(crate) wires: Vec<Wire>,
    /// Where in the list of fields each is found, in Go's order.
    pub(crate) order: Vec<usize>,
    /// Where the fields are that are written even if they are not set.
    pub(crate) always: Vec<usize>,
}

/// A field in protobuf.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) number: u32,
    pub(crate) to: WireTarget,
}

/// What a field in protobuf is read into.
#[derive(Clone, Debug)]
pub(crate) enum WireTarget {
    /// The JSON field at this place in the struct's list.
    Field(usize),
    /// An embedded struct, whose fields lie among the struct's own in JSON.
    Embedded(TypeRef),
}

impl Go {
    /// Unknown to Go.
    pub(crate) const NONE: Self = Self {
        kind: Kind::None,
        text: Cow::Borrowed(""),
    };
}
