//! JSON values → typed objects, noting where something is wrong and which fields do not exist.
//!
//! One deserializer of its own instead of wrappers around `serde_json`'s: Kubernetes types are
//! large, and every layer around a deserializer is compiled once more for each of them.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;

/// Why a value is not the object it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct DecodeError {
    /// The field, as a path: `spec.containers[0].image`; empty for the object itself.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub message: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            field: String::new(),
            message: message.to_string(),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unit => {
                Self::custom(format_args!("invalid type: null, expected {expected}"))
            }
            found => Self::custom(format_args!("invalid type: {found}, expected {expected}")),
        }
    }
}

/// Reads an object; `unknown` takes the paths of fields that its type does not have, without
/// indices, so that the same slip in many places reads the same.
pub fn decode<T: DeserializeOwned>(
    value: &Value,
    unknown: &mut Vec<String>,
) -> Result<T, DecodeError> {
    let notes = RefCell::new(std::mem::take(unknown));
    let result = T::deserialize(Cursor {
        value,
        at: None,
        notes: &notes,
    });
    *unknown = notes.into_inner();
    result
}

/// A step on the way to the value at hand.
#[derive(Clone, Copy)]
struct Frame<'f> {
    parent: Option<&'f Frame<'f>>,
    step: Step<'f>,
}

#[derive(Clone, Copy)]
enum Step<'f> {
    Field(&'f str),
    Index(usize),
}

impl Frame<'_> {
    fn path(&self, with_indices: bool) -> String {
        let parent = self
            .parent
            .map(|parent| parent.path(with_indices))
            .unwrap_or_default();
        match self.step {
            Step::Field(field) if parent.is_empty() => field.to_owned(),
            Step::Field(field) => format!("{parent}.{field}"),
            Step::Index(index) if with_indices => format!("{parent}[{index}]"),
            Step::Index(_) => format!("{parent}[]"),
        }
    }

    /// Errors are located where they arise; on their way up they stay as they are.
    fn locate<T>(&self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|error| match error.field.is_empty() {
            true => DecodeError {
                field: self.path(true),
                ..error
            },
            false => error,
        })
    }
}

/// A value and where it is.
#[derive(Clone, Copy)]
struct Cursor<'de, 'f> {
    value: &'de Value,
    at: Option<&'f Frame<'f>>,
    notes: &'f RefCell<Vec<String>>,
}

impl<'de> Deserializer<'de> for Cursor<'de, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    visitor.visit_i64(number)
                } else if let Some(number) = number.as_u64() {
                    visitor.visit_u64(number)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or_default())
                }
            }
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items {
                items,
                next: 0,
                parent: self,
            }),
            Value::Object(fields) => visitor.visit_map(Fields {
                fields: fields.iter(),
                value: None,
                parent: self,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    /// Only what nobody asks for is ignored.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if let Some(at) = self.at {
            self.notes.borrow_mut().push(at.path(false));
        }
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.value
            .deserialize_enum(name, variants, visitor)
            .map_err(serde::de::Error::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct Items<'de, 'f> {
    items: &'de [Value],
    next: usize,
    parent: Cursor<'de, 'f>,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some(value) = self.items.get(self.next) else {
            return Ok(None);
        };
        let frame = Frame {
            parent: self.parent.at,
            step: Step::Index(self.next),
        };
        self.next += 1;
        frame
            .locate(seed.deserialize(Cursor {
                value,
                at: Some(&frame),
                notes: self.parent.notes,
            }))
            .map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Fields<'de, 'f> {
    fields: <&'de Map<String, Value> as IntoIterator>::IntoIter,
    value: Option<(&'de str, &'de Value)>,
    parent: Cursor<'de, 'f>,
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some((key, value)) = self.fields.next() else {
            return Ok(None);
        };
        self.value = Some((key, value));
        seed.deserialize(serde::de::value::BorrowedStrDeserializer::new(key))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let Some((key, value)) = self.value.take() else {
            return Err(serde::de::Error::custom("a value without a key"));
        };
        let frame = Frame {
            parent: self.parent.at,
            step: Step::Field(key),
        };
        frame.locate(seed.deserialize(Cursor {
            value,
            at: Some(&frame),
            notes: self.parent.notes,
        }))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    fn check(value: Value, expected: &str) {
        let mut unknown = Vec::new();
        let shown = match decode::<Pod>(&value, &mut unknown) {
            Ok(_) => format!("unknown: {}", unknown.join(" ")),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{value}");
    }

    #[test]
    fn errors_and_unknown_fields_are_located() {
        let pod = |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "spec": spec});
        check(
            pod(json!({"containers": [{"name": "a"}, {"name": 1}]})),
            "spec.containers[1].name: invalid type: integer `1`, expected a string",
        );
        check(
            pod(json!({"containers": [null]})),
            "spec.containers[0]: invalid type: null, expected Container",
        );
        check(
            pod(json!({"priority": 3_000_000_000_u64})),
            "spec.priority: invalid value: integer `3000000000`, expected i32",
        );
        check(
            pod(json!({"nodeSelektor": {}, "containers": [{"ports": [{"x": 1}, {"x": 2}]}]})),
            "unknown: spec.containers[].ports[].x spec.containers[].ports[].x spec.nodeSelektor",
        );
        check(json!([]), "invalid type: sequence, expected Pod");
        check(
            json!({"apiVersion": "v2", "kind": "Pod"}),
            "invalid value: string \"v2\", expected v1",
        );
    }
}
