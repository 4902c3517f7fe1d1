//! Messages of the types that read themselves.

use super::wire::{Message, Payload};
use super::{Decoded, Decoder};
use crate::decode::{DecodeError, parse_inside, schema_type};
use crate::go::Special;
use crate::time::{Layout, Timestamp};
use serde_json::{Number, Value};
use stowplan_apimachinery::quantity::Quantity;

impl Decoder {
    pub(super) fn special(&mut self, special: Special, message: &[u8]) -> Decoded {
        match special {
            Special::Quantity => quantity(message),
            Special::Time => time(Layout::Seconds, message),
            Special::MicroTime => time(Layout::Micros, message),
            Special::IntOrString => int_or_string(message),
            Special::RawExtension | Special::FieldsV1 | Special::Json => self.raw(message),
            Special::SchemaOrArray => self.schema_or(message, |_, _| Ok(())),
            Special::SchemaOrBool => self.schema_or_bool(message),
            Special::SchemaOrStringArray => self.schema_or(message, |payload, items| {
                items.push(Value::String(payload.text()?));
                Ok(())
            }),
        }
    }

    /// JSON in a message.
    fn raw(&mut self, message: &[u8]) -> Decoded {
        let mut raw: &[u8] = &[];
        let mut message = Message::new(message);
        while let Some((number, payload)) = message.next()? {
            if number == 1 {
                raw = payload.bytes()?;
            }
        }
        match raw.is_empty() {
            true => Ok(Value::Null),
            false => parse_inside(raw, self.depth, &mut self.room),
        }
    }

    fn schema(&mut self, message: &[u8]) -> Decoded {
        match schema_type() {
            Some(ty) => self.structure(ty, message),
            None => Ok(Value::Null),
        }
    }

    /// A schema, or a list of whatever else `other` reads; of schemas if it reads nothing.
    fn schema_or(
        &mut self,
        message: &[u8],
        other: impl Fn(Payload<'_>, &mut Vec<Value>) -> Result<(), DecodeError>,
    ) -> Decoded {
        self.enter()?;
        let mut schema = Value::Null;
        let mut items = Vec::new();
        let mut message = Message::new(message);
        while let Some((number, payload)) = message.next()? {
            match number {
                1 => schema = self.schema(payload.bytes()?)?,
                2 => {
                    let before = items.len();
                    other(payload, &mut items)?;
                    if items.len() == before {
                        items.push(self.schema(payload.bytes()?)?);
                    }
                }
                _ => {}
            }
        }
        self.depth -= 1;
        Ok(match items.is_empty() {
            true => schema,
            false => Value::Array(items),
        })
    }

    fn schema_or_bool(&mut self, message: &[u8]) -> Decoded {
        let mut value = Value::Bool(false);
        let mut message = Message::new(message);
        while let Some((number, payload)) = message.next()? {
            match number {
                1 if value.is_boolean() => value = Value::Bool(payload.varint()? != 0),
                2 => value = self.schema(payload.bytes()?)?,
                _ => {}
            }
        }
        Ok(value)
    }
}

/// A number as Go writes a `float64`.
pub(super) fn float(number: f64) -> Value {
    crate::decode::float(number).map_or(Value::Null, Value::Number)
}

fn quantity(message: &[u8]) -> Decoded {
    let mut text = None;
    let mut message = Message::new(message);
    while let Some((number, payload)) = message.next()? {
        if number == 1 {
            text = Some(payload.text()?);
        }
    }
    let Some(text) = text else {
        return Ok(Value::from("0"));
    };
    match Quantity::parse(&text) {
        Ok(quantity) => Ok(Value::String(quantity.to_string())),
        Err(error) => Err(DecodeError::text(error.to_string())),
    }
}

fn time(layout: Layout, message: &[u8]) -> Decoded {
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut message = Message::new(message);
    while let Some((number, payload)) = message.next()? {
        match number {
            1 => seconds = payload.varint()? as i64,
            2 => nanos = payload.varint()? as i32,
            _ => {}
        }
    }
    let time = Timestamp {
        seconds: seconds.saturating_add(i64::from(nanos.div_euclid(1_000_000_000))),
        nanos: nanos.rem_euclid(1_000_000_000).unsigned_abs(),
    };
    Ok(layout.print(time).map_or(Value::Null, Value::String))
}

fn int_or_string(message: &[u8]) -> Decoded {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    let mut message = Message::new(message);
    while let Some((field, payload)) = message.next()? {
        match field {
            1 => is_text = payload.varint()? == 1,
            2 => number = payload.varint()? as i32,
            3 => text = payload.text()?,
            _ => {}
        }
    }
    Ok(match is_text {
        true => Value::String(text),
        false => Value::Number(Number::from(number)),
    })
}
