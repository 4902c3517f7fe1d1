//! Errors that name the field they are about, worded as Kubernetes words them.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/validation/field`.

use super::ArgValue;
use std::fmt;

/// Something wrong with one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// The field, as a path: `profiles[0].plugins.score.enabled[2].name`. Empty for the whole file.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// Everything wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldErrors(pub Vec<FieldError>);

/// The place of a field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldPath(String);

impl FieldPath {
    /// A field of the file itself.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field of what is here.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self::new(name)
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// An element of the list that is here.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of the map that is here.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// An error in this place.
    pub fn error(&self, message: impl Into<String>) -> FieldError {
        FieldError {
            path: self.0.clone(),
            message: message.into(),
        }
    }

    /// The value is not a possible one.
    pub fn invalid(&self, value: impl Into<ArgValue>, detail: impl fmt::Display) -> FieldError {
        self.error(format!("Invalid value: {}: {detail}", value.into()))
    }

    /// The value was there before.
    pub fn duplicate(&self, value: impl Into<ArgValue>) -> FieldError {
        self.error(format!("Duplicate value: {}", value.into()))
    }

    /// The value is none of those that there are.
    pub fn not_supported(&self, value: &str, supported: &[&str]) -> FieldError {
        let quoted = |text: &str| ArgValue::from(text).to_string();
        let supported: Vec<_> = supported.iter().map(|text| quoted(text)).collect();
        self.error(format!(
            "Unsupported value: {}: supported values: {}",
            quoted(value),
            supported.join(", ")
        ))
    }

    /// There must be a value.
    pub fn required(&self, detail: &str) -> FieldError {
        self.error(with_detail("Required value", detail))
    }

    /// There must not be a value.
    pub fn forbidden(&self, detail: impl AsRef<str>) -> FieldError {
        self.error(with_detail("Forbidden", detail.as_ref()))
    }
}

fn with_detail(what: &str, detail: &str) -> String {
    if detail.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {detail}")
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// One error per line.
impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldError {}
impl std::error::Error for FieldErrors {}

impl From<FieldError> for FieldErrors {
    fn from(error: FieldError) -> Self {
        Self(vec![error])
    }
}
