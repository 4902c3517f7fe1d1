//! Errors of single fields, worded as the API server words them.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/validation/field`.

use std::fmt;

/// The way to a field, outermost step first: `spec.containers[0].resources.requests[cpu]`.
///
/// Paths borrow their parents, so that walking an object costs nothing until something is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// A field of the object itself, or several: `spec`, `spec.template.spec`.
    pub fn new(field: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(field),
        }
    }

    /// A field below this one.
    pub fn child(&'a self, field: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(field),
        }
    }

    /// An element of this list.
    pub fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// An entry of this map.
    pub fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match (self.step, self.parent) {
            (Step::Field(field), None) => f.write_str(field),
            (Step::Field(field), Some(_)) => write!(f, ".{field}"),
            (Step::Index(index), _) => write!(f, "[{index}]"),
            (Step::Key(key), _) => write!(f, "[{key}]"),
        }
    }
}

/// What is wrong with one field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct FieldError {
    /// The field's path.
    pub field: String,
    /// What is wrong, as the API server words it.
    pub message: String,
}

/// The errors found so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    fn push(
        &mut self,
        path: &Path<'_>,
        what: &str,
        value: Option<&dyn fmt::Display>,
        detail: &str,
    ) {
        let value = value.map(|value| format!(": {value}")).unwrap_or_default();
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        self.0.push(FieldError {
            field: path.to_string(),
            message: format!("{what}{value}{detail}"),
        });
    }

    /// A text that cannot be right.
    pub fn invalid(&mut self, path: &Path<'_>, value: &str, detail: impl AsRef<str>) {
        self.push(
            path,
            "Invalid value",
            Some(&format_args!("{value:?}")),
            detail.as_ref(),
        );
    }

    /// A number that cannot be right.
    pub fn invalid_number(&mut self, path: &Path<'_>, value: impl Into<i64>, detail: &str) {
        self.push(path, "Invalid value", Some(&value.into()), detail);
    }

    /// An object that cannot be right as a whole.
    pub fn invalid_object(&mut self, path: &Path<'_>, detail: &str) {
        self.push(path, "Invalid value", None, detail);
    }

    /// A field that must be set.
    pub fn required(&mut self, path: &Path<'_>, detail: &str) {
        self.push(path, "Required value", None, detail);
    }

    /// A field that must not be set so.
    pub fn forbidden(&mut self, path: &Path<'_>, detail: impl AsRef<str>) {
        self.push(path, "Forbidden", None, detail.as_ref());
    }

    /// A text that is none of the few that are possible.
    pub fn unsupported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.push(
            path,
            "Unsupported value",
            Some(&format_args!("{value:?}")),
            &detail,
        );
    }

    /// A text that may occur only once.
    pub fn duplicate(&mut self, path: &Path<'_>, value: &str, detail: &str) {
        self.push(
            path,
            "Duplicate value",
            Some(&format_args!("{value:?}")),
            detail,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_the_api_servers() {
        let mut errors = FieldErrors::default();
        let spec = Path::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        let requests = first.child("resources.requests");
        errors.invalid(
            &requests.key("cpu"),
            "-1",
            "must be greater than or equal to 0",
        );
        errors.required(&containers, "");
        errors.unsupported(&spec.child("restartPolicy"), "X", &["Always", "Never"]);
        let texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
                "spec.containers: Required value",
                r#"spec.restartPolicy: Unsupported value: "X": supported values: "Always", "Never""#,
            ]
        );
    }
}
