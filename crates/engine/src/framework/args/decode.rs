//! [`ArgValue`]s → a plugin's own arguments.
//!
//! Errors of type are worded as serde words them, for so are those of the rest of a configuration.

use super::{ArgValue, FieldError, FieldPath};
use crate::model::ResourceNames;
use std::collections::BTreeMap;
use stowplan_base::{Duration, DurationError, Names, Sym};

/// The arguments of a plugin.
pub trait Args: Clone + Default + std::fmt::Debug + 'static {
    /// Reads the fields, takes the default for those that are absent, and says what is wrong with the
    /// others ([`Fields::reject`]). A field of the wrong type ends the reading.
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError>;
}

/// A value that a field can have.
pub trait FromArg: Sized {
    /// The value at this place, or that it is of the wrong type.
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError>;
}

/// The tables in which arguments intern names.
pub struct ArgNames<'a> {
    /// Names.
    pub names: &'a mut Names,
    /// Columns of resources.
    pub resources: &'a mut ResourceNames,
}

/// What is wrong with arguments.
#[derive(Debug, Default)]
pub struct ArgErrors {
    /// What cannot be read: fields that are not known, values of the wrong type.
    pub unreadable: Vec<FieldError>,
    /// Values that will not do.
    pub invalid: Vec<FieldError>,
}

/// The fields of one object.
pub struct Fields<'a> {
    path: FieldPath,
    /// What has not been read yet.
    given: BTreeMap<String, ArgValue>,
    /// What was read, defaults included.
    read: BTreeMap<String, ArgValue>,
    errors: &'a mut ArgErrors,
    names: ArgNames<'a>,
}

impl<'a> Fields<'a> {
    /// Reads `value` by `decode`: what came of it, if it could be read, and the value with its
    /// defaults.
    pub(in crate::framework) fn read<T>(
        value: ArgValue,
        path: &FieldPath,
        errors: &mut ArgErrors,
        names: ArgNames<'_>,
        decode: impl FnOnce(&mut Fields<'_>) -> Result<T, FieldError>,
    ) -> Option<(T, ArgValue)> {
        let mut top = Fields {
            path: path.clone(),
            given: BTreeMap::new(),
            read: BTreeMap::new(),
            errors,
            names,
        };
        match top.nested(path.clone(), value, decode) {
            Ok(read) => Some(read),
            Err(error) => {
                top.errors.unreadable.push(error);
                None
            }
        }
    }

    /// The place of a field.
    pub fn path(&self, name: &str) -> FieldPath {
        self.path.child(name)
    }

    /// The place of the object itself.
    pub fn here(&self) -> &FieldPath {
        &self.path
    }

    /// Something is wrong with a value.
    pub fn reject(&mut self, error: FieldError) {
        self.errors.invalid.push(error);
    }

    /// Rejects a field of this value unless `holds`.
    pub fn check(&mut self, holds: bool, name: &str, value: impl Into<ArgValue>, detail: &str) {
        if !holds {
            let error = self.path(name).invalid(value, detail);
            self.reject(error);
        }
    }

    /// A field, or its default.
    pub fn get<T>(&mut self, name: &str, default: T) -> Result<T, FieldError>
    where
        T: FromArg + Clone + Into<ArgValue>,
    {
        let value = self.optional(name)?.unwrap_or(default);
        self.set(name, value.clone());
        Ok(value)
    }

    /// A field that may be absent.
    pub fn optional<T: FromArg>(&mut self, name: &str) -> Result<Option<T>, FieldError> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => {
                self.set(name, value.clone());
                T::from_arg(value, &self.path(name)).map(Some)
            }
        }
    }

    /// A field that must be there.
    pub fn required<T: FromArg>(&mut self, name: &str) -> Result<T, FieldError> {
        let missing = || self.path.error(format!("missing field `{name}`"));
        let missing = missing();
        self.optional(name)?.ok_or(missing)
    }

    /// An object, if there is one.
    pub fn object<T>(
        &mut self,
        name: &str,
        decode: impl FnOnce(&mut Fields<'_>) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let (object, read) = self.nested(self.path(name), value, decode)?;
        self.set(name, read);
        Ok(Some(object))
    }

    /// The field as it is written, while it has not been read.
    pub fn written(&self, name: &str) -> &ArgValue {
        self.given.get(name).unwrap_or(&ArgValue::Null)
    }

    /// An object, if there is one, whose name is left out of the places of what is in it.
    pub fn object_here<T>(
        &mut self,
        name: &str,
        decode: impl FnOnce(&mut Fields<'_>) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let (object, read) = self.nested(self.path.clone(), value, decode)?;
        self.set(name, read);
        Ok(Some(object))
    }

    /// A list of objects; an absent one is empty.
    pub fn list<T>(
        &mut self,
        name: &str,
        mut decode: impl FnMut(&mut Fields<'_>) -> Result<T, FieldError>,
    ) -> Result<Vec<T>, FieldError> {
        let path = self.path(name);
        let Some(value) = self.take(name) else {
            return Ok(Vec::new());
        };
        let (mut items, mut all) = (Vec::new(), Vec::new());
        for (i, item) in elements(value, &path)?.into_iter().enumerate() {
            let (item, read) = self.nested(path.index(i), item, &mut decode)?;
            items.push(item);
            all.push(read);
        }
        self.set(name, all);
        Ok(items)
    }

    /// What the field stands for, in the place of what was read: for defaults of another kind.
    pub fn set(&mut self, name: &str, value: impl Into<ArgValue>) {
        self.read.insert(name.to_owned(), value.into());
    }

    /// Interns a name.
    pub fn sym(&mut self, text: &str) -> Sym {
        self.names.names.intern(text)
    }

    /// The tables in which to intern names.
    pub fn names(&mut self) -> ArgNames<'_> {
        ArgNames {
            names: &mut *self.names.names,
            resources: &mut *self.names.resources,
        }
    }

    /// Nothing is nothing, be it written down or not.
    fn take(&mut self, name: &str) -> Option<ArgValue> {
        let value = self.given.remove(name)?;
        (value != ArgValue::Null).then_some(value)
    }

    fn nested<T>(
        &mut self,
        path: FieldPath,
        value: ArgValue,
        decode: impl FnOnce(&mut Fields<'_>) -> Result<T, FieldError>,
    ) -> Result<(T, ArgValue), FieldError> {
        let given = match value {
            ArgValue::Null => BTreeMap::new(),
            ArgValue::Map(fields) => fields,
            other => return Err(unexpected(&other, "a map", &path)),
        };
        let mut inner = Fields {
            path,
            given,
            read: BTreeMap::new(),
            errors: &mut *self.errors,
            names: ArgNames {
                names: &mut *self.names.names,
                resources: &mut *self.names.resources,
            },
        };
        let object = decode(&mut inner)?;
        let Fields {
            path, given, read, ..
        } = inner;
        let unknown = given
            .keys()
            .map(|name| path.child(name).error("unknown field"));
        self.errors.unreadable.extend(unknown);
        Ok((object, ArgValue::Map(read)))
    }
}

/// As serde words it.
fn unexpected(value: &ArgValue, expected: &str, path: &FieldPath) -> FieldError {
    let found = match value {
        ArgValue::Null => "null".to_owned(),
        ArgValue::Bool(value) => format!("boolean `{value}`"),
        ArgValue::Int(value) => format!("integer `{value}`"),
        ArgValue::Float(value) => format!("floating point `{value:?}`"),
        ArgValue::Text(text) => format!("string {text:?}"),
        ArgValue::List(_) => "sequence".to_owned(),
        ArgValue::Map(_) => "map".to_owned(),
    };
    path.error(format!("invalid type: {found}, expected {expected}"))
}

fn elements(value: ArgValue, path: &FieldPath) -> Result<Vec<ArgValue>, FieldError> {
    match value {
        ArgValue::List(items) => Ok(items),
        other => Err(unexpected(&other, "a sequence", path)),
    }
}

impl FromArg for bool {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        match value {
            ArgValue::Bool(value) => Ok(value),
            other => Err(unexpected(&other, "a boolean", path)),
        }
    }
}

impl FromArg for i64 {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        match value {
            ArgValue::Int(value) => Ok(value),
            other => Err(unexpected(&other, "i64", path)),
        }
    }
}

impl FromArg for i32 {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        match value {
            ArgValue::Int(value) => Self::try_from(value)
                .map_err(|_| path.error(format!("invalid value: integer `{value}`, expected i32"))),
            other => Err(unexpected(&other, "i32", path)),
        }
    }
}

impl FromArg for String {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        match value {
            ArgValue::Text(text) => Ok(text),
            other => Err(unexpected(&other, "a string", path)),
        }
    }
}

impl FromArg for ArgValue {
    fn from_arg(value: ArgValue, _path: &FieldPath) -> Result<Self, FieldError> {
        Ok(value)
    }
}

/// Written as Go writes it: `1m30s`.
impl FromArg for Duration {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        let text = String::from_arg(value, path)?;
        text.parse()
            .map_err(|error: DurationError| path.error(error.to_string()))
    }
}

impl From<Duration> for ArgValue {
    fn from(value: Duration) -> Self {
        Self::Text(value.to_string())
    }
}

impl<T: FromArg> FromArg for Vec<T> {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        let items = elements(value, path)?.into_iter().enumerate();
        items
            .map(|(i, item)| T::from_arg(item, &path.index(i)))
            .collect()
    }
}

impl<T: FromArg> FromArg for BTreeMap<String, T> {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        let ArgValue::Map(entries) = value else {
            return Err(unexpected(&value, "a map", path));
        };
        let entries = entries.into_iter().map(|(key, value)| {
            let value = T::from_arg(value, &path.child(&key))?;
            Ok((key, value))
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with arguments of one number, one duration and a list of named things.
    fn errors(value: ArgValue) -> Vec<String> {
        let (mut names, mut resources) = (Names::new(), ResourceNames::default());
        let mut errors = ArgErrors::default();
        let names = ArgNames {
            names: &mut names,
            resources: &mut resources,
        };
        let path = FieldPath::new("args");
        Fields::read(value, &path, &mut errors, names, |fields| {
            let count = fields.get("count", 3)?;
            fields.check(count > 0, "count", count, "must be positive");
            fields.get("wait", Duration::from_secs(1))?;
            fields.list("things", |thing| thing.required::<String>("name"))
        });
        let all = errors.unreadable.iter().chain(&errors.invalid);
        all.map(FieldError::to_string).collect()
    }

    #[test]
    fn errors_name_the_field() {
        let thing = |field: &str| vec![ArgValue::map([(field, "a")])];
        for (value, expected) in [
            (ArgValue::Null, ""),
            (ArgValue::map([("count", ArgValue::Null)]), ""),
            (
                ArgValue::from("x"),
                "args: invalid type: string \"x\", expected a map",
            ),
            (
                ArgValue::map([("count", 0)]),
                "args.count: Invalid value: 0: must be positive",
            ),
            (ArgValue::map([("cuont", 1)]), "args.cuont: unknown field"),
            (
                ArgValue::map([("count", 1_i64 << 40)]),
                "args.count: invalid value: integer `1099511627776`, expected i32",
            ),
            (
                ArgValue::map([("wait", "1")]),
                "args.wait: invalid duration \"1\": expected a number with a unit (ns, us, ms, s, m, h), as in \"1m30s\"",
            ),
            (ArgValue::map([("things", thing("name"))]), ""),
            (
                ArgValue::map([("things", thing("nme"))]),
                "args.things[0]: missing field `name`",
            ),
        ] {
            assert_eq!(errors(value.clone()).join("\n"), expected, "{value}");
        }
    }
}
