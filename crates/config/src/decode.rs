//! Text → types, strictly: a field that is not known is an error that names its place.

use super::args::{completed, to_arg};
use super::{API_VERSION, ConfigError, ConfigErrors, KIND, KubeSchedulerConfiguration, Path};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stowplan_engine::framework::Registry;

/// Parses YAML, of which JSON is a part.
pub(super) fn value(text: &str) -> Result<Value, ConfigErrors> {
    let whole = |error: &dyn std::fmt::Display| Path::default().error(error.to_string());
    // By way of YAML's own values, because they do not accept a key twice.
    let parsed: Result<serde_yaml_ng::Value, _> = serde_yaml_ng::from_str(text);
    let mut yaml = match parsed {
        Ok(yaml) => yaml,
        // JSON may have tabs where YAML may not.
        Err(error) => return serde_json::from_str(text).map_err(|_| whole(&error).into()),
    };
    yaml.apply_merge().map_err(|error| whole(&error))?;
    Ok(serde_json::to_value(yaml).map_err(|error| whole(&error))?)
}

/// Reads a whole configuration, arguments of plugins included.
pub(super) fn configuration(
    mut value: Value,
    registry: &Registry,
) -> Result<KubeSchedulerConfiguration, ConfigErrors> {
    check_type(&mut value)?;
    drop_nulls(&mut value);
    let mut errors = Vec::new();
    let config: Option<KubeSchedulerConfiguration> = typed(&value, &Path::default(), &mut errors);
    let mut config = config.unwrap_or_default();
    let profiles = Path::new("profiles");
    for (i, profile) in config.profiles.iter_mut().enumerate() {
        let path = profiles.index(i).child("pluginConfig");
        for (j, plugin) in profile.plugin_config.iter_mut().enumerate() {
            if registry.takes_args(&plugin.name) {
                let path = path.index(j).child("args");
                check_args_type(&plugin.name, &mut plugin.args, &path, &mut errors);
                let (args, found) = completed(registry, &plugin.name, &plugin.args, &path);
                errors.extend(found.unreadable);
                plugin.args = args.unwrap_or_default();
            }
        }
    }
    if errors.is_empty() {
        Ok(config)
    } else {
        Err(ConfigErrors(errors))
    }
}

/// Reads a `T`; an absent one is the default. Fields that are not known are added to `errors`.
fn typed<T: DeserializeOwned + Default>(
    value: &Value,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) -> Option<T> {
    if value.is_null() {
        return Some(T::default());
    }
    let unknown = |field: serde_ignored::Path<'_>| {
        errors.push(place(path, &field).error("unknown field"));
    };
    let mut unknown = unknown;
    let fields = serde_ignored::Deserializer::new(value, &mut unknown);
    match serde_path_to_error::deserialize(fields) {
        Ok(config) => Some(config),
        Err(error) => {
            let path = error.path().iter().fold(path.clone(), |path, segment| {
                use serde_path_to_error::Segment;
                match segment {
                    Segment::Seq { index } => path.index(*index),
                    Segment::Map { key } => path.child(key),
                    Segment::Enum { .. } | Segment::Unknown => path,
                }
            });
            errors.push(path.error(error.inner().to_string()));
            None
        }
    }
}

fn place(root: &Path, path: &serde_ignored::Path<'_>) -> Path {
    use serde_ignored::Path as Ignored;
    match path {
        Ignored::Root => root.clone(),
        Ignored::Seq { parent, index } => place(root, parent).index(*index),
        Ignored::Map { parent, key } => place(root, parent).child(key),
        Ignored::Some { parent }
        | Ignored::NewtypeStruct { parent }
        | Ignored::NewtypeVariant { parent } => place(root, parent),
    }
}

/// Takes `apiVersion` and `kind` off and checks them.
fn check_type(value: &mut Value) -> Result<(), ConfigError> {
    let Value::Object(fields) = value else {
        return Err(Path::default().error(format!("expected a {KIND}")));
    };
    let kind = take_text(fields, "kind")?;
    let api_version = take_text(fields, "apiVersion")?;
    if kind != KIND {
        return Err(unsupported("kind", &kind, KIND));
    }
    match api_version.strip_prefix("kubescheduler.config.k8s.io/") {
        _ if api_version == API_VERSION => Ok(()),
        Some(version) if version.starts_with("v1alpha") || version.starts_with("v1beta") => {
            let message =
                format!("{version} is no longer served: rewrite the file for {API_VERSION:?}");
            Err(Path::new("apiVersion").error(message))
        }
        _ => Err(unsupported("apiVersion", &api_version, API_VERSION)),
    }
}

/// The same for a plugin's arguments, where both may be absent.
fn check_args_type(plugin: &str, args: &mut Value, path: &Path, errors: &mut Vec<ConfigError>) {
    let Value::Object(fields) = args else {
        return;
    };
    for (field, expected) in [
        ("apiVersion", API_VERSION.to_owned()),
        ("kind", format!("{plugin}Args")),
    ] {
        match fields.remove(field) {
            None => {}
            Some(Value::String(actual)) if actual.is_empty() || actual == expected => {}
            Some(actual) => errors.push(path.child(field).error(format!(
                "args for plugin {plugin} were not of type {expected:?}, got {actual}"
            ))),
        }
    }
}

fn take_text(fields: &mut Map<String, Value>, field: &str) -> Result<String, ConfigError> {
    match fields.remove(field) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(Path::new(field).required("")),
        Some(other) => Err(Path::new(field).invalid(to_arg(&other), "expected a string")),
    }
}

fn unsupported(field: &str, actual: &str, expected: &str) -> ConfigError {
    Path::new(field).not_supported(actual, &[expected])
}

/// A field that is null is an absent field.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
