//! Reading JSON into a type.

use super::special;
use super::{DecodeError, Decoded};
use crate::go::{Kind, Special};
use crate::json::{self, Bad, Parser};
use crate::room::{Full, MemoryBudget};
use crate::types::{Field, Object, Type, TypeRef};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;
use std::mem;
use stowplan_apimachinery::go::{base64, quote};
use stowplan_apimachinery::limits::{DEPTH_MAX, PROBLEM_BYTES_MAX, PROBLEMS_MAX};

/// Why reading stops before the end.
enum Stop {
    /// Not JSON.
    Syntax,
    /// A type that reads itself refused its value.
    Fatal(DecodeError),
}

impl From<Bad> for Stop {
    fn from(_: Bad) -> Self {
        Self::Syntax
    }
}

impl From<Full> for Stop {
    fn from(full: Full) -> Self {
        Self::Fatal(full.into())
    }
}

/// A step from the root to where the reader is.
enum Step<'a, 't> {
    Field(&'t Type, &'t Field),
    Key(Cow<'a, str>),
    Index(usize),
}

/// The state of reading one text. Like Go it goes on after a value of the wrong type, and tells the
/// first such error at the end.
pub(super) struct Reader<'a, 't> {
    json: &'a [u8],
    input: Parser<'a>,
    path: Vec<Step<'a, 't>>,
    depth: usize,
    room: MemoryBudget,
    strict: bool,
    problems: Vec<String>,
    /// The bytes of all that was to be told, repeats included.
    problem_bytes: usize,
    first_error: Option<DecodeError>,
}

impl<'a, 't> Reader<'a, 't> {
    pub(super) fn new(json: &'a [u8], strict: bool) -> Self {
        Self {
            json,
            input: Parser::new(json),
            path: Vec::new(),
            depth: 0,
            room: MemoryBudget::default(),
            strict,
            problems: Vec::new(),
            problem_bytes: 0,
            first_error: None,
        }
    }

    /// Reads all of the text as a type.
    pub(super) fn whole(mut self, ty: &'t Type) -> Result<Decoded, DecodeError> {
        let mut object = Value::Null;
        let read = self.value(ty, false, &mut object);
        if object.is_null() {
            object = ty.zero();
        }
        self.finish(read, object)
    }

    /// Reads all of the text as a map of anything.
    pub(super) fn whole_object(mut self) -> Result<Decoded, DecodeError> {
        let mut object = Value::Object(Map::new());
        let read = match self.input.peek() {
            Ok(b'{') => self.anything(&mut object),
            Ok(b'n') => self.input.word().map(drop).map_err(Stop::from),
            Ok(_) => self.refuse("map[string]interface {}"),
            Err(Bad) => Err(Stop::Syntax),
        };
        self.finish(read, object)
    }

    fn finish(mut self, read: Result<(), Stop>, object: Value) -> Result<Decoded, DecodeError> {
        let read = read.and_then(|()| Ok(self.input.end()?));
        let error = match read {
            Ok(()) => self.first_error,
            Err(Stop::Fatal(error)) => Some(error),
            Err(Stop::Syntax) => Some(DecodeError::text("unexpected end of JSON input")),
        };
        let Some(error) = error else {
            let problems = self.problems;
            return Ok(Decoded { object, problems });
        };
        // Go reads nothing before it knows that all of it is JSON.
        Err(match json::problem(self.json) {
            Some(problem) => DecodeError::text(problem),
            None => error,
        })
    }

    /// Reads a value over what is there already: a field given twice is read twice.
    fn value(&mut self, ty: &'t Type, pointer: bool, slot: &mut Value) -> Result<(), Stop> {
        let first = self.input.peek()?;
        if first == b'n' && (pointer || ty.has_nil()) {
            self.input.word()?;
            *slot = Value::Null;
            return Ok(());
        }
        match (&ty.go.kind, first) {
            (Kind::Special(special), _) => self.special(*special, slot),
            (Kind::Any | Kind::None, _) => self.anything(slot),
            (_, b'{') => self.nested(|reader| reader.object(ty, slot)),
            (_, b'[') => self.nested(|reader| reader.array(ty, slot)),
            (_, b'"') => self.string(ty, slot),
            (_, b'n') => self.input.word().map(drop).map_err(Stop::from),
            (_, b't' | b'f') => self.boolean(ty, slot),
            _ => self.number(ty, slot),
        }
    }

    /// Reads a value of a type that reads itself.
    fn special(&mut self, special: Special, slot: &mut Value) -> Result<(), Stop> {
        let read = match (special.is_schema(), self.input.peek()?) {
            (true, b'{') => self.schema(),
            (_, b'[') if special == Special::SchemaOrArray => {
                let mut schemas = Value::Null;
                let read = self.nested(|reader| reader.schemas(&mut schemas));
                read.map(|()| schemas)
            }
            (_, first) if special.is_raw() => match first == b'n' && special.keeps(slot) {
                true => return self.input.word().map(drop).map_err(Stop::from),
                false => self.raw(),
            },
            _ => {
                let raw = self.input.skip()?;
                if raw == b"null" && special.keeps(slot) {
                    return Ok(());
                }
                special::read(special, raw).map_err(Stop::Fatal)
            }
        };
        *slot = read.map_err(|stop| match stop {
            Stop::Fatal(error) => Stop::Fatal(self.placed(error)),
            Stop::Syntax => Stop::Syntax,
        })?;
        Ok(())
    }

    /// Reads JSON that is kept as it is. Nothing is told of it.
    fn raw(&mut self) -> Result<Value, Stop> {
        let strict = mem::replace(&mut self.strict, false);
        let outer_error = self.first_error.take();
        let mut value = Value::Null;
        let read = self.anything(&mut value);
        (self.strict, self.first_error) = (strict, outer_error);
        read.map(|()| value)
    }

    /// Reads a schema as if it were a text of its own, as its type does: nothing is told of its fields,
    /// and paths start here.
    fn schema(&mut self) -> Result<Value, Stop> {
        let Some(ty) = special::schema_type() else {
            self.input.skip()?;
            return Ok(Value::Null);
        };
        let path = mem::take(&mut self.path);
        let strict = mem::replace(&mut self.strict, false);
        let outer_error = self.first_error.take();
        let mut schema = Value::Null;
        let read = self.value(ty, false, &mut schema);
        let error = mem::replace(&mut self.first_error, outer_error);
        (self.path, self.strict) = (path, strict);
        read?;
        match error {
            Some(error) => Err(Stop::Fatal(error)),
            None if schema.is_null() => Ok(ty.zero()),
            None => Ok(schema),
        }
    }

    /// Reads a list of schemas, which is nothing if it is empty.
    fn schemas(&mut self, slot: &mut Value) -> Result<(), Stop> {
        self.input.enter();
        let mut items = Vec::new();
        while self.input.next_element(items.is_empty())? {
            self.room.item()?;
            items.push(match self.input.peek()? {
                b'{' | b'n' => self.schema()?,
                _ => {
                    let word = special::word(self.input.skip()?);
                    let error = DecodeError::of_type(word, "v1.JSONSchemaProps");
                    return Err(Stop::Fatal(error));
                }
            });
        }
        if !items.is_empty() {
            *slot = Value::Array(items);
        }
        Ok(())
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        if self.depth >= DEPTH_MAX {
            return Err(Stop::Fatal(DecodeError::text("exceeded max depth")));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, ty: &'t Type, slot: &mut Value) -> Result<(), Stop> {
        let Some(object) = &ty.map else {
            return self.refuse(&ty.go.text);
        };
        self.input.enter();
        let mut map = match slot.take() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        match (&ty.go.kind, &object.rest) {
            (Kind::Struct(_), _) => {
                self.fields(ty, object, &mut map)?;
                ty.complete(&mut map);
                self.room.fields(map.len())?;
            }
            (_, Some(value)) => self.entries(value, &mut map)?,
            _ => {}
        }
        *slot = Value::Object(map);
        Ok(())
    }

    fn fields(
        &mut self,
        ty: &'t Type,
        object: &'t Object,
        map: &mut Map<String, Value>,
    ) -> Result<(), Stop> {
        let mut seen = 0_u128;
        let mut first = true;
        let is_new = map.is_empty();
        while let Some(key) = self.input.next_key(first)? {
            first = false;
            let position = object.position(&key);
            let Some(field) = position.and_then(|at| object.fields.get(at)) else {
                self.problem("unknown", &key);
                self.input.skip()?;
                continue;
            };
            let bit = 1_u128 << (position.unwrap_or_default() % 128);
            let again = seen & bit != 0;
            seen |= bit;
            if again {
                self.problem("duplicate", &key);
            }
            let mut value = match is_new && !again {
                true => Value::Null,
                false => map.remove(field.name.as_ref()).unwrap_or(Value::Null),
            };
            let nil = self.input.peek()? == b'n' && field.ty.pointer;
            self.path.push(Step::Field(ty, field));
            self.value(&field.ty, field.ty.pointer, &mut value)?;
            self.path.pop();
            field.ty.settle(&mut value);
            if field.is_written(&value, nil) {
                map.insert(field.name.to_string(), value);
            }
        }
        Ok(())
    }

    fn entries(&mut self, ty: &'t TypeRef, map: &mut Map<String, Value>) -> Result<(), Stop> {
        let mut old: HashSet<String> = map.keys().cloned().collect();
        let mut first = true;
        while let Some(key) = self.input.next_key(first)? {
            first = false;
            if map.contains_key(key.as_ref()) && !old.remove(key.as_ref()) {
                self.problem("duplicate", &key);
            }
            self.room.entry(map.len(), key.len())?;
            let mut value = Value::Null;
            self.path.push(Step::Key(key.clone()));
            self.value(ty, ty.pointer, &mut value)?;
            self.path.pop();
            ty.settle(&mut value);
            map.insert(key.into_owned(), value);
        }
        Ok(())
    }

    fn array(&mut self, ty: &'t Type, slot: &mut Value) -> Result<(), Stop> {
        if let Kind::Bytes = ty.go.kind {
            return self.byte_list(slot);
        }
        let Some(list) = &ty.list else {
            return self.refuse(&ty.go.text);
        };
        self.input.enter();
        let mut items = match slot.take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let mut count = 0;
        while self.input.next_element(count == 0)? {
            if items.len() == count {
                self.room.item()?;
                items.push(Value::Null);
            }
            self.path.push(Step::Index(count));
            if let Some(item) = items.get_mut(count) {
                self.value(&list.item, list.item.pointer, item)?;
                list.item.settle(item);
            }
            self.path.pop();
            count += 1;
        }
        items.truncate(count);
        *slot = Value::Array(items);
        Ok(())
    }

    /// Bytes written as a list of numbers.
    fn byte_list(&mut self, slot: &mut Value) -> Result<(), Stop> {
        self.input.enter();
        let mut bytes = Vec::new();
        let mut first = true;
        while self.input.next_element(first)? {
            first = false;
            match self.input.peek()? {
                b'n' => {
                    self.input.word()?;
                    bytes.push(0);
                }
                b'-' | b'0'..=b'9' => {
                    let text = self.input.number()?;
                    match text.parse::<u8>() {
                        Ok(byte) => bytes.push(byte),
                        Err(_) => self.wrong(format!("number {text}"), "uint8"),
                    }
                }
                _ => self.refuse("uint8")?,
            }
        }
        *slot = Value::String(base64::encode(&bytes));
        Ok(())
    }

    fn string(&mut self, ty: &Type, slot: &mut Value) -> Result<(), Stop> {
        let text = self.input.string()?;
        self.room.text(text.len())?;
        match ty.go.kind {
            Kind::String => *slot = Value::String(text.into_owned()),
            Kind::Bytes => match base64::decode(text.as_bytes()) {
                Ok(bytes) => *slot = Value::String(base64::encode(&bytes)),
                Err(at) => self.save(DecodeError::text(format!(
                    "illegal base64 data at input byte {at}"
                ))),
            },
            _ => self.wrong("string", &ty.go.text),
        }
        Ok(())
    }

    fn boolean(&mut self, ty: &Type, slot: &mut Value) -> Result<(), Stop> {
        let word = self.input.word()?;
        match ty.go.kind {
            Kind::Bool => *slot = Value::Bool(word == "true"),
            _ => self.wrong("bool", &ty.go.text),
        }
        Ok(())
    }

    fn number(&mut self, ty: &Type, slot: &mut Value) -> Result<(), Stop> {
        let text = self.input.number()?;
        let number = match ty.go.kind {
            Kind::Int(bits) => signed(text, bits).map(Number::from),
            Kind::Uint(bits) => unsigned(text, bits).map(Number::from),
            Kind::Float => text.parse().ok().and_then(float),
            _ => {
                self.wrong("number", &ty.go.text);
                return Ok(());
            }
        };
        match number {
            Some(number) => *slot = Value::Number(number),
            None => self.wrong(format!("number {text}"), &ty.go.text),
        }
        Ok(())
    }

    /// Reads a value of no particular type.
    fn anything(&mut self, slot: &mut Value) -> Result<(), Stop> {
        *slot = match self.input.peek()? {
            b'{' => return self.nested(|reader| reader.any_object(slot)),
            b'[' => return self.nested(|reader| reader.any_array(slot)),
            b'"' => {
                let text = self.input.string()?;
                self.room.text(text.len())?;
                Value::String(text.into_owned())
            }
            b'n' | b't' | b'f' => match self.input.word()? {
                "null" => Value::Null,
                word => Value::Bool(word == "true"),
            },
            _ => {
                let text = self.input.number()?;
                match any_number(text) {
                    Some(number) => Value::Number(number),
                    None => {
                        self.wrong(format!("number {text}"), "float64");
                        Value::Null
                    }
                }
            }
        };
        Ok(())
    }

    fn any_object(&mut self, slot: &mut Value) -> Result<(), Stop> {
        self.input.enter();
        let mut map = Map::new();
        let mut first = true;
        while let Some(key) = self.input.next_key(first)? {
            first = false;
            if map.contains_key(key.as_ref()) {
                self.problem("duplicate", &key);
            }
            self.room.entry(map.len(), key.len())?;
            let mut value = Value::Null;
            self.path.push(Step::Key(key.clone()));
            self.anything(&mut value)?;
            self.path.pop();
            map.insert(key.into_owned(), value);
        }
        *slot = Value::Object(map);
        Ok(())
    }

    fn any_array(&mut self, slot: &mut Value) -> Result<(), Stop> {
        self.input.enter();
        let mut items = Vec::new();
        while self.input.next_element(items.is_empty())? {
            self.room.item()?;
            let mut value = Value::Null;
            self.path.push(Step::Index(items.len()));
            self.anything(&mut value)?;
            self.path.pop();
            items.push(value);
        }
        *slot = Value::Array(items);
        Ok(())
    }

    /// Passes over a value that this Go type has no room for.
    fn refuse(&mut self, ty: &str) -> Result<(), Stop> {
        let value = match self.input.peek()? {
            b'{' => "object",
            b'[' => "array",
            b'"' => "string",
            b't' | b'f' => "bool",
            _ => "number",
        };
        self.wrong(value, ty);
        self.input.skip()?;
        Ok(())
    }

    fn wrong(&mut self, value: impl Into<String>, ty: &str) {
        if self.first_error.is_none() {
            let error = self.placed(DecodeError::of_type(value, ty));
            self.save(error);
        }
    }

    fn save(&mut self, error: DecodeError) {
        self.first_error.get_or_insert(error);
    }

    /// The error with the field where the reader is.
    fn placed(&self, error: DecodeError) -> DecodeError {
        let mut holder = "";
        let mut path = String::new();
        for step in &self.path {
            if let Step::Field(ty, field) = step {
                holder = ty.go.text.rsplit('.').next().unwrap_or_default();
                for name in [field.embedded, field.name.as_ref()] {
                    let dot = if path.is_empty() || name.is_empty() {
                        ""
                    } else {
                        "."
                    };
                    path.push_str(dot);
                    path.push_str(name);
                }
            }
        }
        error.within(holder, &path)
    }

    fn problem(&mut self, what: &str, key: &str) {
        let enough = self.problems.len() >= PROBLEMS_MAX || self.problem_bytes > PROBLEM_BYTES_MAX;
        if !self.strict || enough {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            let (dot, name) = match step {
                Step::Index(index) => {
                    let _ = write!(path, "[{index}]");
                    continue;
                }
                Step::Field(_, field) => (!path.is_empty(), field.name.as_ref()),
                Step::Key(key) => (!path.is_empty(), key.as_ref()),
            };
            path.push_str(if dot { "." } else { "" });
            path.push_str(name);
        }
        path.push_str(if self.path.is_empty() { "" } else { "." });
        path.push_str(key);
        let problem = format!("{what} field {}", quote(&path));
        self.problem_bytes += problem.len();
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// Reads JSON that was checked before, without telling problems, inside so many levels of something
/// else that takes of the same room.
pub(super) fn read_any(
    json: &[u8],
    depth: usize,
    room: &mut MemoryBudget,
) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(json, false);
    reader.depth = depth;
    mem::swap(&mut reader.room, room);
    let mut value = Value::Null;
    let read = reader.anything(&mut value);
    mem::swap(&mut reader.room, room);
    match read {
        Err(Stop::Fatal(error)) => Err(error),
        _ => Ok(value),
    }
}

/// Reads JSON that was checked before as a type that reads itself.
pub(super) fn read_special(special: Special, json: &[u8]) -> Result<Value, DecodeError> {
    let mut value = Value::Null;
    match Reader::new(json, false).special(special, &mut value) {
        Err(Stop::Fatal(error)) => Err(error),
        _ => Ok(value),
    }
}

fn signed(text: &str, bits: u8) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    let fits = bits == 64 || i32::try_from(number).is_ok();
    fits.then_some(number)
}

fn unsigned(text: &str, bits: u8) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    let fits = match bits {
        8 => u8::try_from(number).is_ok(),
        32 => u32::try_from(number).is_ok(),
        _ => true,
    };
    fits.then_some(number)
}

/// A number as Go writes a `float64`: whole ones without a point, with the fewest digits that tell
/// it from others.
pub(crate) fn float(number: f64) -> Option<Number> {
    if number.fract() == 0.0
        && number.abs() < 1e19
        && let Ok(whole) = format!("{number}").parse::<i64>()
    {
        return Some(Number::from(whole));
    }
    Number::from_f64(number)
}

/// A number of no particular type: whole if it is written so and fits.
fn any_number(text: &str) -> Option<Number> {
    match text.parse::<i64>() {
        Ok(whole) => Some(Number::from(whole)),
        Err(_) => text.parse().ok().and_then(float),
    }
}
