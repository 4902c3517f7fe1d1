//! Whole values. serde_json's own reading of a value takes a map whose first key is a name that it uses
//! itself for something else, and users may call their keys what they like.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads any value as it stands.
#[derive(Clone, Copy)]
pub(super) struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            map.insert(name, fields.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use serde_json::json;

    #[test]
    fn any_value_is_read_as_it_stands() {
        let value =
            json!({"a": [1, -2, 2.5, 1e300, true, null, "t\u{e4}xt"], "b": {"c": {}, "d": []}});
        assert_eq!(parse(value.to_string().as_bytes()), value);
        assert_eq!(parse(b"18446744073709551615"), json!(u64::MAX));
    }

    #[test]
    fn names_that_the_reader_uses_itself_are_names() {
        let name = "$serde_json::private::RawValue";
        for inner in ["5", "no json"] {
            let text = format!(r#"{{"parameters":{{"{name}":"{inner}"}}}}"#);
            let object = parse(text.as_bytes());
            assert_eq!(object["parameters"][name], inner);
        }
    }
}
