//! `metav1.Status`: what a request that failed is answered with.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/errors`.

use crate::field::{self, ErrorList};
use crate::go;
use crate::meta::{GroupKind, GroupResource};
use serde_json::{Map, Value, json};

/// A request that failed, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// One CamelCase word for programs; may be empty.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What it is about; `None` leaves `details` out.
    pub details: Option<Box<Details>>,
    /// Where a list that cannot go on consistently may go on all the same; mostly empty.
    pub continue_token: String,
}

/// What a `Status` is about. Empty fields are left out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Details {
    /// The name of the object.
    pub name: String,
    /// The group of the resource or kind.
    pub group: String,
    /// The resource or kind.
    pub kind: String,
    /// The uid of the object.
    pub uid: String,
    /// One entry per fault.
    pub causes: Vec<Cause>,
    /// When to try again; 0 leaves it out.
    pub retry_after_seconds: i32,
}

/// One fault of several.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cause {
    /// One CamelCase word; may be empty.
    pub reason: String,
    /// For people.
    pub message: String,
    /// The field, if one is at fault.
    pub field: String,
}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: String::new(),
        }
    }

    /// The same, about this resource and object.
    #[must_use]
    pub fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.group.clone_from(&resource.group);
        details.kind.clone_from(&resource.resource);
        details.name = name.to_owned();
        self
    }

    /// The same, with another cause.
    #[must_use]
    pub fn because(mut self, cause: Cause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The same, to be tried again after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: i32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Any other failure.
    pub fn failure(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// 404.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", go::quote(name));
        Self::new(404, "NotFound", message).about(resource, name)
    }

    /// 409: one of that name is there already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", go::quote(name));
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409: the object is not in the state that the request assumed.
    pub fn conflict(resource: &GroupResource, name: &str, why: impl AsRef<str>) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {resource} {}: {}",
            go::quote(name),
            why.as_ref()
        );
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 403.
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl AsRef<str>) -> Self {
        let why = why.as_ref();
        let message = if resource.resource.is_empty() && resource.group.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {} is forbidden: {why}", go::quote(name))
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 422: the object is invalid. The first errors are told, as many as anybody will read.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &ErrorList) -> Self {
        let mut message = format!("{kind} {} is invalid", go::quote(name));
        let told = field::told(errors);
        if !told.is_empty() {
            message.push_str(": ");
            message.push_str(&field::aggregate(told));
        }
        if let more @ 1.. = errors.len() - told.len() {
            message.push_str(&format!(" and {more} more errors"));
        }
        let causes = told.iter().map(|error| Cause {
            reason: error.kind.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        });
        let details = Details {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes: causes.collect(),
            ..Details::default()
        };
        let mut status = Self::new(422, "Invalid", message);
        status.details = Some(Box::new(details));
        status
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 405.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message = format!(
            "{action} is not supported on resources of kind {}",
            go::quote(&resource.to_string())
        );
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// 410: the revision asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 429.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: i32) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(retry_after_seconds)
    }

    /// 500 with upstream's preamble and a cause.
    pub fn internal(message: impl AsRef<str>) -> Self {
        let message = message.as_ref();
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .because(Cause {
            message: message.to_owned(),
            ..Cause::default()
        })
    }

    /// 500 without a reason: what upstream makes of an error that has no status of its own.
    pub fn plain_error(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The object on the wire.
    pub fn to_json(&self) -> Value {
        let mut out = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.continue_token.is_empty() {
            out["metadata"]["continue"] = self.continue_token.as_str().into();
        }
        if !self.reason.is_empty() {
            out["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            out["details"] = details.to_json();
        }
        out
    }
}

impl Details {
    /// The object on the wire.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !value.is_empty() {
                out.insert(key.to_owned(), value.as_str().into());
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_json);
            out.insert("causes".to_owned(), causes.collect());
        }
        if self.retry_after_seconds > 0 {
            out.insert(
                "retryAfterSeconds".to_owned(),
                self.retry_after_seconds.into(),
            );
        }
        Value::Object(out)
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !value.is_empty() {
                out.insert(key.to_owned(), value.as_str().into());
            }
        }
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Error, Path};
    use crate::limits::ERRORS_TOLD_MAX;

    #[test]
    fn an_invalid_object_lists_its_faults_as_causes() {
        let errors = vec![Error::required(&Path::new("spec").child("a"), "")];
        let status = Status::invalid(&GroupKind::new("batch", "Job"), "x", &errors);
        assert_eq!(
            status.to_json(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Job.batch \"x\" is invalid: spec.a: Required value",
                "reason": "Invalid", "code": 422,
                "details": {"name": "x", "group": "batch", "kind": "Job", "causes": [
                    {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"}
                ]}
            })
        );
    }

    #[test]
    fn of_many_faults_the_first_are_told() {
        let at = Path::new("list");
        let errors = |count| {
            (0..count)
                .map(|i| Error::required(&at.index(i), ""))
                .collect()
        };
        let kind = GroupKind::new("", "Pod");
        let all = Status::invalid(&kind, "x", &errors(ERRORS_TOLD_MAX));
        assert!(all.message.ends_with("list[999]: Required value]"));
        let some = Status::invalid(&kind, "x", &errors(60_000));
        assert!(
            some.message
                .ends_with(": Required value] and 59000 more errors")
        );
        let causes = |status: Status| status.details.map(|details| details.causes.len());
        assert_eq!(causes(all), Some(ERRORS_TOLD_MAX));
        assert_eq!(causes(some), Some(ERRORS_TOLD_MAX));
        let long = Error::invalid(&at, "x".repeat(1_000_000), "");
        let some = Status::invalid(&kind, "x", &vec![long; 100]);
        assert_eq!(causes(some), Some(5));
    }

    #[test]
    fn the_core_group_is_not_printed() {
        let pods = GroupResource::new("", "pods");
        assert_eq!(
            Status::not_found(&pods, "a").message,
            r#"pods "a" not found"#
        );
        let none = GroupResource::new("", "");
        assert_eq!(Status::forbidden(&none, "", "no").message, "forbidden: no");
    }
}
