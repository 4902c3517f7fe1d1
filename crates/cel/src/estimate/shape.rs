//! What is known of a value before it is there.

use super::size::size_max;
use crate::schema::{additional, items};
use serde_json::Value;
use std::rc::Rc;
use stowplan_apimachinery::View;

/// What is known of the type of a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// Texts and bytes.
    Text,
    List,
    Map,
    /// What has no size.
    Scalar,
    Unknown,
}

/// How much a value can hold at the least and at the most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        least: 0,
        most: u64::MAX,
    };

    pub(super) fn exactly(size: u64) -> Self {
        Self {
            least: size,
            most: size,
        }
    }

    pub(super) fn up_to(most: u64) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(super) struct Shape<'a> {
    pub(super) kind: Kind,
    pub(super) size: Size,
    /// What describes it, if it is part of the object.
    pub(super) schema: Option<&'a Value>,
    /// Its elements or values, if an expression made it.
    pub(super) item: Option<Rc<Shape<'a>>>,
}

impl<'a> Shape<'a> {
    pub(super) fn new(kind: Kind, size: Size) -> Self {
        Self {
            kind,
            size,
            schema: None,
            item: None,
        }
    }

    pub(super) fn scalar() -> Self {
        Self::new(Kind::Scalar, Size::exactly(1))
    }

    pub(super) fn of(schema: &'a Value) -> Self {
        let kind = match (schema.text("type"), schema.text("format")) {
            ("string", "duration" | "date" | "date-time") => Kind::Scalar,
            ("string", _) => Kind::Text,
            ("array", _) => Kind::List,
            ("object", _) => Kind::Map,
            ("", _) => Kind::Unknown,
            _ => Kind::Scalar,
        };
        Self {
            schema: Some(schema),
            ..Self::new(kind, Size::up_to(size_max(schema)))
        }
    }

    pub(super) fn list(size: Size, item: Self) -> Self {
        Self {
            item: Some(Rc::new(item)),
            ..Self::new(Kind::List, size)
        }
    }

    /// What a field or an index leads to.
    pub(super) fn below(&self, name: Option<&str>) -> Option<Self> {
        if let Some(schema) = self.schema {
            let own = name.and_then(|name| schema.at("properties").get(name));
            let below = own.or_else(|| items(schema));
            let below = below.or_else(|| additional(schema).flatten());
            return below.map(Shape::of);
        }
        self.item.as_deref().cloned()
    }

    pub(super) fn walk(&self) -> u64 {
        walk(self.size.most)
    }
}

/// A tenth of the size: what walking through a text costs.
pub(super) fn walk(size: u64) -> u64 {
    size.div_ceil(10)
}

/// What is known of a value that is one of two.
pub(super) fn joined<'a>(a: Shape<'a>, b: Shape<'a>) -> Shape<'a> {
    Shape {
        kind: if a.kind == b.kind {
            a.kind
        } else {
            Kind::Unknown
        },
        size: a.size.or(b.size),
        schema: None,
        item: a.item.filter(|_| b.item.is_some()),
    }
}
