//! What Go writes of a field that was not set, and when it writes none.

use crate::go::{Kind, Special};
use crate::types::{Field, Type, TypeRef};
use serde_json::{Map, Value};

impl Type {
    /// Go's zero value, as Go would write it.
    pub(crate) fn zero(&self) -> Value {
        match &self.go.kind {
            Kind::Bool => Value::Bool(false),
            Kind::Int(_) | Kind::Uint(_) | Kind::Float => Value::from(0),
            Kind::String => Value::String(String::new()),
            Kind::Struct(_) => {
                let mut fields = Map::new();
                self.complete(&mut fields);
                Value::Object(fields)
            }
            Kind::Special(Special::Quantity) => Value::from("0"),
            Kind::Special(Special::IntOrString) => Value::from(0),
            Kind::Special(Special::SchemaOrBool) => Value::Bool(false),
            Kind::None | Kind::Any | Kind::Bytes | Kind::Slice(_) | Kind::Map => Value::Null,
            Kind::Special(_) => Value::Null,
        }
    }

    /// Whether Go's zero value is nil, so that a null in JSON takes away what was there.
    pub(crate) fn has_nil(&self) -> bool {
        matches!(
            self.go.kind,
            Kind::None | Kind::Any | Kind::Bytes | Kind::Slice(_) | Kind::Map
        )
    }

    /// Adds the fields of a struct that are written even if they are not set.
    pub(crate) fn complete(&self, fields: &mut Map<String, Value>) {
        let (Kind::Struct(go), Some(object)) = (&self.go.kind, &self.map) else {
            return;
        };
        for field in go.always.iter().filter_map(|at| object.fields.get(*at)) {
            if !fields.contains_key(field.name.as_ref()) {
                fields.insert(field.name.to_string(), field.ty.zero());
            }
        }
    }
}

impl TypeRef {
    /// Go's zero value: nil for a pointer.
    pub(crate) fn zero(&self) -> Value {
        if self.pointer {
            Value::Null
        } else {
            (**self).zero()
        }
    }

    /// Makes Go's zero value of what was not set.
    pub(crate) fn settle(&self, value: &mut Value) {
        if value.is_null() && !self.pointer {
            *value = (**self).zero();
        }
    }

    /// Whether there are values, other than nil, that are written as null: the zero time.
    pub(crate) fn writes_null(&self) -> bool {
        match self.go.kind {
            Kind::Special(special) => !matches!(special, Special::Quantity | Special::IntOrString),
            _ => false,
        }
    }

    /// Whether `omitempty` means anything: Go never calls a struct empty.
    fn has_empty(&self) -> bool {
        let whole = matches!(self.go.kind, Kind::Struct(_) | Kind::Special(_));
        self.pointer || !(whole || self.is_struct())
    }

    /// What `omitempty` leaves out, of what is not a pointer.
    fn is_empty(&self, value: &Value) -> bool {
        self.has_empty()
            && match value {
                Value::Null => true,
                Value::Bool(value) => !value,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
            }
    }
}

impl Field {
    /// Whether Go writes the field when it holds this. A pointer that is not nil may still point to
    /// what is written as null.
    pub(crate) fn is_written(&self, value: &Value, nil: bool) -> bool {
        let empty = self.omit.empty && (nil || !self.ty.pointer && self.ty.is_empty(value));
        let zero = self.omit.zero && *value == self.ty.zero();
        !(empty || zero)
    }

    /// Whether Go writes the field when it is not set.
    pub(crate) fn is_always_written(&self) -> bool {
        !(self.omit.zero || self.omit.empty && self.ty.has_empty())
    }
}
