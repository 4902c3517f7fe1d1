//! Where a custom resource has its replicas.
//!
//! Upstream: `ScaleREST` in `pkg/registry/customresource/etcd.go`.

use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, Status, View, go};

/// The `scale` subresource of a version.
#[derive(Clone)]
pub struct Scale {
    spec_replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

/// The keys of a path such as `.spec.replicas`.
fn keys(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// A field of an object; the error is what Go says of a wrong type.
fn nested<'a>(object: &'a Value, path: &str, wanted: &str) -> Result<Option<&'a Value>, String> {
    let keys = keys(path);
    let mut here = object;
    for (i, key) in keys.iter().enumerate() {
        if here.is_null() {
            return Ok(None);
        }
        let Value::Object(map) = here else {
            let so_far: String = keys[..=i].iter().map(|k| format!(".{k}")).collect();
            return Err(wrong(&so_far, here, "map[string]interface{}"));
        };
        match map.get(*key) {
            None => return Ok(None),
            Some(value) => here = value,
        }
    }
    let fits = match wanted {
        "int64" => here.is_i64(),
        _ => here.is_string(),
    };
    match fits {
        true => Ok(Some(here)),
        false => {
            let path: String = keys.iter().map(|k| format!(".{k}")).collect();
            Err(wrong(&path, here, wanted))
        }
    }
}

fn wrong(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, is) = (go::plain(value), go::type_name(value));
    format!("{path} accessor error: {shown} is of the type {is}, expected {wanted}")
}

impl Scale {
    pub(crate) fn new(scale: &Value) -> Self {
        let selector = scale.has("labelSelectorPath");
        Self {
            spec_replicas: scale.text("specReplicasPath").to_owned(),
            status_replicas: scale.text("statusReplicasPath").to_owned(),
            selector: selector.then(|| scale.text("labelSelectorPath").to_owned()),
        }
    }

    /// Where the wanted replicas are.
    pub fn replicas_path(&self) -> Vec<&str> {
        keys(&self.spec_replicas)
    }

    fn int(object: &Value, path: &str) -> Result<Option<i64>, String> {
        Ok(nested(object, path, "int64")?.and_then(Value::as_i64))
    }

    /// The scale of an object, and whether the object says how many replicas it wants.
    pub fn show(&self, object: &Value) -> Result<(Value, bool), Status> {
        let read = || {
            let wanted = Self::int(object, &self.spec_replicas)?;
            let present = Self::int(object, &self.status_replicas)?.unwrap_or_default();
            let selector = match self.selector.as_deref().filter(|path| !path.is_empty()) {
                Some(path) => nested(object, path, "string")?.and_then(Value::as_str),
                None => None,
            };
            Ok::<_, String>((wanted, present, selector.unwrap_or_default()))
        };
        let (wanted, present, selector) = read().map_err(Status::plain_error)?;
        let mut metadata = Map::new();
        for field in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        ] {
            if object.at("metadata").has(field) {
                metadata.set(field, object.at("metadata").at(field).clone());
            }
        }
        let mut scale = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": metadata,
            "spec": {},
            "status": {"replicas": present as i32},
        });
        let replicas = wanted.unwrap_or_default() as i32;
        if replicas != 0 {
            scale.at_mut("spec").set("replicas", replicas);
        }
        if !selector.is_empty() {
            scale.at_mut("status").set("selector", selector);
        }
        Ok((scale, wanted.is_some()))
    }

    /// 500: there is nothing to scale.
    pub fn missing(&self) -> Status {
        let path = go::quote(&self.spec_replicas);
        Status::internal(format!("the spec replicas field {path} does not exist"))
    }

    /// 400: a change has to say how many replicas there shall be.
    pub fn empty(&self) -> Status {
        let path = go::quote(&self.spec_replicas);
        Status::bad_request(format!("the spec replicas field {path} cannot be empty"))
    }

    /// Puts the replicas of a scale into an object.
    pub fn put(&self, object: &mut Value, replicas: i64) {
        let keys = self.replicas_path();
        let Some((last, above)) = keys.split_last() else {
            return;
        };
        let holder = above.iter().fold(object, |here, key| here.at_mut(key));
        holder.set(last, replicas);
    }

    pub(crate) fn validate_spec(&self, object: &Value) -> ErrorList {
        count(object, &self.spec_replicas)
    }

    pub(crate) fn validate_status(&self, object: &Value) -> ErrorList {
        let mut errors = count(object, &self.status_replicas);
        if let Some(path) = &self.selector
            && let Err(why) = nested(object, path, "string")
        {
            errors.push(Error::invalid(&Path::new(path), "", why));
        }
        errors
    }
}

fn count(object: &Value, path: &str) -> ErrorList {
    let place = Path::new(path);
    let error = match Scale::int(object, path) {
        Err(why) => Error::invalid(&place, 0i64, why),
        Ok(Some(n)) if n < 0 => Error::invalid(&place, n, "should be a non-negative integer"),
        Ok(Some(n)) if n > i64::from(i32::MAX) => {
            let limit = format!("should be less than or equal to {}", i32::MAX);
            Error::invalid(&place, n, limit)
        }
        Ok(_) => return ErrorList::new(),
    };
    vec![error]
}
