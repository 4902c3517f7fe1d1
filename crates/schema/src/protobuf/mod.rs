//! Built-in kinds in protobuf, as Go clients send them.
//!
//! The messages follow from the table: field numbers are there, and the wire type follows from the
//! Go type. Upstream: `pkg/runtime/serializer/protobuf` and the `generated.pb.go` files.

mod special;
mod wire;

use crate::decode::{DecodeError, TypeMeta};
use crate::go::{InProtobuf, Kind, WireTarget};
use crate::room::MemoryBudget;
use crate::types::{Type, TypeRef};
use serde_json::{Map, Value};
use stowplan_apimachinery::go::base64;
use stowplan_apimachinery::limits::DEPTH_MAX;
use wire::{Message, Payload};

const MAGIC: &[u8; 4] = b"k8s\0";

/// An object with its kind, as it is sent: `runtime.Unknown` behind four magic bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope<'a> {
    /// What the object says it is.
    pub meta: TypeMeta,
    /// The object's own message, for [`decode`].
    pub raw: &'a [u8],
}

/// Whether the bytes start as an envelope does.
pub fn is_envelope(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Opens the envelope.
pub fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, DecodeError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(DecodeError::text(match bytes.is_empty() {
            true => "empty data",
            false => {
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
            }
        }));
    };
    if body.is_empty() {
        return Err(DecodeError::text("empty body"));
    }
    let mut envelope = Envelope {
        meta: TypeMeta::default(),
        raw: &[],
    };
    let mut message = Message::new(body);
    while let Some((number, payload)) = message.next()? {
        match (number, payload) {
            (1, Payload::Bytes(meta)) => {
                let mut meta = Message::new(meta);
                while let Some((number, payload)) = meta.next()? {
                    match number {
                        1 => envelope.meta.api_version = payload.text()?,
                        2 => envelope.meta.kind = payload.text()?,
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(raw)) => envelope.raw = raw,
            _ => {}
        }
    }
    Ok(envelope)
}

/// Reads a message of a built-in type. The object lacks `apiVersion` and `kind`, which only the
/// envelope has.
pub fn decode(ty: &Type, message: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder {
        depth: 0,
        room: MemoryBudget::default(),
    };
    decoder.structure(ty, message)
}

struct Decoder {
    /// So many structs, lists and maps are open.
    depth: usize,
    room: MemoryBudget,
}

type Decoded = Result<Value, DecodeError>;

impl Decoder {
    fn structure(&mut self, ty: &Type, message: &[u8]) -> Decoded {
        let mut fields = Map::new();
        self.fields(ty, message, &mut fields)?;
        ty.complete(&mut fields);
        self.room.fields(fields.len())?;
        Ok(Value::Object(fields))
    }

    fn fields(
        &mut self,
        ty: &Type,
        message: &[u8],
        fields: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        let (Kind::Struct(go), Some(object)) = (&ty.go.kind, &ty.map) else {
            return Ok(());
        };
        self.enter()?;
        let mut message = Message::new(message);
        while let Some((number, payload)) = message.next()? {
            let wire = go.wires.binary_search_by_key(&number, |wire| wire.number);
            match wire.ok().and_then(|at| go.wires.get(at)).map(|w| &w.to) {
                Some(WireTarget::Embedded(ty)) => self.fields(ty, payload.bytes()?, fields)?,
                Some(WireTarget::Field(at)) => {
                    let Some(field) = object.fields.get(*at) else {
                        continue;
                    };
                    let mut value = fields.remove(field.name.as_ref()).unwrap_or_default();
                    self.field(&field.ty, payload, &mut value)?;
                    if field.is_written(&value, false) {
                        fields.insert(field.name.to_string(), value);
                    }
                }
                // Fields of later versions are passed over.
                None => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Goes into a struct, a list or a map.
    fn enter(&mut self) -> Result<(), DecodeError> {
        if self.depth >= DEPTH_MAX {
            return Err(DecodeError::text("exceeded max depth"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads one occurrence of a field: repeated ones grow.
    fn field(
        &mut self,
        ty: &TypeRef,
        payload: Payload<'_>,
        slot: &mut Value,
    ) -> Result<(), DecodeError> {
        match (&ty.go.kind, &ty.list, &ty.map) {
            (Kind::Slice(InProtobuf::Repeated), Some(list), _) => {
                if !slot.is_array() {
                    *slot = Value::Array(Vec::new());
                }
                if let Value::Array(items) = slot {
                    self.enter()?;
                    self.repeated(&list.item, payload, items)?;
                    self.depth -= 1;
                }
            }
            (Kind::Map, _, Some(object)) => {
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                if let (Value::Object(map), Some(rest)) = (slot, &object.rest) {
                    self.enter()?;
                    let (key, value) = self.entry(rest, payload.bytes()?)?;
                    self.room.entry(map.len(), key.len())?;
                    self.depth -= 1;
                    map.insert(key, value);
                }
            }
            _ => *slot = self.single(ty, payload)?,
        }
        Ok(())
    }

    fn repeated(
        &mut self,
        item: &TypeRef,
        payload: Payload<'_>,
        items: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        let numbers = matches!(item.go.kind, Kind::Bool | Kind::Int(_) | Kind::Uint(_));
        if let (true, Payload::Bytes(packed)) = (numbers, payload) {
            let mut packed = Message::new(packed);
            while !packed.is_empty() {
                self.room.item()?;
                let number = Payload::Varint(packed.varint()?);
                items.push(self.single(item, number)?);
            }
            return Ok(());
        }
        self.room.item()?;
        items.push(self.single(item, payload)?);
        Ok(())
    }

    fn entry(&mut self, value: &TypeRef, entry: &[u8]) -> Result<(String, Value), DecodeError> {
        let mut key = String::new();
        let mut read = None;
        let mut entry = Message::new(entry);
        while let Some((number, payload)) = entry.next()? {
            match number {
                1 => key = payload.text()?,
                2 => read = Some(self.single(value, payload)?),
                _ => {}
            }
        }
        let zero = || match value.go.kind {
            Kind::Bytes => Value::String(String::new()),
            _ => value.zero(),
        };
        Ok((key, read.unwrap_or_else(zero)))
    }

    fn single(&mut self, ty: &Type, payload: Payload<'_>) -> Decoded {
        if let (Payload::Bytes(text), Kind::String | Kind::Bytes) = (payload, &ty.go.kind) {
            self.room.text(text.len())?;
        }
        Ok(match &ty.go.kind {
            Kind::Bool => Value::Bool(payload.varint()? != 0),
            Kind::Int(32) => Value::from(payload.varint()? as i32),
            Kind::Int(_) => Value::from(payload.varint()? as i64),
            Kind::Uint(_) => Value::from(payload.varint()?),
            Kind::Float => special::float(payload.double()?),
            Kind::String => Value::String(payload.text()?),
            Kind::Bytes => Value::String(base64::encode(payload.bytes()?)),
            Kind::Struct(_) => self.structure(ty, payload.bytes()?)?,
            Kind::Slice(_) => self.message_list(ty, payload.bytes()?)?,
            Kind::Special(kind) => self.special(*kind, payload.bytes()?)?,
            Kind::Map | Kind::Any | Kind::None => Value::Null,
        })
    }

    /// A list that is a message of its own.
    fn message_list(&mut self, ty: &Type, message: &[u8]) -> Decoded {
        self.enter()?;
        let mut items = Vec::new();
        let mut message = Message::new(message);
        while let Some((number, payload)) = message.next()? {
            if let (1, Some(list)) = (number, &ty.list) {
                self.repeated(&list.item, payload, &mut items)?;
            }
        }
        self.depth -= 1;
        Ok(Value::Array(items))
    }
}
