//! The arguments of plugins, which the plugins themselves read: JSON to and from the engine's values.

use super::{ConfigError, Path};
use serde_json::{Map, Number, Value};
use stowplan_base::Names;
use stowplan_engine::framework::Registry;
use stowplan_engine::framework::args::{ArgErrors, ArgNames, ArgValue};
use stowplan_engine::model::ResourceNames;

/// A JSON value as plugins read it.
pub fn to_arg(value: &Value) -> ArgValue {
    match value {
        Value::Null => ArgValue::Null,
        Value::Bool(value) => ArgValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => ArgValue::Int(value),
            None => ArgValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => ArgValue::Text(text.clone()),
        Value::Array(items) => ArgValue::List(items.iter().map(to_arg).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            ArgValue::Map(fields.map(|(k, v)| (k.clone(), to_arg(v))).collect())
        }
    }
}

/// A plugin's value as JSON.
pub(super) fn from_arg(value: ArgValue) -> Value {
    match value {
        ArgValue::Null => Value::Null,
        ArgValue::Bool(value) => Value::Bool(value),
        ArgValue::Int(value) => Value::Number(value.into()),
        ArgValue::Float(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        ArgValue::Text(text) => Value::String(text),
        ArgValue::List(items) => Value::Array(items.into_iter().map(from_arg).collect()),
        ArgValue::Map(fields) => {
            let fields = fields.into_iter().map(|(k, v)| (k, from_arg(v)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// The arguments of a plugin that takes some, with their defaults if they can be read, and what is
/// wrong with them.
pub(super) fn completed(
    registry: &Registry,
    plugin: &str,
    args: &Value,
    path: &Path,
) -> (Option<Value>, ArgErrors) {
    // What is interned here is thrown away: the engine reads the arguments again.
    let (mut names, mut resources) = (Names::new(), ResourceNames::default());
    let mut errors = ArgErrors::default();
    let names = ArgNames {
        names: &mut names,
        resources: &mut resources,
    };
    let decoded = registry.decode(plugin, to_arg(args), path, &mut errors, names);
    (decoded.map(|args| from_arg(args.completed)), errors)
}

/// The arguments of a plugin that is told none; `None` if it takes none.
pub fn default_args(registry: &Registry, plugin: &str) -> Option<Value> {
    completed(registry, plugin, &Value::Null, &Path::default()).0
}

pub(super) fn validate(
    registry: &Registry,
    plugin: &str,
    args: &Value,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) {
    let (_, found) = completed(registry, plugin, args, path);
    errors.extend(found.unreadable);
    errors.extend(found.invalid);
}
