//! From a map of anything to a built-in type.

use super::reader::{float, read_special};
use super::{DecodeError, Decoded};
use crate::go::Kind;
use crate::types::{Type, TypeRef};
use serde_json::{Map, Number, Value};
use stowplan_apimachinery::go::base64;

/// Makes a built-in type of a map, as upstream's `FromUnstructuredWithValidation` does after a
/// strategic merge or an apply. Its messages differ from those of [`super::decode_json`].
pub fn from_unstructured(ty: &Type, value: Value) -> Result<Decoded, DecodeError> {
    let mut converter = Converter {
        path: String::new(),
        problems: Vec::new(),
    };
    let object = converter.convert(ty, value).map_err(DecodeError::text)?;
    let mut problems = converter.problems;
    problems.sort();
    Ok(Decoded { object, problems })
}

struct Converter {
    path: String,
    problems: Vec<String>,
}

type Converted = Result<Value, String>;

impl Converter {
    fn reference(&mut self, ty: &TypeRef, value: Value) -> Converted {
        match value {
            Value::Null => Ok(ty.zero()),
            value => self.convert(ty, value),
        }
    }

    fn convert(&mut self, ty: &Type, value: Value) -> Converted {
        match (&ty.go.kind, value) {
            (_, Value::Null) => Ok(ty.zero()),
            (Kind::Any | Kind::None, value) => Ok(value),
            (Kind::Special(kind), value) => {
                let raw = value.to_string();
                read_special(*kind, raw.as_bytes()).map_err(|error| error.to_string())
            }
            (Kind::Struct(_), Value::Object(map)) => self.fields(ty, map),
            (Kind::Struct(_), value) => {
                Err(format!("cannot restore struct from: {}", go_kind(&value)))
            }
            (Kind::Map, Value::Object(map)) => self.entries(ty, map),
            (Kind::Map, value) => Err(format!("cannot restore map from {}", go_kind(&value))),
            (Kind::Slice(_), Value::Array(items)) => self.items(ty, items),
            (Kind::Bytes, value) => bytes(value),
            (Kind::Slice(_), value) => {
                Err(format!("cannot restore slice from {}", go_kind(&value)))
            }
            (_, value) => simple(ty, value),
        }
    }

    fn fields(&mut self, ty: &Type, mut map: Map<String, Value>) -> Converted {
        let (Kind::Struct(go), Some(object)) = (&ty.go.kind, &ty.map) else {
            return Ok(Value::Null);
        };
        let mut out = Map::new();
        for field in go.order.iter().filter_map(|at| object.fields.get(*at)) {
            let Some(value) = map.remove(field.name.as_ref()) else {
                continue;
            };
            let nil = field.ty.pointer && value.is_null();
            let length = self.enter(&field.name);
            let value = self.reference(&field.ty, value)?;
            self.path.truncate(length);
            if field.is_written(&value, nil) {
                out.insert(field.name.to_string(), value);
            }
        }
        for unknown in map.keys() {
            let length = self.enter(unknown);
            self.problems
                .push(format!("unknown field \"{}\"", self.path));
            self.path.truncate(length);
        }
        ty.complete(&mut out);
        Ok(Value::Object(out))
    }

    /// Goes to a key; gives how long the path was.
    fn enter(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        length
    }

    fn entries(&mut self, ty: &Type, mut map: Map<String, Value>) -> Converted {
        if let Some(rest) = ty.map.as_ref().and_then(|object| object.rest.as_ref()) {
            // Upstream leaves the keys of maps out of the path.
            for value in map.values_mut() {
                *value = self.reference(rest, value.take())?;
            }
        }
        Ok(Value::Object(map))
    }

    fn items(&mut self, ty: &Type, mut items: Vec<Value>) -> Converted {
        if let Some(list) = &ty.list {
            for (index, item) in items.iter_mut().enumerate() {
                let length = self.path.len();
                self.path.push_str(&format!("[{index}]"));
                *item = self.reference(&list.item, item.take())?;
                self.path.truncate(length);
            }
        }
        Ok(Value::Array(items))
    }
}

/// What Go calls a value of no particular type.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

fn bytes(value: Value) -> Converted {
    let bytes = match value {
        Value::String(text) => base64::decode(text.as_bytes()).map_err(|at| {
            format!("error decoding from json: illegal base64 data at input byte {at}")
        })?,
        Value::Array(items) => {
            let mut bytes = Vec::new();
            for item in items {
                match whole(&item) {
                    Some(number) => bytes.push(number as u8),
                    None if item.is_null() => bytes.push(0),
                    None if item.is_f64() => {
                        return Err("cannot convert float64 to uint8".to_owned());
                    }
                    None => return Err("unrecognized type: uint8".to_owned()),
                }
            }
            bytes
        }
        value => return Err(format!("cannot restore slice from {}", go_kind(&value))),
    };
    Ok(Value::String(base64::encode(&bytes)))
}

/// A number without a fraction.
fn whole(value: &Value) -> Option<i64> {
    let fraction = || value.as_f64().filter(|number| number.fract() == 0.0);
    value
        .as_i64()
        .or_else(|| fraction().map(|number| number as i64))
}

/// Texts, numbers and truth values. Numbers that do not fit are cut off, as Go's conversions do.
fn simple(ty: &Type, value: Value) -> Converted {
    let refused = |value: &Value, kind: &str| {
        // Go can convert between numbers, and from whole numbers to texts; but JSON must not.
        let convertible = match kind {
            "string" => go_kind(value) == "int64",
            "bool" => false,
            _ => value.is_number(),
        };
        match convertible {
            true => format!("cannot convert {} to {}", go_kind(value), ty.go.text),
            false => format!("unrecognized type: {kind}"),
        }
    };
    let number = whole(&value);
    Ok(match (&ty.go.kind, value) {
        (Kind::String, value @ Value::String(_)) | (Kind::Bool, value @ Value::Bool(_)) => value,
        (Kind::String, value) => return Err(refused(&value, "string")),
        (Kind::Bool, value) => return Err(refused(&value, "bool")),
        (Kind::Float, Value::Number(number)) => number
            .as_f64()
            .and_then(float)
            .map_or(Value::Null, Value::Number),
        (Kind::Float, value) => return Err(refused(&value, "float64")),
        (Kind::Int(bits), value) => match (number, bits) {
            (Some(number), 32) => Value::from(number as i32),
            (Some(number), _) => Value::from(number),
            (None, bits) => return Err(refused(&value, &format!("int{bits}"))),
        },
        (Kind::Uint(bits), value) => match (number, bits) {
            (Some(number), 8) => Value::from(number as u8),
            (Some(number), 32) => Value::from(number as u32),
            (Some(number), _) => Value::Number(Number::from(number as u64)),
            (None, bits) => return Err(refused(&value, &format!("uint{bits}"))),
        },
        (_, value) => value,
    })
}
